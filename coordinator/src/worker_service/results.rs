//! What a site hears of the scans that it took part in.

use cognate_proto::name::{PartyName, ScanId, SiteName};
use cognate_proto::v1::ResultsResponse;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tonic::Status;

use crate::error::Error;
use crate::report::{Report, time};
use crate::scan::Scans;
use crate::store::{ScanRow, ScanStep};

type Rows = mpsc::Sender<Result<ResultsResponse, Status>>;

/// Tells a site of one scan, or lists all that it took part in.
///
/// # Errors
/// When there is no such scan, or the site did not take part in it: which of the two is not told.
pub(super) fn tell(scans: &Scans, site: &SiteName, scan: Option<u64>, rows: &Rows) -> Result<(), Error> {
    let mut send = |row: Value| {
        let row = ResultsResponse { row: row.to_string() };
        // A site that has heard enough goes away.
        rows.blocking_send(Ok(row)).map_err(|_| Error::Cancelled)
    };
    let Some(id) = scan.map(ScanId) else {
        let mut all = scans.store.scans()?;
        all.retain(|(_, row)| took_part(row, site));
        all.sort_by_key(|(id, row)| std::cmp::Reverse((row.number, *id)));
        return all.iter().try_for_each(|(id, row)| {
            send(json!({
                "type": "scan",
                "id": id.to_string(),
                "status": if row.missing.is_empty() { "complete" } else { "partial" },
                "started": time(row.started),
                "finished": time(row.finished),
                "digest": row.digest,
            }))
        });
    };
    let row = scans.store.scan(id)?.filter(|row| took_part(row, site)).ok_or(Error::UnknownScan(id))?;
    let party = scans.store.party_of(site)?.unwrap_or_else(PartyName::home);
    let report = Report::open(&scans.folder.join(id.to_string()).join("result.sqlite"))?;
    report.share_of(site.as_str(), party.as_str(), &row.digest, &mut send)
}

/// Whether a site has something in the result of a scan.
fn took_part(row: &ScanRow, site: &SiteName) -> bool {
    row.step() == ScanStep::Published && row.frozen.iter().any(|frozen| frozen.site == site.as_str())
}
