//! Pages of identical sets.

use cognate_result_file::{IdenticalSet, Record as _, columns};
use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};

use super::cluster::Place;
use super::condition::Condition;
use super::filter::size;
use super::query::{Pairs, pairs};
use super::{Browse, Page, Window};
use crate::error::Error;
use crate::report::path_of;

/// Filter of a list of identical sets: those that waste most bytes come first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SetFilter {
    /// `same bytes`, `same text` or `same message`.
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

/// An identical set as a list shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SetRow {
    /// Its number in the result.
    #[serde(skip)]
    pub number: i64,
    /// Its id.
    pub id: String,
    /// The digest of the places of its documents.
    pub members_digest: String,
    /// In what its documents are the same.
    pub tier: String,
    /// The size of the first.
    pub size_bytes: u64,
    /// Number of documents.
    pub documents: u64,
    /// Their sites.
    pub sites: Vec<String>,
    /// Bytes in copies beyond the first.
    pub redundant_bytes: u64,
    /// Site of the first.
    pub site: String,
    /// Its repository.
    pub repository: String,
    /// Its path.
    pub path: String,
    /// True if the path is percent-escaped.
    pub path_escaped: bool,
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

/// The sets `k`, as [`Browse::set_row`] reads them.
fn listed() -> String {
    let columns = columns::<IdenticalSet>("k");
    format!("SELECT {columns}, r.site, r.repository FROM identical k JOIN root r ON r.id = k.root")
}

impl Browse {
    /// A page of the identical sets that a filter lets through.
    ///
    /// # Errors
    /// Fails if the filter names no site of the scan, or the files cannot be read.
    pub fn sets(&self, filter: &SetFilter, window: Window) -> Result<Page<SetRow>, Error> {
        let mut condition = Condition::new();
        condition.is("k.tier", filter.tier.as_ref());
        if let Some(site) = &filter.site {
            self.at_site(&mut condition, site)?;
        }
        if filter.across {
            condition.and("k.crosses", None);
        }
        condition.at_least("k.documents", filter.documents.map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
        condition.at_least("k.size_bytes", filter.size.map(|size| i64::try_from(size).unwrap_or(i64::MAX)));
        if let Some(path) = &filter.path {
            condition.and("instr(lower(CAST(k.path AS TEXT)), ?) > 0", Some(Value::Text(path.to_lowercase())));
        }
        let sql = format!("SELECT count(*) FROM identical k WHERE {}", condition.sql);
        let total = self.one(&sql, params_from_iter(condition.values.iter()), |row| row.get(0))?.unwrap_or(0);
        // Numbers ascend as the bytes in copies fall, tier by tier.
        let sql = format!(
            "{} WHERE {} ORDER BY k.id LIMIT {} OFFSET {}",
            listed(),
            condition.sql,
            window.rows(),
            window.offset()
        );
        let rows = self.collect(&sql, params_from_iter(condition.values), |row| self.set_row(row))?;
        Ok(Page { rows, total })
    }

    /// The identical set of this id, whatever its tier.
    ///
    /// # Errors
    /// Fails if the files cannot be read.
    pub fn set_called(&self, id: &str) -> Result<Option<SetRow>, Error> {
        let sql = format!("{} WHERE k.name = ? ORDER BY k.id LIMIT 1", listed());
        self.one(&sql, [id], |row| self.set_row(row))
    }

    /// The identical set of this number.
    ///
    /// # Errors
    /// Fails if the files cannot be read.
    pub(crate) fn set_numbered(&self, number: i64) -> Result<Option<SetRow>, Error> {
        let sql = format!("{} WHERE k.id = ?", listed());
        self.one(&sql, [number], |row| self.set_row(row))
    }

    /// A page of the documents of an identical set.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn set_documents(&self, set: &SetRow, window: Window) -> Result<Vec<Place>, Error> {
        let of_message = set.tier == "same message";
        let which = if of_message {
            "d.message = ?1 - (SELECT count(*) FROM content WHERE identical IS NOT NULL)"
        } else {
            "d.content = (SELECT c.id FROM content c WHERE c.identical = ?1)"
        };
        let sql = format!(
            "SELECT r.site, r.repository, d.path, d.modified, d.recognised FROM document d
                    JOIN root r ON r.id = d.root
             WHERE {which} ORDER BY {} LIMIT ?2 OFFSET ?3",
            self.report.by_document()
        );
        let (rows, offset) =
            (i64::try_from(window.rows()).unwrap_or(i64::MAX), i64::try_from(window.offset()).unwrap_or(i64::MAX));
        self.collect(&sql, params![set.number, rows, offset], Place::read)
    }

    fn set_row(&self, row: &Row<'_>) -> rusqlite::Result<SetRow> {
        let set = IdenticalSet::from_row(row, 0)?;
        let (path, escaped) = path_of(&set.path);
        Ok(SetRow {
            number: set.id,
            id: set.name,
            members_digest: set.members_digest,
            tier: set.tier.into_owned(),
            size_bytes: set.size_bytes,
            documents: set.documents,
            sites: self.site_names(&set.sites),
            redundant_bytes: set.redundant_bytes,
            site: row.get(IdenticalSet::WIDTH)?,
            repository: row.get(IdenticalSet::WIDTH + 1)?,
            path,
            path_escaped: escaped.is_some(),
        })
    }
}
