//! The small transactional view: parties and sites, where each index stands, and the scans. sled is named here only.
//!
//! It is an index, never the record: segments are. Values are a version byte and an encoded row. Trees:
//!
//! | tree | key | value | lives |
//! |---|---|---|---|
//! | `meta` | `schema` | u32 | as long as the state |
//! | `site` | name | [`SiteRow`] | until the site is forgotten |
//! | `slot` | site, 0, repository, 0, method id | [`SlotRow`] | until the repository is forgotten |
//! | `index` | index id, big-endian | [`IndexRow`] | until another epoch of the slot is sealed |
//! | `scan` | scan id, big-endian | [`ScanRow`] | until the scan is deleted |

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use cognate_fingerprint::MethodId;
use cognate_proto::name::{RepositoryName, ScanId, SiteName};
use prost::Message;

use crate::error::Error;

const SCHEMA: u32 = 1;
const MEMORY_BYTES: u64 = 64 << 20;

/// The number of an index: never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct IndexId(pub(crate) u64);

/// A site that may attach.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SiteRow {
    #[prost(string, tag = "1")]
    pub(crate) party: String,
}

/// Which indexes a repository has under a method.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SlotRow {
    /// The index that is analysed, or 0.
    #[prost(uint64, tag = "1")]
    pub(crate) current: u64,
    /// The index that will take its place once it is sealed, or 0.
    #[prost(uint64, tag = "2")]
    pub(crate) pending: u64,
}

/// Where an index stands.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct IndexRow {
    #[prost(fixed64, tag = "1")]
    pub(crate) epoch: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) committed_sequence: u64,
    /// How much of the segment counts; what lies beyond was never acknowledged.
    #[prost(uint64, tag = "3")]
    pub(crate) segment_bytes: u64,
    /// Whether the worker and the coordinator have ever agreed on the root, and after which batch they last did.
    #[prost(bool, tag = "7")]
    pub(crate) sealed: bool,
    #[prost(uint64, tag = "4")]
    pub(crate) sealed_sequence: u64,
    #[prost(uint32, tag = "5")]
    pub(crate) chunk_bytes_max: u32,
    /// What the last sync told beside the index.
    #[prost(message, optional, tag = "9")]
    pub(crate) summary: Option<cognate_proto::v1::SyncSummary>,
    /// Derived, sorted runs of the segment's postings.
    #[prost(message, repeated, tag = "6")]
    pub(crate) runs: Vec<RunRow>,
}

/// One run: the postings of the batches up to `last_sequence` that no earlier run has.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RunRow {
    #[prost(uint64, tag = "1")]
    pub(crate) number: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) last_sequence: u64,
}

/// A scan and the last step that it has finished.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScanRow {
    /// The specification, as JSON: read by people too.
    #[prost(string, tag = "1")]
    pub(crate) spec: String,
    #[prost(enumeration = "ScanStep", tag = "2")]
    pub(crate) step: i32,
    #[prost(sint64, tag = "3")]
    pub(crate) started: i64,
    /// What was frozen: filled by the step of that name.
    #[prost(message, repeated, tag = "4")]
    pub(crate) frozen: Vec<FrozenRow>,
    /// Repositories that could not take part, and why.
    #[prost(message, repeated, tag = "5")]
    pub(crate) missing: Vec<MissingRow>,
    /// Whether the sites fingerprinted with a key.
    #[prost(bool, tag = "7")]
    pub(crate) keyed: bool,
    /// Why the scan failed.
    #[prost(string, tag = "6")]
    pub(crate) failure: String,
}

/// The steps of a scan, each begun only when the one before it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum ScanStep {
    /// Sites are being synced.
    Syncing = 0,
    /// The set of indexes is fixed.
    Frozen = 1,
    /// The result stands.
    Published = 2,
    /// It ended without a result.
    Failed = 3,
    /// Somebody stopped it.
    Cancelled = 4,
}

/// One index of a frozen scan, at one moment of it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FrozenRow {
    #[prost(string, tag = "1")]
    pub(crate) site: String,
    #[prost(string, tag = "2")]
    pub(crate) repository: String,
    #[prost(uint64, tag = "3")]
    pub(crate) index: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) sequence: u64,
    #[prost(message, optional, tag = "5")]
    pub(crate) summary: Option<cognate_proto::v1::SyncSummary>,
    #[prost(string, tag = "6")]
    pub(crate) party: String,
}

/// A repository that could not take part.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MissingRow {
    #[prost(string, tag = "1")]
    pub(crate) site: String,
    #[prost(string, tag = "2")]
    pub(crate) repository: String,
    #[prost(string, tag = "3")]
    pub(crate) reason: String,
}

/// The open store.
pub(crate) struct Store {
    db: sled::Db,
    /// sled's own file: flushing sled does not bring it to the disk, syncing this does.
    db_file: File,
    folder: PathBuf,
    durable: bool,
    sites: sled::Tree,
    slots: sled::Tree,
    indexes: sled::Tree,
    scans: sled::Tree,
}

impl Store {
    /// Opens or makes the store. `durable`: whether what [`Store::barrier`] answers for survives a loss of power.
    pub(crate) fn open(folder: &Path, durable: bool) -> Result<Store, Error> {
        let config = sled::Config::new().path(folder).cache_capacity(MEMORY_BYTES).mode(sled::Mode::LowSpace);
        // Damage can show as a panic in sled's depths.
        let db = match std::panic::catch_unwind(AssertUnwindSafe(|| config.open())) {
            Ok(Ok(db)) => db,
            Ok(Err(sled::Error::Io(error))) if error.to_string().contains("lock") => {
                return Err(Error::Locked { path: folder.to_owned() });
            }
            // What the system refuses (room, rights, descriptors) is no damage.
            Ok(Err(sled::Error::Io(error))) if error.raw_os_error().is_some() => {
                return Err(Error::state(folder)(error));
            }
            Ok(Err(error)) => return Err(corrupt(folder, error.to_string())),
            Err(_) => return Err(corrupt(folder, "sled panicked while it opened".to_owned())),
        };
        let store = Store {
            db_file: File::open(folder.join("db")).map_err(Error::state(folder.join("db")))?,
            sites: db.open_tree("site")?,
            slots: db.open_tree("slot")?,
            indexes: db.open_tree("index")?,
            scans: db.open_tree("scan")?,
            folder: folder.to_owned(),
            durable,
            db,
        };
        store.check_schema()?;
        Ok(store)
    }

    fn check_schema(&self) -> Result<(), Error> {
        let meta = self.db.open_tree("meta")?;
        match meta.get("schema")?.map(|bytes| bytes.as_ref().try_into().map(u32::from_be_bytes)) {
            None => drop(meta.insert("schema", &SCHEMA.to_be_bytes())?),
            Some(Ok(SCHEMA)) => {}
            Some(Ok(found)) => return Err(Error::Newer { path: self.folder.clone(), found, known: SCHEMA }),
            Some(Err(_)) => return Err(corrupt(&self.folder, "the schema is not a number".to_owned())),
        }
        Ok(())
    }

    /// Returns once everything written before survives a crash: a flush of sled, and a real sync of its file, since the
    /// flush alone leaves it to the operating system when the bytes reach the disk.
    pub(crate) fn barrier(&self) -> Result<(), Error> {
        if self.durable {
            self.db.flush()?;
            self.db_file.sync_all().map_err(Error::state(self.folder.join("db")))?;
        }
        Ok(())
    }

    /// A number that no index has had before.
    pub(crate) fn next_index_id(&self) -> Result<IndexId, Error> {
        Ok(IndexId(self.db.generate_id()? + 1))
    }

    pub(crate) fn put_site(&self, site: &SiteName, row: &SiteRow) -> Result<(), Error> {
        put(&self.sites, site.as_str().as_bytes(), row)
    }

    pub(crate) fn site(&self, site: &SiteName) -> Result<Option<SiteRow>, Error> {
        self.get(&self.sites, site.as_str().as_bytes())
    }

    pub(crate) fn slot(&self, key: &SlotKey) -> Result<SlotRow, Error> {
        Ok(self.get(&self.slots, &key.bytes())?.unwrap_or_default())
    }

    pub(crate) fn put_slot(&self, key: &SlotKey, row: &SlotRow) -> Result<(), Error> {
        put(&self.slots, &key.bytes(), row)
    }

    pub(crate) fn index(&self, id: IndexId) -> Result<Option<IndexRow>, Error> {
        self.get(&self.indexes, &id.0.to_be_bytes())
    }

    pub(crate) fn put_index(&self, id: IndexId, row: &IndexRow) -> Result<(), Error> {
        put(&self.indexes, &id.0.to_be_bytes(), row)
    }

    pub(crate) fn remove_index(&self, id: IndexId) -> Result<(), Error> {
        self.indexes.remove(id.0.to_be_bytes())?;
        Ok(())
    }

    pub(crate) fn scan(&self, id: ScanId) -> Result<Option<ScanRow>, Error> {
        self.get(&self.scans, &id.0.to_be_bytes())
    }

    pub(crate) fn put_scan(&self, id: ScanId, row: &ScanRow) -> Result<(), Error> {
        put(&self.scans, &id.0.to_be_bytes(), row)
    }

    pub(crate) fn remove_scan(&self, id: ScanId) -> Result<(), Error> {
        self.scans.remove(id.0.to_be_bytes())?;
        Ok(())
    }

    /// All scans, in the order of their ids.
    pub(crate) fn scans(&self) -> Result<Vec<(ScanId, ScanRow)>, Error> {
        let mut scans = Vec::new();
        for entry in self.scans.iter() {
            let (key, value) = entry?;
            let id = key.as_ref().try_into().map(u64::from_be_bytes);
            let id = id.map_err(|_| corrupt(&self.folder, "a scan's key is not a number".to_owned()))?;
            scans.push((ScanId(id), self.decode(&value)?));
        }
        Ok(scans)
    }

    fn get<T: Message + Default>(&self, tree: &sled::Tree, key: &[u8]) -> Result<Option<T>, Error> {
        tree.get(key)?.map(|value| self.decode(&value)).transpose()
    }

    fn decode<T: Message + Default>(&self, value: &[u8]) -> Result<T, Error> {
        let row = value.split_first().filter(|(version, _)| **version == 1).and_then(|(_, row)| T::decode(row).ok());
        row.ok_or_else(|| corrupt(&self.folder, "a row cannot be read".to_owned()))
    }
}

/// Which repository under which method.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SlotKey {
    pub(crate) site: SiteName,
    pub(crate) repository: RepositoryName,
    pub(crate) method_id: MethodId,
}

impl SlotKey {
    fn bytes(&self) -> Vec<u8> {
        [self.site.as_str().as_bytes(), &[0], self.repository.as_str().as_bytes(), &[0], &self.method_id.0].concat()
    }
}

fn put(tree: &sled::Tree, key: &[u8], row: &impl Message) -> Result<(), Error> {
    let mut value = vec![1];
    row.encode(&mut value).expect("a vector takes everything");
    tree.insert(key, value)?;
    Ok(())
}

fn corrupt(folder: &Path, detail: String) -> Error {
    Error::Corrupt { path: folder.to_owned(), detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let key =
            SlotKey { site: "a".parse().unwrap(), repository: RepositoryName::main(), method_id: MethodId([3; 16]) };
        let slot = SlotRow { current: 5, pending: 0 };
        let store = Store::open(folder.path(), true).unwrap();
        let first = store.next_index_id().unwrap();
        store.put_slot(&key, &slot).unwrap();
        store.put_scan(ScanId(9), &ScanRow { spec: "x".into(), ..Default::default() }).unwrap();
        store.barrier().unwrap();
        drop(store);
        let store = Store::open(folder.path(), true).unwrap();
        assert_eq!(store.slot(&key).unwrap(), slot);
        assert_eq!(store.scans().unwrap()[0].0, ScanId(9));
        assert!(store.next_index_id().unwrap() > first);
    }

    #[test]
    fn a_newer_store_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), false).unwrap();
        store.db.open_tree("meta").unwrap().insert("schema", &7_u32.to_be_bytes()).unwrap();
        store.db.flush().unwrap();
        drop(store);
        assert!(matches!(Store::open(folder.path(), false), Err(Error::Newer { found: 7, .. })));
    }
}
