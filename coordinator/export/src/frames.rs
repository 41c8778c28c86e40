//! The sentence about clusters that rest on frames, which every format for people has.

use cognate_result::report::ScanSection;

use crate::human::count;

/// How many clusters rest on frames, and the command that shows these; nothing if none does.
pub(crate) fn frames(scan: &ScanSection, clusters: u64) -> Option<String> {
    let fine = scan.fine.as_ref().filter(|fine| fine.frame_clusters > 0)?;
    let id = scan.id.as_deref().unwrap_or_default();
    let rest = if fine.frame_clusters == 1 { "rests" } else { "rest" };
    Some(format!(
        "{} of {} clusters {rest} on a frame, text that many otherwise unlike documents have: `cognate template suggest {}` shows it",
        count(fine.frame_clusters),
        count(clusters),
        id.get(..8).unwrap_or(id),
    ))
}
