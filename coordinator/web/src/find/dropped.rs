//! The answer about files that were dropped on the page: one table over bytes and text, and all that could not have been found.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use cognate_desk::find::record::{CoverageRow, FindRecord, HolderRow, MatchRow};
use cognate_result::report::Ratio;

use super::lots::Unread;
use crate::filters;
use crate::found::{HOLDERS_SHOWN, coarse_line, in_match, in_query, lengths};

/// What the coordinator answered about the bytes or the text of the files.
pub(super) struct Part {
    pub(super) record: FindRecord,
    /// The command that indexes the repositories that were not searched, or empty.
    pub(super) launch: String,
}

/// An answer as one table.
#[derive(Template)]
#[template(path = "dropped.html")]
pub(super) struct Dropped {
    rows: Vec<Row>,
    /// Files of which nothing was found.
    without: Vec<String>,
    omitted: u64,
    unread: Vec<Unread>,
    parts: Vec<Part>,
}

/// A document that has something in common with a file.
struct Row {
    path: String,
    found: Arc<MatchRow>,
    holder: HolderRow,
    by: &'static str,
}

impl Row {
    /// What decides between two rows about the same two documents: the closer relation, then the greater share, then bytes.
    fn strength(&self) -> (usize, Ratio, bool) {
        let order = ["candidate", "shares", "contained", "contains", "near", "identical"];
        let relation = order.iter().position(|word| *word == self.found.relation).unwrap_or_default();
        let shares = [self.found.sought_in_found, self.found.found_in_sought, self.found.resemblance];
        let share = shares.into_iter().flatten().max_by_key(|share| share.0);
        (relation, share.unwrap_or(Ratio(0)), self.by == BYTES)
    }
}

const BYTES: &str = "bytes";

/// The word for a view.
fn by(view: &str) -> &'static str {
    if view == "raw" { BYTES } else { "text" }
}

impl Dropped {
    /// One table of the answers about bytes and text. Two documents that were compared both ways have one row.
    pub(super) fn new(mut parts: Vec<Part>, unread: Vec<Unread>) -> Dropped {
        let mut places: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        let mut best: BTreeMap<(usize, String, String, String), Row> = BTreeMap::new();
        let mut omitted = 0;
        for part in &mut parts {
            let by = by(&part.record.head.under.view);
            for document in std::mem::take(&mut part.record.documents) {
                let place = places.len();
                let (place, has) = places.entry(document.path.clone()).or_insert((place, false));
                *has |= !document.matches.is_empty();
                omitted += document.documents_omitted;
                for mut found in document.matches {
                    let holders = std::mem::take(&mut found.holders);
                    let found = Arc::new(found);
                    omitted += holders.len().saturating_sub(HOLDERS_SHOWN) as u64;
                    for holder in holders.into_iter().take(HOLDERS_SHOWN) {
                        let key = (*place, holder.site.clone(), holder.repository.clone(), holder.path.clone());
                        let row = Row { path: document.path.clone(), found: Arc::clone(&found), holder, by };
                        if best.get(&key).is_none_or(|known| known.strength() < row.strength()) {
                            best.insert(key, row);
                        }
                    }
                }
            }
        }
        let mut rows: Vec<((usize, String, String, String), Row)> = best.into_iter().collect();
        // By file as they were dropped, the strongest first.
        rows.sort_by(|(a, one), (b, other)| {
            a.0.cmp(&b.0).then_with(|| other.strength().cmp(&one.strength())).then_with(|| a.cmp(b))
        });
        let mut without: Vec<(usize, String)> =
            places.into_iter().filter(|(_, (_, has))| !has).map(|(path, (place, _))| (place, path)).collect();
        without.sort_unstable();
        let without = without.into_iter().map(|(_, path)| path).collect();
        Dropped { rows: rows.into_iter().map(|(_, row)| row).collect(), without, omitted, unread, parts }
    }

    /// True if a repository was not searched by bytes or by text.
    fn has_unsearched(&self) -> bool {
        self.parts.iter().any(|part| unsearched(part).next().is_some())
    }

    fn documents(&self) -> u64 {
        self.rows.len() as u64
    }

    fn files(&self) -> u64 {
        let mut paths: Vec<&str> = self.rows.iter().map(|row| row.path.as_str()).collect();
        paths.dedup();
        paths.len() as u64
    }

    fn coarse_lines(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.record.coarse.iter().map(coarse_line)).collect()
    }
}

/// The repositories that were not searched by the bytes or by the text.
fn unsearched(part: &Part) -> impl Iterator<Item = &CoverageRow> {
    part.record.coverage.iter().filter(|row| !row.covered)
}

/// Documents that the sites of a search could not read.
fn unread_there(part: &Part) -> u64 {
    part.record.coverage.iter().filter_map(|row| row.unread).sum()
}

/// Repositories that the search was about.
fn repositories(part: &Part) -> u64 {
    part.record.coverage.iter().filter(|row| row.covered).count() as u64
}

/// Documents that were searched.
fn searched(part: &Part) -> u64 {
    part.record.coverage.iter().filter_map(|row| row.documents).sum()
}
