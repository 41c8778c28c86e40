//! The reliability of results whose method is not exact on chunks.

use std::io::Write;

use cognate_result::report::ScanSection;

/// One line on the method, if it needs one.
pub(super) fn write(scan: &ScanSection, out: &mut impl Write) -> crate::Result<()> {
    let Some(param) = &scan.param else { return Ok(()) };
    let what = match (scan.method.as_str(), scan.verified_by.as_deref()) {
        ("bsw-chunk", _) => return Ok(()),
        (_, Some("cosine")) => "proposes pairs; how alike they are is the cosine of the angle between their words",
        (_, Some(_)) => "proposes pairs, and finds no others; what they share is counted in chunks",
        (_, None) if scan.chunk_bytes.is_none() => {
            "samples of one size: how alike documents are is an estimate, and so are bytes"
        }
        (_, None) => "samples: bytes and shares are estimates",
    };
    Ok(writeln!(out, "Method        {} ({param}) {what}", scan.method)?)
}
