//! Estimates of the data that each site would read and send, shown before the launch.

use std::io::IsTerminal as _;
use std::time::Duration;

use cognate_proto::name::one_line;
use cognate_proto::options::ScanOptions;
use cognate_proto::v1::{self, RepositoryEstimate};

use super::spec;
use crate::exit::usage;
use crate::operator::client::Operator;
use crate::tell;
use cognate_export::human::{bytes, count};
use cognate_export::table::table;

/// Shows the estimates of a scan, and asks for confirmation.
///
/// # Errors
/// If confirmation is needed and there is no terminal.
pub(super) async fn confirmed(operator: &Operator, options: &ScanOptions, yes: bool) -> anyhow::Result<bool> {
    let on_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !yes && !on_terminal {
        return Err(usage("a scan makes sites read their files: without a terminal, confirm with --yes"));
    }
    // Nothing is read or sent, or there is no terminal.
    if options.no_sync || (yes && !on_terminal) {
        return Ok(true);
    }
    let request = v1::EstimateScanRequest { options: Some(options.into()) };
    let estimates = operator.call_for(Duration::from_secs(30), |mut client| {
        let request = request.clone();
        async move { client.estimate_scan(request).await }
    });
    tell!("{}", shown(&estimates.await?.repositories));
    if yes {
        return Ok(true);
    }
    tell::ask(format_args!("Go on? [y/N] "))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn shown(estimates: &[RepositoryEstimate]) -> String {
    let headings = ["REPOSITORY", " DOCUMENTS", " BYTES", " TO READ", " TO SEND", " TIME", "NOTE"];
    let rows = estimates.iter().map(|row| {
        let mut name = row.repository.as_ref().map(spec::name).unwrap_or_default();
        if !row.view.is_empty() {
            name = format!("{name} ({})", one_line(&row.view));
        }
        let Some(estimate) = &row.estimate else {
            let unknown = || "?".to_owned();
            return vec![name, unknown(), unknown(), unknown(), unknown(), unknown(), one_line(&row.unknown)];
        };
        let to_read = estimate.size_bytes.saturating_sub(estimate.unread_bytes);
        let note = match (row.unknown.is_empty(), estimate.cut_short) {
            (false, _) => format!("{}: as it was at the last sync", one_line(&row.unknown)),
            (true, true) => "at least: the walk was cut short".to_owned(),
            (true, false) => String::new(),
        };
        vec![
            name,
            count(estimate.documents),
            bytes(estimate.size_bytes),
            bytes(to_read),
            bytes(estimate.send_bytes),
            duration(to_read, estimate.bytes_per_second),
            note,
        ]
    });
    table(&headings, rows)
}

fn duration(to_read: u64, bytes_per_second: u64) -> String {
    match to_read.checked_div(bytes_per_second) {
        None => "?".to_owned(),
        Some(seconds) => humantime::format_duration(Duration::from_secs(seconds.max(1))).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_shows_known_numbers_and_the_reason_for_unknown_ones() {
        let repository = Some(v1::RepositoryRef { site: "paris".into(), repository: "kb".into() });
        let estimate = v1::Estimate {
            documents: 1200,
            size_bytes: 5_000_000,
            unread_bytes: 4_000_000,
            send_bytes: 20_000,
            bytes_per_second: 100_000,
            ..v1::Estimate::default()
        };
        let known =
            RepositoryEstimate { repository: repository.clone(), estimate: Some(estimate), ..Default::default() };
        let unknown = RepositoryEstimate {
            repository,
            unknown: "the site is not attached".into(),
            view: "text".into(),
            ..Default::default()
        };
        let text = shown(&[known, unknown]);
        for part in ["1,200", "5.0 MB", "1.0 MB", "20.0 kB", "10s", "paris/kb (text)", "the site is not attached"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
