//! The sentence on what a scan does not decide.

use cognate_result::report::ScanSection;

/// Says that a scan decides of no document that it is nowhere else, where it compares by whole chunks or estimates.
pub(crate) fn not_measured(scan: &ScanSection) -> Option<&'static str> {
    let is_measured = scan.precision.as_deref() == Some("fine");
    (!is_measured).then_some(
        "This scan compares by whole chunks or by estimates: of a document without a relative it is not decided that it has none, \
         and its status is undecided.",
    )
}
