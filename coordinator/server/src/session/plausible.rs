//! The numbers that a site reports of its syncs, checked where they arrive: against bounds, against each other and
//! against the index that the same sync sent. Nothing is computed from them but sums, yet they are shown to people.

use cognate_proto::limits::{REPORTED_BYTES_MAX, REPORTED_ENTRIES_MAX, TEXT_BYTES_MAX};
use cognate_proto::v1::{Estimate, RefinedSummary, SyncProgress, SyncSummary};
use cognate_storage::store::IndexRow;

/// Documents that a sync may have counted beyond those of the index: they went or changed meanwhile.
const SLACK_DOCUMENTS: u64 = 1024;
/// Bytes that a sync may have counted beyond those of the index.
const SLACK_BYTES: u64 = 1 << 40;

/// Checks the summary of a sync, with the row of the index that it sealed.
///
/// # Errors
/// The first number that is impossible, and why.
pub(super) fn summary(summary: &SyncSummary, index: Option<&IndexRow>) -> Result<(), String> {
    let SyncSummary { read_bytes, read_documents, sent_bytes, skipped, census, estimate, refined, .. } = summary;
    let SyncSummary { recognition, hard_links, hard_link_bytes, .. } = summary;
    if recognition.len() > TEXT_BYTES_MAX || recognition.chars().any(char::is_control) {
        return Err("the name of a program that recognises text is not one line".to_owned());
    }
    bytes("read", *read_bytes)?;
    entries("documents read", *read_documents)?;
    bytes("sent", *sent_bytes)?;
    once("reasons of skipped entries", skipped.iter().map(|row| row.reason))?;
    entries("skipped entries", sum(skipped.iter().map(|row| row.entries)))?;
    once("kinds of files", census.iter().map(|row| row.class))?;
    let documents = sum(census.iter().map(|row| row.documents));
    let size_bytes = sum(census.iter().map(|row| row.size_bytes));
    entries("documents by kind", documents)?;
    bytes("by kind", size_bytes)?;
    if *hard_links > documents || *hard_link_bytes > size_bytes {
        return Err(format!(
            "{hard_links} hard links of {hard_link_bytes} bytes, of {documents} documents of {size_bytes}"
        ));
    }
    if let Some(RefinedSummary { documents, changed, unknown_contents }) = refined {
        entries("documents of a refinement", sum([*documents, *unknown_contents].into_iter()))?;
        if changed > documents {
            return Err(format!("{changed} changed documents of {documents}"));
        }
    }
    estimate.as_ref().map_or(Ok(()), self::estimate)?;
    index.map_or(Ok(()), |index| against(index, documents, size_bytes))
}

/// Checks the estimate of a sync.
///
/// # Errors
/// The first number that is impossible, and why.
pub(super) fn estimate(estimate: &Estimate) -> Result<(), String> {
    let Estimate { documents, size_bytes, unread_documents, unread_bytes, send_bytes, bytes_per_second, .. } =
        *estimate;
    entries("documents", documents)?;
    entries("unread documents", unread_documents)?;
    let all = [
        ("of documents", size_bytes),
        ("to read", unread_bytes),
        ("to send", send_bytes),
        ("a second", bytes_per_second),
    ];
    all.into_iter().try_for_each(|(name, number)| bytes(name, number))
}

/// True if the progress of a sync can be shown.
pub(super) fn progress(progress: &SyncProgress) -> bool {
    let SyncProgress { entries_seen, documents_done, read_bytes, sent_bytes, open_bytes, .. } = *progress;
    entries_seen.max(documents_done) <= REPORTED_ENTRIES_MAX
        && read_bytes.max(sent_bytes).max(open_bytes) <= REPORTED_BYTES_MAX
}

/// Checks the kinds of files against the index. Under the raw view each document that was counted is one of the index,
/// with its size; a file may have changed meanwhile.
fn against(index: &IndexRow, documents: u64, size_bytes: u64) -> Result<(), String> {
    bytes("of documents in the index", index.size_bytes)?;
    let method = index.header.as_ref().and_then(|header| header.method.as_ref());
    if method.is_none_or(|method| method.view != "raw") {
        return Ok(());
    }
    if documents > index.documents.saturating_mul(2).saturating_add(SLACK_DOCUMENTS) {
        return Err(format!("{documents} documents by kind, while the index has {}", index.documents));
    }
    if size_bytes > index.size_bytes.saturating_mul(2).saturating_add(SLACK_BYTES) {
        return Err(format!("{size_bytes} bytes by kind, while the index has {}", index.size_bytes));
    }
    Ok(())
}

fn bytes(name: &str, number: u64) -> Result<(), String> {
    match number > REPORTED_BYTES_MAX {
        true => Err(format!("{number} bytes {name}, of {REPORTED_BYTES_MAX} at most")),
        false => Ok(()),
    }
}

fn entries(name: &str, number: u64) -> Result<(), String> {
    match number > REPORTED_ENTRIES_MAX {
        true => Err(format!("{number} {name}, of {REPORTED_ENTRIES_MAX} at most")),
        false => Ok(()),
    }
}

fn once(name: &str, rows: impl Iterator<Item = i32>) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    for row in rows {
        if !seen.insert(row) || seen.len() > 64 {
            return Err(format!("one of the {name} more than once"));
        }
    }
    Ok(())
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use cognate_proto::v1::{CensusRow, MethodSpec, SkippedCount};

    use super::*;

    fn census(documents: u64, size_bytes: u64) -> SyncSummary {
        SyncSummary { census: vec![CensusRow { class: 1, documents, size_bytes }], ..SyncSummary::default() }
    }

    #[test]
    fn only_possible_numbers_pass() {
        let skipped = |counts: &[(i32, u64)]| SyncSummary {
            skipped: counts
                .iter()
                .map(|(reason, entries)| SkippedCount { reason: *reason, entries: *entries })
                .collect(),
            ..SyncSummary::default()
        };
        let method = MethodSpec { view: "raw".to_owned(), ..MethodSpec::default() };
        let mut index = IndexRow { documents: 10, size_bytes: 1000, ..IndexRow::default() };
        index.header.get_or_insert_default().method = Some(method);
        for (reported, named) in [
            (SyncSummary::default(), ""),
            (census(12, 1 << 30), ""),
            (skipped(&[(1, 5), (2, 6)]), ""),
            (SyncSummary { read_bytes: u64::MAX / 2, ..SyncSummary::default() }, "bytes read"),
            (SyncSummary { sent_bytes: 1 << 55, ..SyncSummary::default() }, "bytes sent"),
            (SyncSummary { read_documents: 1 << 33, ..SyncSummary::default() }, "documents read"),
            (skipped(&[(1, u64::MAX), (2, 2)]), "skipped entries"),
            (skipped(&[(1, 5), (1, 6)]), "more than once"),
            (census(5, u64::MAX), "by kind"),
            (census(5000, 5), "while the index has 10"),
            (census(5, 1 << 50), "while the index has 1000"),
        ] {
            let checked = summary(&reported, Some(&index)).err().unwrap_or_default();
            assert!(checked.contains(named) && checked.is_empty() == named.is_empty(), "{reported:?}: {checked}");
        }
        assert!(estimate(&Estimate { send_bytes: u64::MAX, ..Estimate::default() }).is_err());
        assert!(!progress(&SyncProgress { read_bytes: u64::MAX, ..SyncProgress::default() }));
        assert!(!progress(&SyncProgress { open_bytes: u64::MAX, ..SyncProgress::default() }));
        assert!(progress(&SyncProgress { read_bytes: 5, ..SyncProgress::default() }));
    }
}
