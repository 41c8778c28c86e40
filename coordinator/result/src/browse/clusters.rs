//! Pages of clusters.

use std::ops::Deref;

use cognate_result_file::{Cluster, columns};
use rusqlite::types::Value;
use rusqlite::{Params, params_from_iter};

use super::condition::Condition;
use super::documents::Pattern;
use super::filter::{Change, ClusterFilter, Sort, VIEW, begins};
use super::{Browse, Page, VerdictWanted, Window};
use crate::error::Error;
use crate::report::{path_of, time};
use cognate_storage::verdict;

/// A cluster as a list shows it: what its record says, in words where people read it.
#[derive(Clone, Debug, Default)]
pub struct ClusterRow {
    record: Cluster,
    /// Its number in the result.
    pub number: i64,
    /// Its id: the same in later scans.
    pub id: String,
    /// `raw` or `text`.
    pub view: String,
    /// The sites of its documents.
    pub sites: Vec<String>,
    /// Time of modification of the document that was modified first.
    pub first_modified: String,
    /// And last.
    pub last_modified: String,
    /// Site of the representative.
    pub site: String,
    /// Its repository.
    pub repository: String,
    /// Its path.
    pub path: String,
    /// Path of a document of another member: of a pair, the other one.
    pub second_path: Option<String>,
}

impl Deref for ClusterRow {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.record
    }
}

impl ClusterRow {
    /// A record whose places are not shown.
    pub fn of(record: Cluster) -> ClusterRow {
        ClusterRow {
            number: record.id,
            id: record.name.clone(),
            first_modified: time(record.first_modified),
            last_modified: time(record.last_modified),
            path: path_of(&record.path).0,
            second_path: record.second_path.as_deref().map(|path| path_of(path).0),
            record,
            ..ClusterRow::default()
        }
    }
}

/// In place of a tag or a person: without one.
const NONE: &str = "none";

impl Browse {
    /// A page of the clusters that a filter lets through.
    ///
    /// # Errors
    /// Fails if the filter names no site of the scan, or the files cannot be read.
    pub fn clusters(&self, filter: &ClusterFilter, sort: Sort, window: Window) -> Result<Page<ClusterRow>, Error> {
        let condition = self.condition(filter)?;
        let total = self.count(&condition)?;
        let order = order(sort, sort.is_descending());
        let sql = format!(
            "WHERE k.id IN
               (SELECT k.id FROM cluster k WHERE {} ORDER BY {order} LIMIT {} OFFSET {})
             ORDER BY {order}",
            condition.sql,
            window.rows(),
            window.offset(),
        );
        let rows = self.cluster_rows(&sql, params_from_iter(condition.values))?;
        Ok(Page { rows, total })
    }

    /// The clusters that a filter lets through, as their numbers, ascending.
    ///
    /// # Errors
    /// As [`Browse::clusters`].
    pub fn cluster_numbers(&self, filter: &ClusterFilter) -> Result<Vec<i64>, Error> {
        let condition = self.condition(filter)?;
        let sql = format!("SELECT k.id FROM cluster k WHERE {} ORDER BY k.id", condition.sql);
        self.report.rows(&sql, params_from_iter(condition.values))
    }

    /// The clusters before and after one in a filtered and sorted list.
    ///
    /// # Errors
    /// As [`Browse::clusters`].
    pub fn neighbours(
        &self,
        filter: &ClusterFilter,
        sort: Sort,
        number: i64,
    ) -> Result<(Option<ClusterRow>, Option<ClusterRow>), Error> {
        let condition = self.condition(filter)?;
        let neighbour = |after: bool| -> Result<Option<ClusterRow>, Error> {
            let descending = sort.is_descending() == after;
            let than = if descending { "<" } else { ">" };
            let expression = sort.expression();
            // Equal rows are in the order of numbers, in both directions of the list.
            let number_than = if after { ">" } else { "<" };
            let by_number = if after { "ASC" } else { "DESC" };
            let by = if descending { "DESC" } else { "ASC" };
            let here = format!("(SELECT {expression} FROM cluster k WHERE k.id = {number})");
            let sql = format!(
                "WHERE {} AND ({expression} {than} {here} OR ({expression} = {here} AND k.id {number_than} {number}))
                 ORDER BY {expression} {by}, k.id {by_number} LIMIT 1",
                condition.sql
            );
            Ok(self.cluster_rows(&sql, params_from_iter(&condition.values))?.pop())
        };
        Ok((neighbour(false)?, neighbour(true)?))
    }

    /// The cluster of this view and id.
    ///
    /// # Errors
    /// Fails if the files cannot be read.
    pub fn cluster_called(&self, view: &str, id: &str) -> Result<Option<ClusterRow>, Error> {
        Ok(self.cluster_rows(&format!("WHERE k.name = ? AND {VIEW} = ?"), [id, view])?.pop())
    }

    /// The one cluster whose id begins so, under this view or whichever has it.
    ///
    /// # Errors
    /// Fails if there is none, there are several, or the files cannot be read.
    pub fn cluster_beginning(&self, view: &str, beginning: &str) -> Result<ClusterRow, Error> {
        let beginning = beginning.to_ascii_lowercase();
        let shown = cognate_proto::name::one_line(&beginning);
        if beginning.is_empty() || beginning.len() > 32 || !beginning.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::Invalid(format!("`{shown}` is no id of a cluster: it has up to 32 hexadecimal digits")));
        }
        let rest =
            format!("WHERE k.name >= ?1 AND k.name < ?1 || 'g' AND (?2 = '' OR {VIEW} = ?2) ORDER BY k.id LIMIT 2");
        let mut found = self.cluster_rows(&rest, [beginning.as_str(), view])?;
        match (found.pop(), found.pop()) {
            (Some(cluster), None) => Ok(cluster),
            (None, _) => Err(Error::Unknown(format!("the scan has no cluster `{shown}`"))),
            (Some(_), Some(_)) => {
                Err(Error::Invalid(format!("more than one cluster begins with `{shown}`: type more of it")))
            }
        }
    }

    /// The cluster of this row number of the browse index, where there is one.
    pub fn cluster_numbered(&self, number: i64) -> Result<Option<ClusterRow>, Error> {
        Ok(self.cluster_rows("WHERE k.id = ?", [number])?.pop())
    }

    /// Number of the clusters that a filter lets through.
    ///
    /// # Errors
    /// As [`Browse::clusters`].
    pub fn cluster_count(&self, filter: &ClusterFilter) -> Result<u64, Error> {
        self.count(&self.condition(filter)?)
    }

    fn count(&self, condition: &Condition) -> Result<u64, Error> {
        let sql = format!("SELECT count(*) FROM cluster k WHERE {}", condition.sql);
        self.report.row(&sql, params_from_iter(condition.values.iter()))
    }

    pub(super) fn condition(&self, filter: &ClusterFilter) -> Result<Condition, Error> {
        let mut condition = Condition::new();
        for site in &filter.sites {
            self.at_site(&mut condition, "k.sites", site)?;
        }
        if filter.across {
            condition.and("k.crosses", None);
        }
        if let Some(rests) = filter.frame {
            condition.and(if rests { "k.on_frame" } else { "NOT k.on_frame" }, None);
        }
        condition.is("k.relation", filter.relation.as_ref());
        condition.is(VIEW, filter.view.as_ref());
        condition.at_least("k.min_resemblance", filter.least.0);
        condition.at_most("k.min_resemblance", filter.least.1);
        condition.at_least("k.mean_resemblance", filter.mean.0);
        condition.at_most("k.mean_resemblance", filter.mean.1);
        condition.at_least("k.max_containment", filter.containment);
        condition.at_least("k.total_bytes", filter.size.0.map(integer));
        condition.at_most("k.total_bytes", filter.size.1.map(integer));
        condition.at_least("k.members", filter.members.0.map(integer));
        condition.at_most("k.members", filter.members.1.map(integer));
        condition.at_least("k.last_modified", filter.from.map(begins));
        let day_after = |day: jiff::civil::Date| begins(day.tomorrow().unwrap_or(day)) - 1;
        condition.at_most("k.first_modified", filter.to.map(day_after));
        if let Some(wanted) = filter.verdict {
            by_verdict(&mut condition, wanted);
        }
        let labelled = |condition: &mut Condition, is_tag: bool, word: &str| {
            let with = format!("SELECT cluster FROM temp.label WHERE is_tag = {is_tag}");
            match word {
                NONE => condition.and(&format!("NOT EXISTS ({with} AND cluster = k.id)"), None),
                word => condition.and(&format!("k.id IN ({with} AND word = ?)"), Some(Value::Text(word.to_owned()))),
            }
        };
        filter.tags.iter().for_each(|tag| labelled(&mut condition, true, tag));
        if let Some(assignee) = &filter.assignee {
            labelled(&mut condition, false, assignee);
        }
        if filter.since.is_some() {
            // Attached as `earlier` by `compare_with`.
            let same = format!(
                "SELECT 1 FROM earlier.cluster b JOIN earlier.layer bl ON bl.number = b.layer
                 WHERE b.name = k.name AND bl.view = {VIEW}"
            );
            condition.and(
                &match filter.change {
                    Change::New => format!("NOT EXISTS ({same})"),
                    Change::Changed => format!("EXISTS ({same} AND b.members_digest <> k.members_digest)"),
                    Change::Either => format!("NOT EXISTS ({same} AND b.members_digest = k.members_digest)"),
                },
                None,
            );
        }
        if let Some(path) = &filter.path {
            // A result never changes: what was found for a path is found again.
            if self.found_path.borrow().as_ref() != Some(path) {
                self.found_path.take();
                self.keep_found(&self.clusters_with_path(Pattern::new(path)?)?)?;
                self.found_path.replace(Some(path.clone()));
            }
            condition.and("k.id IN (SELECT cluster FROM temp.found)", None);
        }
        Ok(condition)
    }

    pub(super) fn at_site(&self, condition: &mut Condition, sites: &str, site: &str) -> Result<(), Error> {
        let number = self.numbered.iter().position(|known| known == site).ok_or_else(|| {
            let site = cognate_proto::name::one_line(site);
            Error::Invalid(format!("`site`: the scan has no site `{site}`"))
        })?;
        condition.and(&format!("instr({sites}, ?) > 0"), Some(Value::Text(format!(",{number},"))));
        Ok(())
    }

    /// Puts numbers where a query can look for them.
    fn keep_found(&self, found: &[i64]) -> Result<(), Error> {
        let connection = self.report.connection();
        let keep = || -> rusqlite::Result<()> {
            connection.execute_batch(
                "CREATE TEMP TABLE IF NOT EXISTS found (cluster INTEGER PRIMARY KEY); DELETE FROM temp.found; BEGIN;",
            )?;
            let mut insert = connection.prepare_cached("INSERT INTO temp.found VALUES (?)")?;
            let inserted = found.iter().map(|number| insert.execute([number])).find(Result::is_err);
            connection.execute_batch("COMMIT")?;
            inserted.map_or(Ok(()), |failed| failed.map(drop))
        };
        keep().map_err(|error| self.failed(error))
    }

    /// Attaches the result of another scan, so that a filter can ask for the changes since then.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn compare_with(&self, earlier: &Browse) -> Result<(), Error> {
        let connection = self.report.connection();
        // There may be none from an earlier query.
        let _ = connection.execute_batch("DETACH earlier");
        let path = earlier.report.path().to_string_lossy();
        connection.execute("ATTACH ? AS earlier", [path]).map(drop).map_err(|error| self.failed(error))
    }

    /// The clusters `k` that the rest of a query selects.
    fn cluster_rows(&self, rest: &str, params: impl Params) -> Result<Vec<ClusterRow>, Error> {
        let sql = format!(
            "SELECT {}, l.view FROM cluster k JOIN layer l ON l.number = k.layer {rest}",
            columns::<Cluster>("k")
        );
        let row = |(record, view): (Cluster, String)| {
            let (root, sites) = (self.report.root(record.root)?, self.site_names(&record.sites));
            let (site, repository) = (root.site.clone(), root.repository.clone());
            Ok(ClusterRow { view, sites, site, repository, ..ClusterRow::of(record) })
        };
        self.report.rows(&sql, params)?.into_iter().map(row).collect()
    }
}

fn by_verdict(condition: &mut Condition, wanted: VerdictWanted) {
    let holds = "SELECT cluster FROM temp.mark WHERE NOT changed";
    match wanted {
        VerdictWanted::Open => condition.and(&format!("k.id NOT IN ({holds})"), None),
        VerdictWanted::None => condition.and("k.id NOT IN (SELECT cluster FROM temp.mark)", None),
        VerdictWanted::Any => condition.and(&format!("k.id IN ({holds})"), None),
        VerdictWanted::Changed => condition.and("k.id IN (SELECT cluster FROM temp.mark WHERE changed)", None),
        VerdictWanted::Is(verdict) => {
            let word = Value::Text(verdict::word(verdict).to_owned());
            condition.and(&format!("k.id IN ({holds} AND verdict = ?)"), Some(word));
        }
    }
}

/// Equal rows are in the order of numbers: by what joins their members, then by id.
fn order(sort: Sort, descending: bool) -> String {
    format!("{} {}, k.id", sort.expression(), if descending { "DESC" } else { "ASC" })
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
