//! The answer of a result in sentences: how much of each side is also at the other, and for two repositories what became of
//! the documents of each. Pages, HTML and workbooks begin with it.

use cognate_result::report::{ChangesRow, OverlapSection, Report, ScanSection, SiteSection};

use crate::human::{bytes, count, percent};
use crate::overlap::total;

/// Sides that are named in sentences; of more, the table of all by all says it.
const SIDES_MAX: usize = 3;

/// The sentences on a result.
///
/// # Errors
/// Fails if it cannot be read.
pub fn of(report: &Report) -> crate::Result<Vec<String>> {
    Ok(sentences(&report.scan()?, &report.sites()?, &report.overlap()?, &report.changes()?))
}

/// The same from rows that were read already.
pub fn sentences(
    scan: &ScanSection,
    sites: &[SiteSection],
    overlap: &[OverlapSection],
    changes: &[ChangesRow],
) -> Vec<String> {
    let has_parties = overlap.iter().any(|row| row.level == "party");
    let level = if has_parties { "party" } else { "site" };
    let rows: Vec<&OverlapSection> = overlap.iter().filter(|row| row.level == level).collect();
    let mut sentences = Vec::new();
    if rows.len() <= SIDES_MAX * (1 + usize::from(scan.layers.is_some())) {
        sentences.extend(rows.iter().flat_map(|row| both_ways(scan, sites, row)));
    }
    sentences.extend(changes.iter().map(change));
    sentences
}

fn both_ways(scan: &ScanSection, sites: &[SiteSection], row: &OverlapSection) -> Vec<String> {
    let under = match (row.view.as_deref(), sites.iter().any(|site| site.text_documents.is_some())) {
        (None, _) => "",
        (Some("text"), true) => " by the text of office files, PDF and mail",
        (Some("text"), false) => " by their text",
        (Some(_), true) => " by the bytes of all other files",
        (Some(_), false) => " by their bytes",
    };
    let direction = |of: &str, at: &str, shared: u64| {
        let (_, all) = total(sites, row, of, &scan.view);
        (all > 0).then(|| {
            let share = percent(shared, all);
            format!("{share} of {of} ({} of {}) is also at {at}{under}.", bytes(shared), bytes(all))
        })
    };
    // The second typed is the newer one more often than not: what of it was there before is asked first.
    let b = direction(&row.b, &row.a, row.shared_bytes_b);
    b.into_iter().chain(direction(&row.a, &row.b, row.shared_bytes_a)).collect()
}

fn change(row: &ChangesRow) -> String {
    let here = format!("{}/{}", row.from_site, row.from_repository);
    let there = format!("{}/{}", row.to_site, row.to_repository);
    let all = row.same + row.changed + row.moved + row.only;
    format!(
        "Of the {} documents of {here}, {} are the same at {there}, {} are changed there, {} are elsewhere there, and {} are only \
         in {here}.",
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
    fn what_became_of_the_documents_is_one_sentence() {
        let row = ChangesRow {
            changed: 182,
            from_repository: "kb".to_owned(),
            from_site: "new".to_owned(),
            moved: 1000,
            only: 697,
            same: 3,
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
