//! The small transactional view: parties and sites, where each index stands, and the scans. sled is named here only.
//!
//! It is an index, never the record: segments are. Values are a version byte and an encoded row. Trees:
//!
//! | tree | key | value | lives |
//! |---|---|---|---|
//! | `meta` | `schema` | u32 | as long as the state |
//! | `member` | kind, name | [`MemberRow`] | until the member is forgotten |
//! | `seen` | site | [`SeenRow`] | until the site is forgotten; not in the journal |
//! | `slot` | site, 0, repository, 0, method id | [`SlotRow`] | until the repository is forgotten |
//! | `index` | index id, big-endian | [`IndexRow`] | until another epoch of the slot is sealed |
//! | `scan` | scan id, big-endian | [`ScanRow`] | until the scan is deleted |
//! | `profile`, `schedule` | name | as on the wire | until it is removed |
//!
//! Members, scans, profiles and schedules change only through [`Store::record`], which writes the journal first.

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cognate_fingerprint::{Method, MethodId};
use cognate_proto::name::{PartyName, RepositoryName, ScanId, SiteName};
use cognate_proto::v1;
use prost::Message;

use crate::error::Error;
use crate::journal::{Certified, Event, Invited, Journal, MemberName, ScanEvent, What};

const SCHEMA: u32 = 1;
const MEMORY_BYTES: u64 = 64 << 20;

/// The number of an index: never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct IndexId(pub(crate) u64);

/// A site or a person: what it may do, and by which key it is known.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MemberRow {
    #[prost(message, optional, tag = "1")]
    pub(crate) membership: Option<v1::Membership>,
    #[prost(enumeration = "v1::MemberStatus", tag = "2")]
    pub(crate) status: i32,
    /// The invitation that is open or was used.
    #[prost(message, optional, tag = "3")]
    pub(crate) invited: Option<Invited>,
    /// The certificate that was given last.
    #[prost(message, optional, tag = "4")]
    pub(crate) certified: Option<Certified>,
    /// The key before it, which holds until the new one is first used: SHA-256, 32 bytes or none.
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) previous_key_sha256: Vec<u8>,
}

/// When a site was last heard of, and as what.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SeenRow {
    /// How often its worker has been started: a lower number is a copy of an older state.
    #[prost(uint64, tag = "1")]
    pub(crate) generation: u64,
    /// Seconds since 1970.
    #[prost(sint64, tag = "2")]
    pub(crate) last_heard: i64,
    #[prost(string, tag = "3")]
    pub(crate) software: String,
    /// The names of the repositories that it offered last.
    #[prost(string, repeated, tag = "4")]
    pub(crate) repositories: Vec<String>,
    /// The number that the worker of this generation gave itself.
    #[prost(fixed64, tag = "5")]
    pub(crate) instance: u64,
    /// Whether it takes part in scans across parties without a key.
    #[prost(bool, tag = "6")]
    pub(crate) unkeyed_across_parties: bool,
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
    /// How both are made.
    #[prost(message, optional, tag = "3")]
    pub(crate) method: Option<v1::MethodSpec>,
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
    /// What the site said a known text becomes under the method: 16 bytes, or nothing.
    #[prost(bytes = "vec", tag = "20")]
    pub(crate) canary: Vec<u8>,
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
    /// What was asked for: enough to carry the scan on after a restart.
    #[prost(message, optional, tag = "1")]
    pub(crate) spec: Option<v1::ScanSpec>,
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
    /// Who launched it.
    #[prost(string, tag = "8")]
    pub(crate) launched_by: String,
    /// When it ended; seconds since 1970, 0: it has not.
    #[prost(sint64, tag = "9")]
    pub(crate) finished: i64,
    /// The digest of the report, once there is one.
    #[prost(string, tag = "10")]
    pub(crate) digest: String,
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
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "7")]
    pub(crate) method_id: Vec<u8>,
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
    /// Held over the journal and the view together, so that both have the same order.
    journal: Mutex<Journal>,
    members: sled::Tree,
    seen: sled::Tree,
    profiles: sled::Tree,
    schedules: sled::Tree,
    slots: sled::Tree,
    indexes: sled::Tree,
    scans: sled::Tree,
}

impl Store {
    /// Opens or makes the store beside its journal. `durable`: whether what [`Store::barrier`] answers for survives a loss
    /// of power.
    pub(crate) fn open(folder: &Path, journal: &Path, durable: bool) -> Result<Store, Error> {
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
            journal: Mutex::new(Journal::open(journal, durable, |_| Ok(()))?),
            members: db.open_tree("member")?,
            seen: db.open_tree("seen")?,
            profiles: db.open_tree("profile")?,
            schedules: db.open_tree("schedule")?,
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

    /// Writes an event into the journal, and then into the view. Once this returns, it survives.
    pub(crate) fn record(&self, event: &Event) -> Result<(), Error> {
        let mut journal = self.journal.lock().expect("nothing panics while it is held");
        journal.append(event)?;
        self.apply(event)
    }

    /// Takes an event into the view.
    fn apply(&self, event: &Event) -> Result<(), Error> {
        let Some(what) = &event.what else { return Ok(()) };
        match what {
            What::Invited(invited) => {
                let key = member_key(invited.membership.kind(), &invited.membership.name);
                let mut row: MemberRow = self.get(&self.members, &key)?.unwrap_or_default();
                if row.status() != v1::MemberStatus::Active {
                    row.status = v1::MemberStatus::Invited.into();
                    row.membership = Some(invited.membership.clone());
                }
                row.invited = Some(invited.clone());
                put(&self.members, &key, &row)
            }
            What::Admitted(membership) => {
                let row = MemberRow {
                    membership: Some(membership.clone()),
                    status: v1::MemberStatus::Active.into(),
                    ..MemberRow::default()
                };
                put(&self.members, &member_key(membership.kind(), &membership.name), &row)
            }
            What::Certified(certified) => {
                // A worker that is enrolled anew begins to count anew.
                self.seen.remove(certified.name.name.as_bytes())?;
                self.change_member(&certified.name, |row| {
                    row.status = v1::MemberStatus::Active.into();
                    if let Some(invited) = &row.invited {
                        row.membership = Some(invited.membership.clone());
                    }
                    row.certified = Some(certified.clone());
                    row.previous_key_sha256.clear();
                })
            }
            What::Renewed(certified) => self.change_member(&certified.name, |row| {
                row.previous_key_sha256 = row.certified.take().map(|before| before.key_sha256).unwrap_or_default();
                row.certified = Some(certified.clone());
            }),
            What::Revoked(name) => self.change_member(name, |row| row.status = v1::MemberStatus::Revoked.into()),
            What::Forgotten(name) => {
                self.members.remove(member_key(name.kind(), &name.name))?;
                self.seen.remove(name.name.as_bytes())?;
                Ok(())
            }
            What::Scan(ScanEvent { id, row }) => put(&self.scans, &id.to_be_bytes(), row),
            What::ScanDeleted(id) => Ok(drop(self.scans.remove(id.to_be_bytes())?)),
            What::Profile(profile) => put(&self.profiles, profile.name.as_bytes(), profile),
            What::ProfileRemoved(name) => Ok(drop(self.profiles.remove(name.as_bytes())?)),
            What::Schedule(schedule) => put(&self.schedules, schedule.name.as_bytes(), schedule),
            What::ScheduleRemoved(name) => Ok(drop(self.schedules.remove(name.as_bytes())?)),
        }
    }

    fn change_member(&self, name: &MemberName, change: impl FnOnce(&mut MemberRow)) -> Result<(), Error> {
        let key = member_key(name.kind(), &name.name);
        let mut row: MemberRow = self.get(&self.members, &key)?.unwrap_or_default();
        change(&mut row);
        put(&self.members, &key, &row)
    }

    pub(crate) fn member(&self, kind: v1::MemberKind, name: &str) -> Result<Option<MemberRow>, Error> {
        self.get(&self.members, &member_key(kind, name))
    }

    /// All members of a kind, in the order of their names.
    pub(crate) fn members(&self, kind: v1::MemberKind) -> Result<Vec<MemberRow>, Error> {
        let rows = self.members.scan_prefix(member_key(kind, ""));
        rows.map(|entry| self.decode(&entry?.1)).collect()
    }

    /// The party of a site that may attach.
    pub(crate) fn party_of(&self, site: &SiteName) -> Result<Option<PartyName>, Error> {
        let row = self.member(v1::MemberKind::Site, site.as_str())?;
        let active = row.filter(|row| row.status() == v1::MemberStatus::Active);
        let party = active.and_then(|row| row.membership).map(|membership| membership.party.parse());
        party.transpose().map_err(|_| corrupt(&self.folder, "a party has no valid name".to_owned()))
    }

    pub(crate) fn seen(&self, site: &SiteName) -> Result<SeenRow, Error> {
        Ok(self.get(&self.seen, site.as_str().as_bytes())?.unwrap_or_default())
    }

    pub(crate) fn put_seen(&self, site: &SiteName, row: &SeenRow) -> Result<(), Error> {
        put(&self.seen, site.as_str().as_bytes(), row)
    }

    pub(crate) fn profiles(&self) -> Result<Vec<v1::Profile>, Error> {
        self.profiles.iter().map(|entry| self.decode(&entry?.1)).collect()
    }

    pub(crate) fn schedules(&self) -> Result<Vec<v1::Schedule>, Error> {
        self.schedules.iter().map(|entry| self.decode(&entry?.1)).collect()
    }

    pub(crate) fn slot(&self, key: &SlotKey) -> Result<SlotRow, Error> {
        Ok(self.get(&self.slots, &key.bytes())?.unwrap_or_default())
    }

    /// The slots of a repository, one for each method that it was synced with.
    pub(crate) fn slots(&self, site: &SiteName, repository: &RepositoryName) -> Result<Vec<(SlotKey, SlotRow)>, Error> {
        let prefix = [site.as_str().as_bytes(), &[0], repository.as_str().as_bytes(), &[0]].concat();
        let mut slots = Vec::new();
        for entry in self.slots.scan_prefix(&prefix) {
            let (key, value) = entry?;
            let method_id = key[prefix.len()..].try_into().map(MethodId);
            let method_id = method_id.map_err(|_| corrupt(&self.folder, "a slot's key has no method".to_owned()))?;
            let key = SlotKey { site: site.clone(), repository: repository.clone(), method_id };
            slots.push((key, self.decode(&value)?));
        }
        Ok(slots)
    }

    /// How the index of a slot is made, where there is one.
    pub(crate) fn method_of(&self, key: &SlotKey) -> Result<Option<Method>, Error> {
        let method = self.slot(key)?.method.map(|method| Method::try_from(&method));
        method.transpose().map_err(|error| Error::Invalid(error.to_string()))
    }

    pub(crate) fn profile(&self, name: &str) -> Result<Option<v1::Profile>, Error> {
        self.get(&self.profiles, name.as_bytes())
    }

    pub(crate) fn schedule(&self, name: &str) -> Result<Option<v1::Schedule>, Error> {
        self.get(&self.schedules, name.as_bytes())
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

fn member_key(kind: v1::MemberKind, name: &str) -> Vec<u8> {
    let kind = u8::try_from(i32::from(kind)).expect("there are few kinds");
    [&[kind], name.as_bytes()].concat()
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
        let slot = SlotRow { current: 5, pending: 0, method: None };
        let open = || Store::open(&folder.path().join("store"), &folder.path().join("journal"), true).unwrap();
        let store = open();
        let first = store.next_index_id().unwrap();
        store.put_slot(&key, &slot).unwrap();
        let row = ScanRow { failure: "x".into(), ..Default::default() };
        store.record(&Event { what: Some(What::Scan(ScanEvent { id: 9, row })), ..Default::default() }).unwrap();
        store.barrier().unwrap();
        drop(store);
        let store = open();
        assert_eq!(store.slot(&key).unwrap(), slot);
        assert_eq!(store.scans().unwrap()[0].0, ScanId(9));
        assert!(store.next_index_id().unwrap() > first);
    }

    #[test]
    fn a_newer_store_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(&folder.path().join("store"), &folder.path().join("journal"), false);
        let store = open().unwrap();
        store.db.open_tree("meta").unwrap().insert("schema", &7_u32.to_be_bytes()).unwrap();
        store.db.flush().unwrap();
        drop(store);
        assert!(matches!(open(), Err(Error::Newer { found: 7, .. })));
    }
}
