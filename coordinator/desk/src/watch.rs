//! Watches: queries that are asked again whenever an index has been sealed, and report new matches.
//!
//! The known matches of an index are stored with the seal under which they were found: an index that has not changed is
//! not searched again, and a restart forgets nothing. They are no record: if they are lost, all matches are reported
//! once more.
//!
//! Matches are measured as those of a find. Where a site gives no fine chunks, the notice says so; what was known under that
//! index stays known, so that the next notice does not repeat it.

use std::sync::Arc;

use cognate_proto::limits::FIND_MATCHES_MAX;
use cognate_proto::name::SiteName;
use cognate_proto::options::Precision;
use cognate_proto::path::escaped;
use cognate_proto::v1;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::Error;
use crate::find::record::{CoarseRow, relation};
use crate::find::stored::{check_name, names, sees, without_features};
use crate::find::{Answer, FindQuery, Holder, Match, Search, deadline};
use cognate_storage::indexes::Indexes;
use cognate_storage::journal::What;
use cognate_storage::records::Records;
use cognate_storage::store::{IndexId, SlotKey, WatchedRow};

/// The number of new documents that a notice names.
const NAMED_MAX: usize = 100;

/// A matching document, as it is recognised in later searches.
type Known = u64;

/// A new match as a notice reports it.
#[derive(Clone, Serialize, Debug)]
pub struct Notice {
    watch: String,
    /// The site of the matching documents.
    pub site: String,
    /// Their repository.
    pub repository: String,
    /// The number of documents.
    pub new: u64,
    /// The precision of the search; absent if the method has no fine chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The reasons why it is coarse.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    coarse: Vec<String>,
    /// The first of them.
    documents: Vec<NewDocument>,
}

#[derive(Clone, Serialize, Debug)]
struct NewDocument {
    path: String,
    /// The relation of the match to the document of the query.
    relation: &'static str,
    /// The precision of the match; absent if the method has no fine chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<Precision>,
    /// The document of the query.
    sought: String,
}

/// Standing queries that are asked again whenever an index is sealed.
pub struct Watches<S> {
    records: Arc<Records>,
    indexes: Arc<Indexes>,
    finder: Arc<S>,
    lock: Mutex<()>,
}

impl<S: Search> Watches<S> {
    /// The watches of a coordinator.
    pub fn new(records: Arc<Records>, indexes: Arc<Indexes>, finder: Arc<S>) -> Watches<S> {
        Watches { records, indexes, finder, lock: Mutex::default() }
    }

    /// Stores a watch, in place of one of the same name. Its present matches count as known, and are not reported.
    ///
    /// # Errors
    /// Fails if it is invalid, or the state cannot be read.
    pub async fn put_watch(&self, mut watch: v1::Watch, by: &str) -> Result<u64, S::Error> {
        check_name(&watch.name, &watch.note)?;
        FindQuery::stored(watch.query.as_ref().unwrap_or(&v1::StoredQuery::default()))?;
        by.clone_into(&mut watch.created_by);
        watch.created = self.records.now();
        let (mut hits, mut rows) = (0, Vec::new());
        // Sites are waited for once, however many repositories there are.
        let until = deadline();
        for (key, id, sequence) in self.watched_by(&watch)? {
            let (known, _) = self.hits(&watch, &key, until).await?;
            hits += known.len() as u64;
            rows.push((key, self.looked(id, sequence, &known, 0)));
        }
        let _one_at_a_time = self.lock.lock().await;
        let (records, by) = (Arc::clone(&self.records), by.to_owned());
        let change = move || {
            records.store.forget_watched(&watch.name)?;
            for (key, row) in &rows {
                records.store.put_watch_row(&watch.name, key, row)?;
            }
            records.record(What::Watch(watch), &by)
        };
        self.records.disk.change(change).await?;
        Ok(hits)
    }

    /// Forgets a watch.
    ///
    /// # Errors
    /// Fails if there is none.
    pub async fn remove_watch(&self, name: &str, by: &str) -> Result<(), Error> {
        let _one_at_a_time = self.lock.lock().await;
        if self.records.store.watch(name)?.is_none() {
            return Err(no_watch(name));
        }
        let (records, name, by) = (Arc::clone(&self.records), name.to_owned(), by.to_owned());
        let change = move || {
            records.record(What::WatchRemoved(name.clone()), &by)?;
            Ok(records.store.forget_watched(&name)?)
        };
        self.records.disk.change(change).await
    }

    /// The state of all watches, by name, without their queries.
    pub fn watch_states(&self) -> Result<Vec<v1::WatchState>, Error> {
        let state = |mut watch: v1::Watch| -> Result<v1::WatchState, Error> {
            let rows = self.records.store.watched_of(&watch.name)?;
            watch.query = watch.query.as_ref().map(without_features);
            Ok(v1::WatchState {
                checked: rows.iter().map(|row| row.checked).max().unwrap_or(0),
                last_new: rows.iter().map(|row| row.last_new).max().unwrap_or(0),
                hits: rows.iter().map(|row| row.known.len() as u64).sum(),
                watch: Some(watch),
            })
        };
        self.records.store.watches()?.into_iter().map(state).collect()
    }

    /// The watches, with their queries.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn all(&self) -> Result<Vec<v1::Watch>, Error> {
        Ok(self.records.store.watches()?)
    }

    /// The new matches of a watch, in the indexes that have changed since its last search. They are known from then on.
    ///
    /// # Errors
    /// Fails if an index cannot be searched, or the state cannot be written.
    pub async fn look(&self, watch: &v1::Watch) -> Result<Vec<Notice>, S::Error> {
        let mut notices = Vec::new();
        for (key, id, sequence) in self.watched_by(watch)? {
            let is_known = |row: &WatchedRow| (row.index, row.sequence) == (id.0, sequence);
            if is_known(&self.records.store.watch_row(&watch.name, &key)?.unwrap_or_default()) {
                continue;
            }
            let (mut known, answer) = self.hits(watch, &key, deadline()).await?;
            let _one_at_a_time = self.lock.lock().await;
            if self.records.store.watch(&watch.name)?.as_ref() != Some(watch) {
                // It was removed or changed in the meantime.
                break;
            }
            let before = self.records.store.watch_row(&watch.name, &key)?.unwrap_or_default();
            if is_known(&before) {
                continue;
            }
            let new = new_documents(watch, &answer, &before.known);
            if !answer.coarse.is_empty() {
                // By whole chunks alone a match may be below the thresholds that it reached before.
                known.extend(&before.known);
                known.sort_unstable();
                known.dedup();
            }
            let mut row = self.looked(id, sequence, &known, before.last_new);
            if !new.is_empty() {
                row.last_new = row.checked;
                notices.push(Notice {
                    watch: watch.name.clone(),
                    site: key.site.to_string(),
                    repository: key.repository.to_string(),
                    new: new.len() as u64,
                    precision: answer.precision,
                    coarse: answer.coarse.iter().map(|(coarse, _)| CoarseRow::of(coarse, None).line()).collect(),
                    documents: new.into_iter().take(NAMED_MAX).collect(),
                });
            }
            self.records.store.put_watch_row(&watch.name, &key, &row)?;
        }
        Ok(notices)
    }

    fn looked(&self, id: IndexId, sequence: u64, known: &[Known], last_new: i64) -> WatchedRow {
        let checked = self.records.now();
        WatchedRow { index: id.0, sequence, checked, last_new, known: known.to_vec() }
    }

    /// The indexes that a watch searches, with the state of each.
    fn watched_by(&self, watch: &v1::Watch) -> Result<Vec<(SlotKey, IndexId, u64)>, Error> {
        let query = FindQuery::stored(watch.query.as_ref().unwrap_or(&v1::StoredQuery::default()))?;
        let named = |key: &SlotKey| {
            let place = |(site, repository): &(_, Option<_>)| {
                *site == key.site && repository.as_ref().is_none_or(|repository| *repository == key.repository)
            };
            query.repositories.is_empty() || query.repositories.iter().any(place)
        };
        let mut all = Vec::new();
        for (key, id, row) in self.indexes.all()? {
            let is_current = row.sealed && self.records.store.slot(&key)?.current == id.0;
            let is_asked = key.method_id == query.method_id && key.scope.is_none() && named(&key);
            if is_current && is_asked && sees(&self.records.store, (&watch.site, &watch.party), &key.site) {
                all.push((key, id, row.sealed_sequence));
            }
        }
        Ok(all)
    }

    /// The matches in one repository: as stored, ascending, and as reported.
    async fn hits(&self, watch: &v1::Watch, key: &SlotKey, until: Instant) -> Result<(Vec<Known>, Answer), S::Error> {
        let mut query = FindQuery::stored(watch.query.as_ref().unwrap_or(&v1::StoredQuery::default()))?;
        query.repositories = vec![(key.site.clone(), Some(key.repository.clone()))];
        query.matches_max = FIND_MATCHES_MAX;
        let (records, site, party) = (Arc::clone(&self.records), watch.site.clone(), watch.party.clone());
        // All that its maker may see: by that sites know whether the question is one of another party.
        let sees = move |name: &SiteName| sees(&records.store, (&site, &party), name);
        let answer = self.finder.search(query, Arc::new(sees), until).await?;
        let mut known: Vec<Known> = each_hit(&answer).map(|(known, ..)| known).collect();
        known.sort_unstable();
        Ok((known, answer))
    }
}

/// Each matching document: its stored form, the number of the query's document, the match, and the holder.
fn each_hit(answer: &Answer) -> impl Iterator<Item = (Known, usize, &Match, &Holder)> {
    answer.documents.iter().enumerate().flat_map(|(number, found)| {
        found.matches.iter().flat_map(move |one| {
            one.holders.iter().map(move |holder| {
                let mut hasher = blake3::Hasher::new_derive_key("cognate watch hit v1");
                hasher.update(&(number as u64).to_le_bytes()).update(&one.digest.0);
                hasher.update(holder.path.as_bytes());
                let hash = hasher.finalize();
                let known = u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"));
                (known, number, one, holder)
            })
        })
    })
}

fn new_documents(watch: &v1::Watch, answer: &Answer, before: &[Known]) -> Vec<NewDocument> {
    let names = watch.query.as_ref().map(names).unwrap_or_default();
    let is_new = |known: &Known| before.binary_search(known).is_err();
    let new = each_hit(answer).filter(|(known, ..)| is_new(known));
    new.map(|(_, number, one, holder)| NewDocument {
        path: escaped(holder.path.as_bytes()).0.into_owned(),
        relation: relation(one.measure.relation),
        precision: one.precision,
        sought: names.get(number).cloned().unwrap_or_default(),
    })
    .collect()
}
/// The answer about a watch that does not exist, or that the person who asks may not see.
pub fn no_watch(name: &str) -> Error {
    Error::Unknown(format!("no watch `{name}`: `cognate watch list` lists them"))
}
