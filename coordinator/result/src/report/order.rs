//! The order of sites: of their names for programs, of the launch for people.
//!
//! Rows are stored in the order of (site, repository). Documents of a repository are stored next to each other, so that
//! the other order needs no sorting: repositories are read one after the other.

use std::mem::swap;
use std::ops::Range;

use cognate_result_file::Root;

use super::{FolderSection, OverlapSection, Report};
use crate::error::Error;

/// The order of sites in lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Of their names: the same however the scan was launched. The digest of a report is taken in this order.
    #[default]
    Names,
    /// Of the launch: as the sites were typed on the command line.
    Launch,
}

/// A repository, and its place in the order of the launch.
pub(crate) struct RootPlace {
    pub(crate) party: String,
    pub(crate) site: String,
    pub(crate) repository: String,
    place: usize,
}

impl Report {
    /// The places of the repositories, by their numbers.
    pub(super) fn root_places(&self) -> Result<Vec<RootPlace>, Error> {
        let place = |root: Root| RootPlace {
            party: root.party,
            site: root.site,
            repository: root.repository,
            place: usize::try_from(root.place).unwrap_or(usize::MAX),
        };
        Ok(self.records("ORDER BY t.id")?.into_iter().map(place).collect())
    }

    /// The repository of a record.
    pub(crate) fn root(&self, number: i64) -> Result<&RootPlace, Error> {
        let root = usize::try_from(number).ok().and_then(|number| self.roots.get(number));
        let detail = || format!("a row is of the repository {number}, which it does not have");
        root.ok_or_else(|| Error::Corrupt { path: self.path.clone(), detail: detail() })
    }

    /// The number of a repository, if it took part.
    pub(crate) fn root_number(&self, site: &str, repository: &str) -> Option<i64> {
        let place = self.roots.iter().position(|root| root.site == site && root.repository == repository);
        place.and_then(|number| i64::try_from(number).ok())
    }

    /// The numbers of the repositories of a site, with commas between them.
    pub(super) fn roots_at(&self, site: &str) -> String {
        let own = self.roots.iter().enumerate().filter(|(_, root)| root.site == site);
        own.map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(",")
    }

    /// The party of a site.
    pub(super) fn party_of(&self, site: &str) -> Option<&str> {
        self.roots.iter().find(|root| root.site == site).map(|root| root.party.as_str())
    }

    /// The number of the first document at this place or after it; one more than all, if there is none. Documents are numbered in the order of
    /// their repositories and paths, and nothing else in the file finds a path.
    pub(super) fn number_at(&self, root: i64, path: &[u8]) -> Result<i64, Error> {
        // Asked for both at once, SQLite goes through all.
        let Range { mut start, mut end } =
            self.numbers("SELECT (SELECT min(id) FROM document), (SELECT max(id) FROM document)")?;
        while start < end {
            let middle = start + (end - start) / 2;
            let sql = "SELECT root, path FROM document WHERE id >= ? ORDER BY id LIMIT 1";
            let (of, at): (i64, Vec<u8>) = self.row(sql, [middle])?;
            if (of, at.as_slice()) < (root, path) { start = middle + 1 } else { end = middle }
        }
        Ok(start)
    }

    /// Reads with the sites in this order.
    pub fn in_order<T>(&self, order: Order, read: impl FnOnce() -> T) -> T {
        let before = self.order.replace(order);
        let answer = read();
        self.order.set(before);
        answer
    }

    /// Reads with the sites in this order from now on.
    pub fn set_order(&self, order: Order) {
        self.order.set(order);
    }

    /// True if rows are wanted in another order than that in which they are stored.
    pub(super) fn is_reordered(&self) -> bool {
        self.order.get() == Order::Launch && !self.roots.iter().map(|root| root.place).is_sorted()
    }

    /// The column of a repository `r` by which lists are ordered.
    pub(super) fn by_root(&self) -> &'static str {
        if self.is_reordered() { "r.place" } else { "r.id" }
    }

    /// Columns that order documents `d` of repositories `r`.
    pub(crate) fn by_document(&self) -> &'static str {
        if self.is_reordered() { "r.place, d.id" } else { "d.id" }
    }

    /// The place of a repository in lists.
    pub(super) fn place_of_root(&self, root: usize) -> usize {
        if self.is_reordered() { self.roots.get(root).map_or(root, |root| root.place) } else { root }
    }

    /// The first place of a site or a party in lists.
    pub(crate) fn place_of(&self, level: &str, name: &str) -> usize {
        let is_of = |root: &RootPlace| if level == "party" { root.party == name } else { root.site == name };
        let roots = self.roots.iter().enumerate().filter(|(_, root)| is_of(root));
        roots.map(|(number, _)| self.place_of_root(number)).min().unwrap_or(usize::MAX)
    }

    /// Puts names of sites in order.
    pub(crate) fn sort_sites(&self, sites: &mut [String]) {
        sites.sort_by_key(|site| self.place_of("site", site));
    }

    /// Puts rows of repositories in order; they come in the order of their numbers.
    pub(super) fn sort_roots<T>(&self, rows: Vec<T>) -> Vec<T> {
        let mut rows: Vec<(usize, T)> = rows.into_iter().enumerate().collect();
        rows.sort_by_key(|(number, _)| self.place_of_root(*number));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Puts rows of pairs in order, each from the one that comes first. Rows of a level are next to each other.
    pub(super) fn sort_pairs(&self, mut rows: Vec<OverlapSection>) -> Vec<OverlapSection> {
        if !self.is_reordered() {
            return rows;
        }
        let places = |row: &OverlapSection| [&row.a, &row.b].map(|end| self.place_of(&row.level, end));
        for row in &mut rows {
            let [a, b] = places(row);
            if a > b {
                turn(row);
            }
        }
        rows.chunk_by_mut(|a, b| a.level == b.level).for_each(|rows| rows.sort_by_key(places));
        rows
    }

    /// A pair of folders from the one that comes first.
    pub(super) fn turned(&self, pair: FolderSection, roots: [usize; 2]) -> FolderSection {
        let [a, b] = roots.map(|root| self.place_of_root(root));
        if a <= b {
            return pair;
        }
        FolderSection {
            bytes_a: pair.bytes_b,
            bytes_b: pair.bytes_a,
            documents_a: pair.documents_b,
            documents_b: pair.documents_a,
            documents_total_a: pair.documents_total_b,
            documents_total_b: pair.documents_total_a,
            relation: cognate_result_file::reversed(&pair.relation).to_owned(),
            share_a: pair.share_b,
            share_b: pair.share_a,
            shared_bytes_a: pair.shared_bytes_b,
            shared_bytes_b: pair.shared_bytes_a,
            a: pair.b,
            b: pair.a,
        }
    }

    /// Conditions that select the documents `d`, one range of ids after the other.
    pub(crate) fn document_ranges(&self) -> Result<Vec<String>, Error> {
        if !self.is_reordered() {
            return Ok(vec!["1".to_owned()]);
        }
        let sql = "SELECT root, min(id), max(id) FROM document GROUP BY root";
        let ranges = self.rows::<(usize, i64, i64)>(sql, ())?.into_iter();
        let range = |(root, first, last)| (self.place_of_root(root), format!("d.id BETWEEN {first} AND {last}"));
        let mut ranges: Vec<(usize, String)> = ranges.map(range).collect();
        ranges.sort_unstable();
        Ok(ranges.into_iter().map(|(_, range)| range).collect())
    }

    /// The repositories in the order of the launch, those that are missing too, as `site/repository`.
    pub(super) fn launch_order(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT site || '/' || repository FROM
                     (SELECT site, repository, place FROM root UNION ALL SELECT site, repository, place FROM missing)
                   ORDER BY place";
        self.rows(sql, ())
    }
}

/// The overlap as it is seen from the other end.
fn turn(row: &mut OverlapSection) {
    swap(&mut row.a, &mut row.b);
    swap(&mut row.bytes_total_a, &mut row.bytes_total_b);
    swap(&mut row.contents_a, &mut row.contents_b);
    swap(&mut row.documents_a, &mut row.documents_b);
    swap(&mut row.documents_total_a, &mut row.documents_total_b);
    swap(&mut row.estimate_error_bytes_a, &mut row.estimate_error_bytes_b);
    swap(&mut row.estimated_bytes_a, &mut row.estimated_bytes_b);
    swap(&mut row.shared_bytes_a, &mut row.shared_bytes_b);
    swap(&mut row.shared_once_bytes_a, &mut row.shared_once_bytes_b);
    swap(&mut row.template_bytes_a, &mut row.template_bytes_b);
}
