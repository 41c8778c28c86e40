//! Pages of identical sets.

use std::ops::Deref;

use cognate_result_file::IdenticalSet;
use rusqlite::types::Value;
use rusqlite::{Params, params, params_from_iter};

use super::cluster::Place;
use super::condition::Condition;
use super::filter::size;
use super::query::{Pairs, pairs};
use super::{Browse, Page, Window};
use crate::error::Error;
use crate::report::{DocumentPlace, path_of, select};

/// Filter of a list of identical sets: those that waste most bytes come first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SetFilter {
    /// `same bytes`, `same text`, `same lines` or `same message`.
    pub tier: Option<String>,
    /// With documents at this site.
    pub site: Option<String>,
    /// With documents at several parties, or at several sites where there is one party.
    pub across: bool,
    /// With at least so many documents.
    pub documents: Option<u64>,
    /// Whose documents have at least this size.
    pub size: Option<u64>,
    /// Whose first document has this in its path.
    pub path: Option<String>,
}

/// An identical set as a list shows it: what its record says, in words where people read it.
#[derive(Clone, Debug)]
pub struct SetRow {
    record: IdenticalSet,
    /// Its number in the result.
    pub number: i64,
    /// Its id.
    pub id: String,
    /// The sites of its documents.
    pub sites: Vec<String>,
    /// Site of the first.
    pub site: String,
    /// Its repository.
    pub repository: String,
    /// Its path.
    pub path: String,
}

impl Deref for SetRow {
    type Target = IdenticalSet;

    fn deref(&self) -> &IdenticalSet {
        &self.record
    }
}

impl SetFilter {
    /// Reads a query.
    ///
    /// # Errors
    /// Fails if a value makes no sense.
    pub fn parse(query: &str) -> Result<SetFilter, Error> {
        let mut filter = SetFilter::default();
        for (name, value) in pairs(query).filter(|(_, value)| !value.is_empty()) {
            let refused = |why: String| Error::Invalid(format!("`{name}`: {why}"));
            match name.as_str() {
                "tier" => filter.tier = Some(value),
                "site" => filter.site = Some(value),
                "across" => filter.across = value != "0",
                "documents" => {
                    filter.documents = Some(value.parse().map_err(|_| refused("a number".to_owned()))?);
                }
                "size" => filter.size = Some(size(&value).map_err(refused)?),
                "path" => filter.path = Some(value),
                _ => {}
            }
        }
        Ok(filter)
    }

    /// The filter as a query.
    pub fn to_query(&self) -> String {
        let mut pairs = Pairs::new();
        pairs.put("tier", self.tier.as_ref());
        pairs.put("site", self.site.as_ref());
        pairs.put("across", self.across.then_some(1));
        pairs.put("documents", self.documents);
        pairs.put("size", self.size);
        pairs.put("path", self.path.as_ref());
        pairs.finish()
    }
}

impl Browse {
    /// A page of the identical sets that a filter lets through.
    ///
    /// # Errors
    /// Fails if the filter names no site of the scan, or the files cannot be read.
    pub fn sets(&self, filter: &SetFilter, window: Window) -> Result<Page<SetRow>, Error> {
        let mut condition = Condition::new();
        condition.is("t.tier", filter.tier.as_ref());
        if let Some(site) = &filter.site {
            self.at_site(&mut condition, "t.sites", site)?;
        }
        if filter.across {
            condition.and("t.crosses", None);
        }
        condition.at_least("t.documents", filter.documents.map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
        condition.at_least("t.size_bytes", filter.size.map(|size| i64::try_from(size).unwrap_or(i64::MAX)));
        if let Some(path) = &filter.path {
            condition.and("instr(lower(CAST(t.path AS TEXT)), ?) > 0", Some(Value::Text(path.to_lowercase())));
        }
        let sql = format!("SELECT count(*) FROM identical t WHERE {}", condition.sql);
        let total = self.report.row(&sql, params_from_iter(condition.values.iter()))?;
        // Numbers ascend as the bytes in copies fall, tier by tier.
        let sql = format!("WHERE {} ORDER BY t.id LIMIT {} OFFSET {}", condition.sql, window.rows(), window.offset());
        let rows = self.set_rows(&sql, params_from_iter(condition.values))?;
        Ok(Page { rows, total })
    }

    /// The identical set of this id, whatever its tier.
    ///
    /// # Errors
    /// Fails if the files cannot be read.
    pub fn set_called(&self, id: &str) -> Result<Option<SetRow>, Error> {
        Ok(self.set_rows("WHERE t.name = ? ORDER BY t.id LIMIT 1", [id])?.pop())
    }

    /// The identical set of this number.
    ///
    /// # Errors
    /// Fails if the files cannot be read.
    pub(crate) fn set_numbered(&self, number: i64) -> Result<Option<SetRow>, Error> {
        Ok(self.set_rows("WHERE t.id = ?", [number])?.pop())
    }

    /// A page of the documents of an identical set.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn set_documents(&self, set: &SetRow, window: Window) -> Result<Vec<Place>, Error> {
        let is_loose = !["same bytes", "same text"].contains(&&*set.tier);
        let which = if is_loose {
            "d.loose_set = ?1 - (SELECT count(*) FROM content WHERE identical IS NOT NULL)"
        } else {
            "d.content = (SELECT c.id FROM content c WHERE c.identical = ?1)"
        };
        let sql = format!(
            "SELECT {} FROM document d JOIN root r ON r.id = d.root WHERE {which} ORDER BY {} LIMIT ?2 OFFSET ?3",
            DocumentPlace::select(),
            self.report.by_document()
        );
        let (rows, offset) =
            (i64::try_from(window.rows()).unwrap_or(i64::MAX), i64::try_from(window.offset()).unwrap_or(i64::MAX));
        let places = self.report.rows(&sql, params![set.number, rows, offset])?.into_iter();
        places.map(|place| Place::of(&self.report, place)).collect()
    }

    /// The sets `t` that the rest of a query selects.
    fn set_rows(&self, rest: &str, params: impl Params) -> Result<Vec<SetRow>, Error> {
        let row = |record: IdenticalSet| {
            let root = self.report.root(record.root)?;
            Ok(SetRow {
                number: record.id,
                id: record.name.clone(),
                sites: self.site_names(&record.sites),
                site: root.site.clone(),
                repository: root.repository.clone(),
                path: path_of(&record.path).0,
                record,
            })
        };
        self.report.rows(&select::<IdenticalSet>(rest), params)?.into_iter().map(row).collect()
    }
}
