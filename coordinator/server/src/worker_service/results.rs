//! The scans that a site took part in, as that site may see them.

use cognate_proto::name::{PartyName, ScanId, SiteName};
use cognate_proto::v1::ResultsResponse;
use serde_json::{Value, json};

use crate::error::Error;
use crate::scan::Scans;
use crate::streams::spool::SpoolWriter;
use cognate_result::report::{Report, time};
use cognate_storage::store::{ScanRow, ScanStep};

/// Writes one scan for a site, or lists all that it took part in.
///
/// # Errors
/// Fails if there is no such scan, or the site did not take part in it; the error is the same for both.
pub(super) fn write(scans: &Scans, site: &SiteName, scan: Option<u64>, rows: &mut SpoolWriter) -> Result<(), Error> {
    let mut send = |row: Value| rows.message(&ResultsResponse { row: row.to_string() });
    let Some(id) = scan.map(ScanId) else {
        let mut all = scans.records.store.scans()?;
        all.retain(|(_, row)| took_part(row, site));
        all.sort_by_key(|(id, row)| std::cmp::Reverse((row.number, *id)));
        return all.iter().try_for_each(|(id, row)| {
            send(json!({
                "type": "scan",
                "id": id.to_string(),
                "status": if row.is_partial() { "partial" } else { "complete" },
                "started": time(row.started),
                "finished": time(row.finished),
                "digest": row.digest,
            }))
        });
    };
    let row = scans.records.store.scan(id)?.filter(|row| took_part(row, site)).ok_or(Error::UnknownScan(id))?;
    let party = scans.records.store.party_of(site)?.unwrap_or_else(PartyName::home);
    let report = Report::open(&scans.analyser.published(id)?)?;
    report.share_of(site.as_str(), party.as_str(), &row.digest, &mut send)
}

/// True if the result of a scan covers a site.
fn took_part(row: &ScanRow, site: &SiteName) -> bool {
    row.step() == ScanStep::Published && row.frozen.iter().any(|frozen| frozen.site == site.as_str())
}
