//! `cognate scan schedule`: scans that are launched at regular intervals.

use std::time::Duration;

use clap::{Args, Subcommand};
use cognate_proto::clock_times::ClockTimes;
use cognate_proto::name::{ScanId, one_line};
use cognate_proto::v1;
use serde_json::{Value, json};

use super::FormatArgs;
use super::show::{none_if_empty, when};
use super::spec::{SpecArgs, names};
use crate::exit::Exit;
use crate::operator::client::{Operator, OperatorArg};
use crate::operator::members::{TableFormat, print, print_json};
use cognate_export::table::table;

/// Launches scans at regular intervals.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate scan schedule add weekly --every 7days --repositories paris/kb,tokyo/kb
  cognate scan schedule add nightly --at 02:30 --profile monthly --webhook https://example.com/hook
  cognate scan schedule list")]
pub(super) struct ScheduleArgs {
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(Subcommand, Debug)]
enum ScheduleCommand {
    /// Launch a scan now and then at regular intervals, or at times of the clock
    #[command(
        after_help = "Example:\n  cognate scan schedule add weekly --every 7days --repositories paris/kb,tokyo/kb"
    )]
    Add(Box<AddArgs>),
    /// List schedules
    #[command(after_help = "Example:\n  cognate scan schedule list")]
    List(FormatArgs),
    /// Remove a schedule; its scans stay
    #[command(after_help = "Example:\n  cognate scan schedule remove weekly")]
    Remove {
        /// Name of the schedule
        name: String,
    },
}

#[derive(Args, Debug)]
struct AddArgs {
    /// Name of the schedule
    name: String,
    /// Interval: 1h, 1day, 7days
    #[arg(long, value_name = "D", value_parser = humantime::parse_duration, required_unless_present = "at")]
    every: Option<Duration>,
    /// Time of day in UTC, with days of the week before it: 02:30, "mon,thu 02:30"
    #[arg(long, value_name = "T", conflicts_with = "every")]
    at: Option<ClockTimes>,
    /// Send a notice to this address after each scan of the schedule; it says if there are new matches
    #[arg(long, value_name = "URL", default_value = "")]
    webhook: String,
    /// Use the repositories and options of this profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    #[command(flatten)]
    spec: SpecArgs,
}

/// Runs the command.
pub(super) async fn run(arg: &OperatorArg, args: &ScheduleArgs) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    match &args.command {
        ScheduleCommand::Add(add) => {
            let schedule = v1::Schedule {
                name: add.name.clone(),
                options: Some(add.spec.options(&operator, add.profile.as_deref()).await?.into()),
                every_seconds: add.every.map_or(0, |every| every.as_secs()),
                at: add.at.map(|at| at.to_string()).unwrap_or_default(),
                webhook: add.webhook.clone(),
                ..v1::Schedule::default()
            };
            let request = v1::PutScheduleRequest { schedule: Some(schedule) };
            let put = operator.call(|mut client| {
                let request = request.clone();
                async move { client.put_schedule(request).await }
            });
            put.await?;
        }
        ScheduleCommand::Remove { name } => {
            let request = v1::RemoveScheduleRequest { name: name.clone() };
            let remove = operator.call(|mut client| {
                let request = request.clone();
                async move { client.remove_schedule(request).await }
            });
            remove.await?;
        }
        ScheduleCommand::List(FormatArgs { format }) => {
            let listed =
                operator.call(|mut client| async move { client.list_schedules(v1::ListSchedulesRequest {}).await });
            let schedules = listed.await?.schedules;
            match format {
                TableFormat::Json => print_json(&schedules.iter().map(object).collect::<Value>())?,
                TableFormat::Text => print(&table(
                    &["SCHEDULE", "WHEN", "LAST", "NEXT", "LAST SCAN", "REPOSITORIES", "LAST ERROR"],
                    schedules.iter().map(row),
                ))?,
            }
        }
    }
    Ok(Exit::Complete)
}

fn row(schedule: &v1::Schedule) -> Vec<String> {
    vec![
        one_line(&schedule.name),
        when_launched(schedule),
        when(schedule.last_started),
        when(schedule.next_start),
        last_scan(schedule).unwrap_or_default(),
        schedule.options.as_ref().map(names).unwrap_or_default(),
        one_line(&schedule.last_error),
    ]
}

/// `every 7days`, or `mon,thu 02:30 UTC`.
fn when_launched(schedule: &v1::Schedule) -> String {
    match schedule.at.as_str() {
        "" => format!("every {}", humantime::format_duration(Duration::from_secs(schedule.every_seconds))),
        at => format!("{} UTC", one_line(at)),
    }
}

fn object(schedule: &v1::Schedule) -> Value {
    json!({
        "name": schedule.name,
        "every_seconds": Some(schedule.every_seconds).filter(|seconds| *seconds > 0),
        "at": none_if_empty(&schedule.at),
        "last_error": none_if_empty(&schedule.last_error),
        "webhook": none_if_empty(&schedule.webhook),
        "last_started": none_if_empty(&when(schedule.last_started)),
        "next_start": none_if_empty(&when(schedule.next_start)),
        "last_scan": last_scan(schedule),
        "repositories": schedule.options.as_ref().map(names),
    })
}

fn last_scan(schedule: &v1::Schedule) -> Option<String> {
    Some(schedule.last_scan).filter(|id| *id != 0).map(|id| ScanId(id).to_string())
}
