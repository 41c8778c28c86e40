//! Follows a scan until it ends, through restarts of the coordinator, and fetches its result.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use cognate_analysis::spec::AnalysisPhase;
use cognate_proto::name::{ScanId, one_line};
use cognate_proto::v1::{self, FailureKind, ScanState, ScanStatus};
use cognate_result::report::Report;
use cognate_server::{RepositoryProgress, ScanProgress};

use super::{find, show, spec};
use crate::exit::{Exit, coded};
use crate::operator::client::{Operator, OperatorArg, is_passing, refusal};
use crate::operator::members::{TableFormat, print, print_value};
use crate::progress::Bars;
use crate::stop::Stop;

/// Time without a coordinator after which following stops.
const PATIENCE: Duration = Duration::from_secs(600);
/// The wait between two attempts.
const WAIT: Duration = Duration::from_millis(500);
/// A stream without a message for this long is dead: the coordinator sends one more often.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// End of following a scan.
pub(super) enum Followed {
    /// The scan has ended.
    Ended(Box<ScanState>),
    /// A signal with this number came.
    Stopped(u8),
}

/// Follows a scan with bars until it has ended.
pub(super) async fn to_its_end(operator: &Operator, id: ScanId, stop: &Stop) -> anyhow::Result<Followed> {
    let mut bars: Option<Bars> = None;
    let mut told = Vec::new();
    let on_terminal = std::io::stderr().is_terminal();
    let followed = tokio::select! {
        ended = each_state(operator, id, |state| {
            if !on_terminal {
                tell_waits(waits(state), &mut told);
            }
            let bars = bars.get_or_insert_with(|| Bars::new(names(state)));
            bars.show(&progress(state));
            Ok(())
        }) => ended.map(|state| Followed::Ended(Box::new(state))),
        () = stop.stopped() => Ok(Followed::Stopped(stop.signal().unwrap_or(2))),
    };
    if let Some(bars) = &bars {
        bars.clear();
    }
    followed
}

/// `cognate scan watch`.
pub(super) async fn watch(arg: &OperatorArg, scan: &str, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let id = find(&operator, scan).await?;
    let stop = Stop::on_signals()?;
    let state = match format {
        TableFormat::Text => match to_its_end(&operator, id, &stop).await? {
            Followed::Ended(state) => {
                print(&show::text(&state))?;
                *state
            }
            Followed::Stopped(number) => return Ok(Exit::Signal(number)),
        },
        TableFormat::Json => tokio::select! {
            ended = each_state(&operator, id, |state| print_value(&show::object(state))) => ended?,
            () = stop.stopped() => return Ok(Exit::Signal(stop.signal().unwrap_or(2))),
        },
    };
    Ok(match state.status() {
        ScanStatus::Complete => Exit::Complete,
        ScanStatus::Partial => Exit::Incomplete,
        _ => Exit::Failed,
    })
}

/// Passes on every state of a scan until it has ended; returns the last one.
async fn each_state(
    operator: &Operator,
    id: ScanId,
    mut each: impl FnMut(&ScanState) -> anyhow::Result<()>,
) -> anyhow::Result<ScanState> {
    let request = v1::ShowScanRequest { scan: id.0 };
    let mut heard = Instant::now();
    loop {
        let lost = match operator.client().watch_scan(request).await {
            Err(status) => status,
            Ok(stream) => {
                let mut states = stream.into_inner();
                loop {
                    let next = tokio::time::timeout(SILENCE_MAX, states.message()).await;
                    match next {
                        Ok(Ok(Some(state))) => {
                            heard = Instant::now();
                            each(&state)?;
                            if has_ended(&state) {
                                return Ok(state);
                            }
                        }
                        Ok(Ok(None)) => break tonic::Status::unavailable("the coordinator ended the stream"),
                        Ok(Err(status)) => break status,
                        Err(_) => break tonic::Status::unavailable("the coordinator sends nothing"),
                    }
                }
            }
        };
        if !is_passing(&lost) || heard.elapsed() > PATIENCE {
            return Err(refusal(&lost));
        }
        tracing::debug!(%lost, "the coordinator is away: trying again");
        tokio::time::sleep(WAIT).await;
    }
}

/// What a scan waits for, which the bars show on a terminal.
fn waits(state: &ScanState) -> Vec<String> {
    let of_scan = Some(one_line(&state.waiting)).filter(|waiting| !waiting.is_empty());
    let of_sites = state.repositories.iter().filter_map(|row| {
        let place = row.repository.as_ref().map(spec::name).unwrap_or_default();
        match (row.ended || row.attached, row.waiting.is_empty()) {
            (false, _) => Some(format!("waits for {place}: its site is not attached")),
            (true, false) => Some(format!("waits for finer chunks of {place}: {}", one_line(&row.waiting))),
            (true, true) => None,
        }
    });
    of_scan.into_iter().chain(of_sites).collect()
}

/// Tells on standard error what a scan waits for by now, and did not before.
fn tell_waits(waits: Vec<String>, told: &mut Vec<String>) {
    waits.iter().filter(|wait| !told.contains(wait)).for_each(|wait| tell!("cognate: {wait}"));
    *told = waits;
}

fn has_ended(state: &ScanState) -> bool {
    !matches!(state.status(), ScanStatus::Syncing | ScanStatus::Analysing)
}

/// The report of a scan that has ended.
///
/// # Errors
/// If it has none, with the reason.
pub(super) async fn report_of(
    operator: &Operator,
    id: ScanId,
    state: &ScanState,
    stop: &Stop,
) -> anyhow::Result<Fetched> {
    match state.status() {
        ScanStatus::Complete | ScanStatus::Partial => fetch(operator, id, stop).await,
        ScanStatus::Cancelled => Err(anyhow!("scan {id} was cancelled")),
        _ => {
            let exit = match state.failure_kind() {
                FailureKind::Mismatch => Exit::KeyMismatch,
                _ => Exit::Failed,
            };
            Err(coded(exit, format!("scan {id} failed: {}", one_line(&state.failure))))
        }
    }
}

/// A fetched report; its file is removed with this value.
pub(crate) struct Fetched {
    report: Report,
    _file: tempfile::TempPath,
}

impl std::ops::Deref for Fetched {
    type Target = Report;

    fn deref(&self) -> &Report {
        &self.report
    }
}

impl std::ops::DerefMut for Fetched {
    fn deref_mut(&mut self) -> &mut Report {
        &mut self.report
    }
}

/// Fetches the result of a scan, and continues after an interruption.
///
/// # Errors
/// If there is none, or the coordinator stays away.
pub(crate) async fn fetch(operator: &Operator, id: ScanId, stop: &Stop) -> anyhow::Result<Fetched> {
    let file = tempfile::Builder::new().prefix("cognate-").suffix(".sqlite").tempfile();
    let mut file = file.context("no temporary file can be made")?;
    tokio::select! {
        fetched = fetch_into(operator, id, file.as_file_mut()) => fetched?,
        () = stop.stopped() => return Err(anyhow!("stopped")),
    }
    file.as_file_mut().flush()?;
    let path = file.into_temp_path();
    Ok(Fetched { report: Report::open(&path)?, _file: path })
}

async fn fetch_into(operator: &Operator, id: ScanId, file: &mut std::fs::File) -> anyhow::Result<()> {
    let mut offset = 0;
    let mut heard = Instant::now();
    loop {
        let lost = match operator.client().fetch_result(v1::FetchResultRequest { scan: id.0, offset }).await {
            Err(status) => status,
            Ok(stream) => {
                let mut pieces = stream.into_inner();
                loop {
                    match tokio::time::timeout(SILENCE_MAX, pieces.message()).await {
                        Ok(Ok(Some(v1::FetchResultResponse { piece, total_bytes }))) => {
                            heard = Instant::now();
                            file.write_all(&piece).context("the temporary file cannot be written")?;
                            offset += piece.len() as u64;
                            if offset >= total_bytes {
                                return Ok(());
                            }
                        }
                        Ok(Ok(None)) => break tonic::Status::unavailable("the coordinator ended the stream"),
                        Ok(Err(status)) => break status,
                        Err(_) => break tonic::Status::unavailable("the coordinator sends nothing"),
                    }
                }
            }
        };
        if !is_passing(&lost) || heard.elapsed() > PATIENCE {
            return Err(refusal(&lost));
        }
        tokio::time::sleep(WAIT).await;
    }
}

fn names(state: &ScanState) -> Vec<String> {
    state.options.iter().flat_map(|options| &options.repositories).map(spec::name).collect()
}

/// A state as progress for the bars.
fn progress(state: &ScanState) -> ScanProgress {
    let repository = |row: &v1::RepositoryState| RepositoryProgress {
        attached: row.attached,
        entries_seen: row.entries_seen,
        walk_finished: row.walk_finished,
        documents_done: row.documents_done,
        read_bytes: row.read_bytes,
        sent_bytes: row.sent_bytes,
        open_bytes: row.open_bytes,
        ended: row.ended.then(|| if row.failure.is_empty() { Ok(()) } else { Err(one_line(&row.failure)) }),
        fine_chunks: row.fine_chunks,
        fine_chunks_done: row.fine_chunks_done,
        waiting: one_line(&row.waiting),
    };
    let phase = |phase| match phase {
        v1::AnalysisPhase::Exporting => AnalysisPhase::Exporting,
        v1::AnalysisPhase::Grouping => AnalysisPhase::Grouping,
        v1::AnalysisPhase::Fetching => AnalysisPhase::Fetching,
        v1::AnalysisPhase::Comparing => AnalysisPhase::Comparing,
        v1::AnalysisPhase::Publishing => AnalysisPhase::Publishing,
        _ => AnalysisPhase::Freezing,
    };
    ScanProgress {
        repositories: state.repositories.iter().map(repository).collect(),
        analysis: state.analysis.as_ref().map(|analysis| (phase(analysis.phase()), analysis.done, analysis.total)),
        waiting: Some(one_line(&state.waiting)).filter(|waiting| !waiting.is_empty()),
        ended: None,
    }
}
