//! A result that is partial: a sentence, and a line for each repository that is the reason.

use cognate_result::report::{FineRepository, ScanSection};

use crate::human::count;

/// The reasons why a result is partial.
pub(crate) struct Reasons {
    /// One sentence, without a full stop.
    pub(crate) sentence: &'static str,
    /// The repositories, each with its reason.
    pub(crate) lines: Vec<String>,
}

/// The reasons, unless the result is complete.
pub(crate) fn of(scan: &ScanSection) -> Option<Reasons> {
    if scan.status == "complete" {
        return None;
    }
    let missing = scan.missing.iter().map(|row| format!("{}/{}: {}", row.site, row.repository, row.reason));
    Some(Reasons {
        sentence: match scan.missing.is_empty() {
            true => {
                "PARTIAL: sites did not give all finer chunks that they were asked for, so that pairs were measured by \
                 whole chunks alone; they may share more"
            }
            false => "PARTIAL: some repositories are missing from this result",
        },
        lines: missing.chain(scan.not_given().map(line)).collect(),
    })
}

/// A repository whose fine chunks are missing, with the reason.
pub(crate) fn line(fine: &FineRepository) -> String {
    let FineRepository { site, repository, chunks, expanded_chunks, reason, .. } = fine;
    let reason = reason.as_deref().unwrap_or("documents have changed since they were read");
    format!("{site}/{repository}: {} of {} chunks: {reason}", count(chunks - expanded_chunks), count(*chunks))
}
