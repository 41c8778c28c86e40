//! `cognate scan launch`: shows estimates, asks, launches the scan, and can wait for its report.

use std::time::Duration;

use clap::Args;
use cognate_proto::name::ScanId;
use cognate_proto::options::{ScanOptions, ScanView};
use cognate_proto::v1;

use super::follow::{self, Followed};
use super::{estimate, find, refine::RefineArgs, spec::SpecArgs};
use crate::args::ReportFormat;
use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg};
use crate::operator::members::print;
use crate::output::OutputArgs;
use crate::stop::Stop;

/// Time for which a launch with `--wait` retries while it cannot reach the coordinator, which may be restarting.
const PATIENCE: Duration = Duration::from_secs(600);

/// Launches a scan: shows what each site will read and send, and asks before it starts.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate scan launch --repositories paris/kb,tokyo/kb
  cognate scan launch --repositories paris/kb,tokyo/kb --yes --wait --format json -o report.json
  cognate scan launch --repositories paris/kb,tokyo/kb --view both
  cognate scan launch --repositories paris/kb,tokyo/kb --estimate
  cognate scan launch --profile monthly --yes
  cognate scan launch --refine latest --chunk-bytes 100 --min-shared-bytes 300")]
pub(super) struct LaunchArgs {
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    refine: RefineArgs,
    /// Use the repositories and options of this profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Launch the scan under this id, 16 hexadecimal digits; a repeated command with the same id launches nothing
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Call the scan by this name; lists show it, and commands take it in place of the id
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Estimate what the repositories have in common before all of it is read: a scan of a sample, by bytes, of N percent of the
    /// sizes and N percent of the places; waits for its end and says the estimate with its interval
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "5", conflicts_with = "refine")]
    estimate: Option<u32>,
    /// Wait until the scan has ended, and write its report
    #[arg(long)]
    wait: bool,
    /// Format of the report
    #[arg(long, value_enum, default_value = "text", requires = "wait")]
    format: ReportFormat,
    #[command(flatten)]
    output: OutputArgs,
    /// Rows to show of each list of the text report; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
}

/// Runs the command.
pub(super) async fn run(arg: &OperatorArg, args: &LaunchArgs) -> anyhow::Result<Exit> {
    if args.output.file.is_some() && !args.wait {
        return Err(usage("-o is where the report goes: add --wait"));
    }
    args.output.check_for(args.format)?;
    let id = match &args.id {
        Some(text) => find::parse(text)
            .filter(|id| id.0 != 0)
            .ok_or_else(|| usage(format!("--id `{text}`: an id is 16 hexadecimal digits, not all zeros")))?,
        None => random_id()?,
    };
    let operator = Operator::open(arg).await?;
    let options = match &args.refine.refine {
        Some(scan) => args.refine.options(&operator, scan, &args.spec).await?,
        None => args.spec.options(&operator, args.profile.as_deref()).await?,
    };
    let options = match args.estimate {
        None => options,
        Some(percent) => sampled(options, percent)?,
    };
    let require_complete = options.require_complete;
    if !estimate::confirmed(&operator, &options, args.yes).await? {
        tell!("cognate: nothing was launched");
        return Ok(Exit::Failed);
    }
    let stop = Stop::on_signals()?;
    let request = v1::LaunchScanRequest {
        scan: id.0,
        options: Some(options.into()),
        name: match (&args.name, args.estimate) {
            (Some(name), _) => name.clone(),
            (None, Some(_)) => "estimate".to_owned(),
            (None, None) => String::new(),
        },
    };
    let patience = if args.wait { PATIENCE } else { crate::operator::client::PATIENCE };
    let launching = operator.call_for(patience, |mut client| {
        let request = request.clone();
        async move { client.launch_scan(request).await }
    });
    tokio::select! {
        // A refused launch makes no scan, so there is no id to print.
        launched = launching => drop(launched?),
        () = stop.stopped() => {
            tell!("cognate: stopped; if `cognate scan show {id}` knows this scan, it goes on");
            return Ok(Exit::Signal(stop.signal().unwrap_or(2)));
        }
    }
    tell!("cognate: scan {id}");
    if !args.wait && args.estimate.is_none() {
        print(&id.to_string())?;
        return Ok(Exit::Complete);
    }
    match follow::to_its_end(&operator, id, &stop).await? {
        Followed::Ended(state) => {
            let report = follow::report_of(&operator, id, &state, &stop).await?;
            if !args.wait {
                print(&cognate_export::answer::of(&report)?.join("\n"))?;
                return crate::compare::exit_of(&report, require_complete);
            }
            crate::output::write(&report, args.format, &args.output, args.limit, &stop)?;
            crate::compare::exit_of(&report, require_complete)
        }
        Followed::Stopped(number) => {
            tell!(
                "cognate: scan {id} goes on; `cognate scan watch {id}` follows it, `cognate scan cancel {id}` stops it"
            );
            Ok(Exit::Signal(number))
        }
    }
}

/// The options of an estimate: a sample, by bytes.
fn sampled(options: ScanOptions, percent: u32) -> anyhow::Result<ScanOptions> {
    let options =
        ScanOptions { sample_percent: Some(percent), view: ScanView::Raw, match_message_ids: false, ..options };
    options.check().map_err(|error| usage(format!("--estimate: {}", error.reason)))?;
    Ok(options)
}

fn random_id() -> anyhow::Result<ScanId> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)?;
    Ok(ScanId(u64::from_le_bytes(bytes).max(1)))
}
