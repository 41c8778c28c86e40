//! `cognate watch`: stored queries that the coordinator asks again after each sync.

use clap::{Args, Subcommand};
use cognate_proto::name::one_line;
use cognate_proto::v1;

use crate::exit::{Exit, usage};
use crate::operator::client::{Client, Operator, OperatorArg, block_on, refusal};
use crate::operator::members::{TableFormat, print, print_json, time};
use crate::stored_query::{QueryArgs, method, names};
use cognate_desk::stored_query::WatchRow;
use cognate_export::human::count;
use cognate_export::table::table;

/// Watches for copies, versions and parts of files: after each sync, the coordinator searches the index for the watched
/// documents, and reports new matches (in the log, as a counter, to a webhook).
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate watch add contracts --view text --webhook https://example.com/hook *.docx
  cognate watch list
  cognate watch show contracts
  cognate watch remove contracts")]
pub(crate) struct WatchArgs {
    #[command(subcommand)]
    command: WatchCommand,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Subcommand, Debug)]
enum WatchCommand {
    /// Watch for files; current matches are not reported
    #[command(after_help = "Example:\n  cognate watch add contracts --view text *.docx")]
    Add {
        /// Name of the watch
        name: String,
        #[command(flatten)]
        query_args: Box<QueryArgs>,
        /// Send a notice of new matches to this address
        #[arg(long, value_name = "URL", default_value = "")]
        webhook: String,
    },
    /// List watches
    #[command(after_help = "Example:\n  cognate watch list --format json")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Show one watch
    #[command(after_help = "Example:\n  cognate watch show contracts")]
    Show {
        /// Name of the watch
        name: String,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Remove a watch
    #[command(after_help = "Example:\n  cognate watch remove contracts")]
    Remove {
        /// Name of the watch
        name: String,
    },
}

/// Runs the command.
pub(crate) fn run(args: &WatchArgs) -> anyhow::Result<Exit> {
    block_on(async {
        let operator = Operator::open(&args.operator).await?;
        match &args.command {
            WatchCommand::Add { name, query_args, webhook } => add(&operator, name, query_args, webhook).await,
            WatchCommand::List { format } => {
                let states = fetch(&operator).await?;
                show(&states, *format)
            }
            WatchCommand::Show { name, format } => {
                let mut states = fetch(&operator).await?;
                states.retain(|state| state.watch.as_ref().is_some_and(|watch| watch.name == *name));
                match states.is_empty() {
                    true => Err(usage(format!("no watch `{name}`: `cognate watch list` shows all watches"))),
                    false => show(&states, *format),
                }
            }
            WatchCommand::Remove { name } => {
                let request = v1::RemoveWatchRequest { name: name.clone() };
                let call = |mut client: Client| {
                    let request = request.clone();
                    async move { client.remove_watch(request).await }
                };
                operator.call(call).await?;
                print(name)?;
                Ok(Exit::Complete)
            }
        }
    })
}

async fn add(operator: &Operator, name: &str, query_args: &QueryArgs, webhook: &str) -> anyhow::Result<Exit> {
    let query = query_args.query(operator).await?;
    let watch = v1::Watch {
        name: name.to_owned(),
        query: Some(query),
        webhook: webhook.to_owned(),
        note: query_args.note.clone(),
        ..v1::Watch::default()
    };
    let request = v1::PutWatchRequest { watch: Some(watch) };
    let call = |mut client: Client| {
        let request = request.clone();
        async move { client.put_watch(request).await }
    };
    let added = operator.call(call).await?;
    print(&format!("{name}: {} documents match now, and will not be reported", count(added.hits)))?;
    Ok(Exit::Complete)
}

async fn fetch(operator: &Operator) -> anyhow::Result<Vec<v1::WatchState>> {
    let call = |mut client: Client| async move { client.list_watches(v1::ListWatchesRequest {}).await };
    let mut rows = operator.call(call).await?;
    let mut states = Vec::new();
    while let Some(state) = rows.message().await.map_err(|status| refusal(&status))? {
        states.push(state);
    }
    Ok(states)
}

fn show(states: &[v1::WatchState], format: TableFormat) -> anyhow::Result<Exit> {
    match format {
        TableFormat::Json => print_json(&states.iter().cloned().map(WatchRow::from).collect::<Vec<_>>())?,
        TableFormat::Text => {
            let headings = ["WATCH", " MATCHES", "LAST NEW", "CHECKED", "METHOD", "QUERY", "BY", "NOTE"];
            print(&table(&headings, states.iter().map(row)))?;
        }
    }
    Ok(Exit::Complete)
}

fn at(seconds: i64) -> String {
    if seconds == 0 { "never".to_owned() } else { time(seconds) }
}

fn row(state: &v1::WatchState) -> Vec<String> {
    let watch = state.watch.clone().unwrap_or_default();
    let query = watch.query.unwrap_or_default();
    vec![
        one_line(&watch.name),
        count(state.hits),
        at(state.last_new),
        at(state.checked),
        method(&query),
        names(&query),
        one_line(&watch.created_by),
        one_line(&watch.note),
    ]
}
