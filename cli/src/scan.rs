//! `cognate scan`: launches and follows scans.

mod estimate;
mod find;
mod follow;
mod launch;
mod profile;
mod refine;
mod schedule;
mod show;
mod spec;

use clap::{Args, Subcommand};
use cognate_proto::v1;

pub(crate) use self::find::{find, find_result};
pub(crate) use self::follow::{Fetched, fetch};
use crate::exit::Exit;
use crate::operator::client::{Operator, OperatorArg, block_on};
use crate::operator::members::{TableFormat, print, print_value};

/// Launches scans over repositories of any sites, follows them, and manages profiles and schedules.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate scan launch --repositories paris/kb,tokyo/kb --yes --wait
  cognate scan list
  cognate scan watch latest
  cognate scan schedule add weekly --every 7days --repositories paris/kb,tokyo/kb")]
pub(crate) struct ScanCommandArgs {
    #[command(subcommand)]
    command: ScanCommand,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Subcommand, Debug)]
enum ScanCommand {
    /// Launch a scan: show what each site will read and send, and ask before it starts
    Launch(Box<launch::LaunchArgs>),
    /// List scans, newest first
    #[command(after_help = "Examples:\n  cognate scan list --format json\n  cognate scan list --search merger")]
    List(ListArgs),
    /// Name a scan, or take its name away
    #[command(after_help = "Examples:\n  cognate scan rename latest 'after the move'\n  cognate scan rename 3f2a ''")]
    Rename {
        /// Scan: its id, the beginning of it, its name, or `latest`
        scan: String,
        /// New name: one line of text; empty: none
        name: String,
    },
    /// Show one scan
    #[command(after_help = "Example:\n  cognate scan show latest")]
    Show(OneArgs),
    /// Follow a scan until it ends
    #[command(after_help = "Example:\n  cognate scan watch 3f")]
    Watch(OneArgs),
    /// Cancel a scan
    #[command(after_help = "Example:\n  cognate scan cancel latest")]
    Cancel {
        /// Scan: its id, the beginning of it, its name, or `latest`
        scan: String,
    },
    /// Delete a scan that has ended, with its result
    #[command(after_help = "Example:\n  cognate scan delete 3f2a")]
    Delete(OneArgs),
    /// Save scan options under a name
    Profile(profile::ProfileArgs),
    /// Launch scans at regular intervals
    Schedule(schedule::ScheduleArgs),
}

#[derive(Args, Debug)]
struct FormatArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Only scans with this text in their name, their repositories or the name of the person
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Args, Debug)]
struct OneArgs {
    /// Scan: its id, the beginning of it, its name, or `latest`
    scan: String,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

/// Runs the command.
pub(crate) fn run(args: &ScanCommandArgs) -> anyhow::Result<Exit> {
    let operator = &args.operator;
    match &args.command {
        ScanCommand::Launch(args) => block_on(launch::run(operator, args)),
        ScanCommand::List(args) => block_on(show::list(operator, args.search.as_deref(), args.format.format)),
        ScanCommand::Rename { scan, name } => block_on(rename(operator, scan, name)),
        ScanCommand::Show(args) => block_on(show::show(operator, &args.scan, args.format)),
        ScanCommand::Watch(args) => block_on(follow::watch(operator, &args.scan, args.format)),
        ScanCommand::Cancel { scan } => block_on(cancel(operator, scan)),
        ScanCommand::Delete(args) => block_on(delete(operator, &args.scan, args.format)),
        ScanCommand::Profile(args) => block_on(profile::run(operator, args)),
        ScanCommand::Schedule(args) => block_on(schedule::run(operator, args)),
    }
}

async fn rename(arg: &OperatorArg, scan: &str, name: &str) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let id = find(&operator, scan).await?;
    let request = v1::RenameScanRequest { scan: id.0, name: name.to_owned() };
    operator
        .call(|mut client| {
            let request = request.clone();
            async move { client.rename_scan(request).await }
        })
        .await?;
    print(&id.to_string())?;
    Ok(Exit::Complete)
}

async fn cancel(arg: &OperatorArg, scan: &str) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let id = find(&operator, scan).await?;
    let request = v1::CancelScanRequest { scan: id.0 };
    operator.call(|mut client| async move { client.cancel_scan(request).await }).await?;
    print(&id.to_string())?;
    Ok(Exit::Complete)
}

async fn delete(arg: &OperatorArg, scan: &str, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let id = find(&operator, scan).await?;
    let request = v1::DeleteScanRequest { scan: id.0 };
    let deleted = operator.call(|mut client| async move { client.delete_scan(request).await }).await?;
    match format {
        TableFormat::Text => print(&format!("{id}: {} freed", cognate_export::human::bytes(deleted.bytes)))?,
        TableFormat::Json => print_value(&serde_json::json!({"id": id.to_string(), "bytes": deleted.bytes}))?,
    }
    Ok(Exit::Complete)
}
