//! Cases: a query with all its answers, from its opening on.
//!
//! Each answer is a file of its own, `cases/NAME/NUMBER.json`; the journal holds the person, the time and the digest.
//! If a site is forgotten, answers that name it are erased; the fact of the erasure stays.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use cognate_durable::whole::{PUBLIC, PUBLIC_FOLDER, folder_of, make_folder, write_whole};
use cognate_proto::name::SiteName;
use cognate_proto::v1;
use serde_json::{Value, json};

use crate::error::Error;
use crate::find::record::FindRecord;
use crate::find::stored::{check_name, names, sees, without_features};
use crate::find::{Answer, FindQuery, Search, deadline};
use crate::stored_query::CheckRow;
use cognate_result::report::{json_digest, time};
use cognate_storage::Error as StorageError;
use cognate_storage::disk::blocking;
use cognate_storage::journal::{CaseChecked, CaseErased, What};
use cognate_storage::records::Records;

/// The schema of a case as it is exported.
const SCHEMA: &str = "cognate.case/1";
/// The number of answers of one case, and the bytes of one answer, at most.
const CHECKS_MAX: usize = 1000;
const RECORD_BYTES_MAX: usize = 32 << 20;

/// Cases: queries with all their answers.
pub struct Cases<S> {
    records: Arc<Records>,
    finder: Arc<S>,
    folder: PathBuf,
    lock: Mutex<()>,
}

impl<S: Search> Cases<S> {
    /// The cases of a coordinator, with their answers in a folder.
    pub fn new(records: Arc<Records>, finder: Arc<S>, folder: PathBuf) -> Cases<S> {
        Cases { records, finder, folder, lock: Mutex::default() }
    }

    /// Opens a case: stores the query, and its answer now.
    ///
    /// # Errors
    /// Fails if there is one of the name, the query is invalid, or the state cannot be written.
    pub async fn open_case(self: &Arc<Self>, case: v1::Case, by: &str) -> Result<v1::Case, S::Error> {
        check_name(&case.name, &case.note)?;
        if let Some(known) = self.opened_before(&case, by)? {
            return Ok(known);
        }
        let opened = self.records.now();
        let case = v1::Case { opened_by: by.to_owned(), opened, checks: Vec::new(), ..case };
        let (answer, record) = self.answer(&case).await?;
        let (cases, by) = (Arc::clone(self), by.to_owned());
        blocking(move || {
            let _one_at_a_time = cases.lock();
            // Another call may have opened it while the sites were asked.
            if let Some(known) = cases.opened_before(&case, &by)? {
                return Ok(known);
            }
            cases.records.record(What::Case(case.clone()), &by)?;
            Ok(cases.keep(&case, &answer, &record, &by)?)
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().expect("nothing panics while it is held")
    }

    /// The case, if the same request opened it before: the answer to the first was lost.
    ///
    /// # Errors
    /// Fails if there is another case of the name.
    fn opened_before(&self, case: &v1::Case, by: &str) -> Result<Option<v1::Case>, Error> {
        let known = self.records.store.case(&case.name)?;
        if let Some(known) = &known
            && (&known.query, &known.note, known.opened_by.as_str()) == (&case.query, &case.note, by)
            && known.checks.len() == 1
        {
            return Ok(Some(v1::Case { query: known.query.as_ref().map(without_features), ..known.clone() }));
        }
        if known.is_some_and(|known| !known.checks.is_empty()) {
            return Err(Error::Exists(format!("there is a case `{}`: `cognate case check` asks it again", case.name)));
        }
        Ok(None)
    }

    /// Asks a case's query again, and stores the answer.
    ///
    /// # Errors
    /// Fails if there is no such case, or the state cannot be read or written.
    pub async fn check_case(self: &Arc<Self>, name: &str, by: &str) -> Result<v1::Case, S::Error> {
        let (answer, record) = self.answer(&self.open_to_checks(name)?).await?;
        let (cases, name, by) = (Arc::clone(self), name.to_owned(), by.to_owned());
        blocking(move || {
            let _one_at_a_time = cases.lock();
            // Other answers may have come while the sites were asked.
            let case = cases.open_to_checks(&name)?;
            Ok(cases.keep(&case, &answer, &record, &by)?)
        })
        .await
    }

    /// A case that has space for another answer.
    fn open_to_checks(&self, name: &str) -> Result<v1::Case, Error> {
        let case = self.case(name)?;
        if case.checks.len() >= CHECKS_MAX {
            return Err(Error::Refused(format!("case `{name}` was asked {CHECKS_MAX} times: open another one")));
        }
        Ok(case)
    }

    /// A case with its query.
    pub fn case(&self, name: &str) -> Result<v1::Case, Error> {
        let unknown = || Error::Unknown(format!("no case `{name}`: `cognate case list` lists them"));
        self.records.store.case(name)?.ok_or_else(unknown)
    }

    /// The answer of a case, by its position among all, from 0; `None`: it is erased, or never existed.
    ///
    /// # Errors
    /// Fails if there is no such case, or the answer differs from the stored digest.
    pub fn case_answer(&self, name: &str, place: usize) -> Result<Option<Value>, Error> {
        let case = self.case(name)?;
        let check = case.checks.get(place).filter(|check| !check.erased);
        check.map(|check| self.read_record(name, place, &check.digest)).transpose()
    }

    /// The complete case as one object.
    ///
    /// # Errors
    /// Fails if there is none, or an answer differs from its stored digest.
    pub fn export_case(&self, name: &str) -> Result<Value, Error> {
        let case = self.case(name)?;
        let query = case.query.clone().unwrap_or_default();
        let documents = query.documents.iter().map(|document| {
            let end = document.end.clone().unwrap_or_default();
            json!({"path": document.name, "size_bytes": end.size_bytes, "content": hex(&end.digest)})
        });
        let mut checks = Vec::new();
        for (number, check) in case.checks.iter().enumerate() {
            let record = if check.erased { Value::Null } else { self.read_record(name, number, &check.digest)? };
            let mut row = json!(CheckRow::from(check.clone()));
            row["record"] = record;
            checks.push(row);
        }
        Ok(json!({
            "schema": SCHEMA,
            "name": case.name,
            "note": case.note,
            "opened": time(case.opened),
            "opened_by": case.opened_by,
            "sought": documents.collect::<Vec<Value>>(),
            "checks": checks,
        }))
    }

    /// Erases the answers that name a site.
    pub fn erase(&self, site: &SiteName, by: &str) -> Result<(), Error> {
        let _one_at_a_time = self.lock();
        for case in self.records.store.cases()? {
            for (number, check) in (0_u32..).zip(&case.checks) {
                if check.erased || !check.sites.iter().any(|one| one == site.as_str()) {
                    continue;
                }
                let path = self.record_path(&case.name, number as usize);
                match std::fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(StorageError::state(&path)(error).into());
                    }
                    _ => {}
                }
                self.records.record(What::CaseErased(CaseErased { name: case.name.clone(), number }), by)?;
            }
        }
        Ok(())
    }

    async fn answer(&self, case: &v1::Case) -> Result<(Answer, Value), S::Error> {
        let stored = case.query.clone().unwrap_or_default();
        let query = FindQuery::stored(&stored)?;
        let under = query.under();
        let (records, site, party) = (Arc::clone(&self.records), case.site.clone(), case.party.clone());
        let sees = move |name: &SiteName| sees(&records.store, (&site, &party), name);
        let answer = self.finder.search(query, Arc::new(sees), deadline()).await?;
        let record = json!(FindRecord::of(&under, &answer, &names(&stored)));
        Ok((answer, record))
    }

    /// Stores an answer: the file first, so that the journal names only files that exist.
    fn keep(&self, case: &v1::Case, answer: &Answer, record: &Value, by: &str) -> Result<v1::Case, Error> {
        let bytes = serde_json::to_vec(record).map_err(|error| Error::Invalid(error.to_string()))?;
        if bytes.len() > RECORD_BYTES_MAX {
            return Err(Error::Refused(
                "the answer is too large to be stored: ask for fewer matches with --limit, or for stronger ones"
                    .to_owned(),
            ));
        }
        let number = case.checks.len();
        write(&self.record_path(&case.name, number), &bytes)?;
        let searched = answer.coverage.iter().filter(|row| row.searched.is_ok()).count();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let mut sites: Vec<String> = answer.coverage.iter().map(|row| row.site.clone()).collect();
        sites.dedup();
        let check = v1::CaseCheck {
            time: self.records.now(),
            by: by.to_owned(),
            digest: json_digest(record),
            documents: answer.documents.iter().map(|found| found.documents).sum(),
            searched: count(searched),
            not_searched: count(answer.coverage.len() - searched),
            sites,
            erased: false,
        };
        let number = count(number);
        self.records
            .record(What::CaseChecked(CaseChecked { name: case.name.clone(), number, check: Some(check) }), by)?;
        let case = self.case(&case.name)?;
        Ok(v1::Case { query: case.query.as_ref().map(without_features), ..case })
    }

    fn record_path(&self, name: &str, number: usize) -> PathBuf {
        self.folder.join(name).join(format!("{}.json", number + 1))
    }

    fn read_record(&self, name: &str, number: usize, digest: &str) -> Result<Value, Error> {
        let path = self.record_path(name, number);
        let bytes = std::fs::read(&path).map_err(StorageError::state(&path))?;
        let record: Option<Value> = serde_json::from_slice(&bytes).ok();
        let detail = || "it has changed: its digest differs from the stored one".to_owned();
        record
            .filter(|record| json_digest(record) == digest)
            .ok_or_else(|| StorageError::Corrupt { path, detail: detail() }.into())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let written = make_folder(folder_of(path), PUBLIC_FOLDER).and_then(|()| write_whole(path, bytes, PUBLIC));
    written.map_err(StorageError::state(path))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
