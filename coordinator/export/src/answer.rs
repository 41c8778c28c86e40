//! The answer of a result in sentences: how much of each side is also at the other, and for two repositories what became of
//! the documents of each. Pages, HTML and workbooks begin with it.

use cognate_proto::path::printable;
use cognate_result::report::{
    AlignmentRow, ChangesRow, FolderPlace, OverlapSection, Ratio, Report, SampledOverlap, ScanSection,
};

use crate::human::{bytes, count};
use crate::overlap::{Direction, compared, directions, least_share};

/// Sides that are named in sentences; of more, the table of all by all says it.
const SIDES_MAX: usize = 3;

/// The sentences on a result.
///
/// # Errors
/// Fails if it cannot be read.
pub fn of(report: &Report) -> crate::Result<Vec<String>> {
    let scan = report.scan()?;
    let mut all = sentences(&scan, &report.overlap()?, &report.changes()?);
    if scan.estimates.is_empty() {
        let aligned = report.alignment_rows()?;
        all.extend(moved_folders(&aligned, aligned.len() as u64));
    }
    Ok(all)
}

/// The estimates from a sample, one sentence for each direction.
pub(crate) fn estimates(scan: &ScanSection) -> Vec<String> {
    let sentence = |row: &SampledOverlap| {
        let share = |[share, low, high]: [Ratio; 3]| {
            format!(
                "{} ({} to {})",
                crate::human::share(share.0),
                crate::human::share(low.0),
                crate::human::share(high.0)
            )
        };
        format!(
            "About {} of the documents of {} are also at {}, as copies or as versions at the same place: {} of the bytes. \
             This is an estimate from {} documents; the ranges hold the true share in 95 of 100 cases.",
            share(row.documents),
            row.of,
            row.at,
            share(row.bytes),
            count(row.sampled),
        )
    };
    let mut sentences: Vec<String> = scan.estimates.iter().map(sentence).collect();
    if !sentences.is_empty() {
        sentences.push("All other figures of this result are those of the sample, not of the repositories.".to_owned());
    }
    sentences
}

/// Folders that a sentence names.
const FOLDERS_MAX: usize = 3;

/// The folders that are at another path at the other side, those with most documents first. `all` is their number; `rows` has
/// at least those with most documents.
pub fn moved_folders(rows: &[AlignmentRow], all: u64) -> Option<String> {
    let mut moved: Vec<&AlignmentRow> = rows.iter().collect();
    moved.sort_by_key(|row| std::cmp::Reverse(row.documents));
    let first = moved.first()?;
    let name = |path: &str| match path.is_empty() {
        true => "the root".to_owned(),
        false => printable(path.as_bytes()).into_owned(),
    };
    // To count one more takes as much place as to name it.
    let shown = if all <= FOLDERS_MAX as u64 + 1 { moved.len() } else { FOLDERS_MAX };
    let named: Vec<String> = moved
        .iter()
        .take(shown)
        .map(|row| {
            let documents = if row.documents == 1 { "document" } else { "documents" };
            format!("{} is {} ({} {documents})", name(&row.a.path), name(&row.b.path), count(row.documents))
        })
        .collect();
    let rest = all.saturating_sub(named.len() as u64);
    let rest = if rest > 0 { format!("; and {} more", count(rest)) } else { String::new() };
    let place = |place: &FolderPlace| match place.repository.as_str() {
        "main" => place.site.clone(),
        repository => format!("{}/{repository}", place.site),
    };
    let (folders, are) = if all == 1 { ("folder", "is") } else { ("folders", "are") };
    Some(format!(
        "{} {folders} of {} {are} at another path at {}: {}{rest}.",
        count(all),
        place(&first.a),
        place(&first.b),
        named.join("; "),
    ))
}

/// The same from rows that were read already.
pub fn sentences(scan: &ScanSection, overlap: &[OverlapSection], changes: &[ChangesRow]) -> Vec<String> {
    if !scan.estimates.is_empty() {
        // What the sample itself has in common is no answer.
        return estimates(scan);
    }
    let has_parties = overlap.iter().any(|row| row.level == "party");
    let level = if has_parties { "party" } else { "site" };
    let rows: Vec<&OverlapSection> = overlap.iter().filter(|row| row.level == level).collect();
    let mut sentences = Vec::new();
    if rows.len() <= SIDES_MAX {
        sentences.extend(rows.iter().flat_map(|row| both_ways(row)));
        sentences.extend(compared(scan).filter(|_| !rows.is_empty()).map(|unit| format!("These are {unit}.")));
    }
    sentences.extend(changes.iter().map(change));
    sentences.extend(crate::undecided::not_measured(scan).map(str::to_owned));
    sentences
}

fn both_ways(row: &OverlapSection) -> Vec<String> {
    let sentence = |Direction { of, at, common }: &Direction<'_>| {
        (common.bytes_total > 0).then(|| {
            let share = least_share("At least", common.bytes, common.bytes_total);
            let estimate = common.estimated_share();
            format!(
                "{share} of {of} ({} of {}) is also at {at}{estimate}.",
                bytes(common.bytes),
                bytes(common.bytes_total)
            )
        })
    };
    // The second typed is the newer one more often than not: what of it was there before is asked first.
    directions(row).iter().rev().filter_map(sentence).collect()
}

fn change(row: &ChangesRow) -> String {
    let here = format!("{}/{}", row.from_site, row.from_repository);
    let there = format!("{}/{}", row.to_site, row.to_repository);
    let all = row.counts().iter().sum();
    let standard_text = match row.standard_text {
        0 => String::new(),
        documents => format!(" {} share nothing but standard text with it,", count(documents)),
    };
    let open = match row.not_decided {
        0 => String::new(),
        open => format!(" Of {} it is not decided: nothing was found, and not all was measured.", count(open)),
    };
    format!(
        "Of the {} documents of {here}, {} are the same at {there}, {} are changed there, {} are elsewhere there,{standard_text} and {} \
         are only in {here}.{open}",
        count(all),
        count(row.same),
        count(row.changed),
        count(row.moved),
        count(row.only),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_folders_are_named_by_their_documents_and_the_rest_is_counted() {
        let place = |path: &str, site: &str| FolderPlace {
            path: path.to_owned(),
            path_escaped: None,
            repository: "main".to_owned(),
            site: site.to_owned(),
        };
        let row = |a: &str, b: &str, documents| AlignmentRow {
            a: place(a, "old"),
            b: place(b, "new"),
            documents,
            given: false,
        };
        let rows = [row("f", "g", 1), row("core", "_core", 172), row("", "src", 9), row("x", "y", 2)];
        let begin = "folders of old are at another path at new: core is _core (172 documents); the root is src (9 documents); x is y \
                     (2 documents); ";
        assert_eq!(moved_folders(&rows, 4).unwrap(), format!("4 {begin}f is g (1 document)."), "a fourth is named");
        assert_eq!(moved_folders(&rows, 5).unwrap(), format!("5 {begin}and 2 more."));
        let one = moved_folders(&rows[..1], 1).unwrap();
        assert_eq!(one, "1 folder of old is at another path at new: f is g (1 document).");
        assert!(moved_folders(&[], 0).is_none());
    }

    #[test]
    fn what_became_of_the_documents_is_one_sentence() {
        let row = ChangesRow {
            changed: 182,
            from_repository: "kb".to_owned(),
            from_site: "new".to_owned(),
            moved: 1000,
            not_decided: 0,
            only: 697,
            same: 3,
            standard_text: 0,
            to_repository: "kb".to_owned(),
            to_site: "old".to_owned(),
        };
        assert_eq!(
            change(&row),
            "Of the 1,882 documents of new/kb, 3 are the same at old/kb, 182 are changed there, 1,000 are elsewhere there, and \
             697 are only in new/kb."
        );
    }
}
