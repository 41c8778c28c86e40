//! The sentence about clusters that rest on frames, which every format for people has.

use cognate_result::report::ScanSection;

use crate::human::count;

/// The sentence with the number of clusters that rest on frames; nothing if none does.
pub(crate) fn frames(scan: &ScanSection, clusters: u64) -> Option<String> {
    let fine = scan.fine.as_ref().filter(|fine| fine.frame_clusters > 0)?;
    let rest = if fine.frame_clusters == 1 { "rests" } else { "rest" };
    Some(format!(
        "{} of {} clusters {rest} on a frame, text that many otherwise unlike documents have: it makes no document near another, moved or \
         contained",
        count(fine.frame_clusters),
        count(clusters),
    ))
}
