//! `cognate case`: stored queries with every answer to them.

use std::io::Write as _;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use cognate_proto::name::one_line;
use cognate_proto::v1;
use serde_json::Value;

use crate::exit::{Exit, usage};
use crate::operator::client::{Client, Operator, OperatorArg, block_on, refusal};
use crate::operator::members::{TableFormat, print, print_json, time};
use crate::output::{OutputArgs, write_with};
use crate::stop::Stop;
use crate::stored_query::{QueryArgs, method, names};
use cognate_desk::stored_query::CaseRow;
use cognate_export::human::count;
use cognate_export::table::table;

/// Saves a query, the coverage of each check and all matches as one record, and adds later checks to it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate case new leak-7 --view text contract.docx --note \"asked by legal\"
  cognate case check leak-7
  cognate case export leak-7 -o leak-7.json")]
pub(crate) struct CaseArgs {
    #[command(subcommand)]
    command: CaseCommand,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Subcommand, Debug)]
enum CaseCommand {
    /// Open a case: search for files and save the answer
    #[command(after_help = "Example:\n  cognate case new leak-7 --view text contract.docx")]
    New {
        /// Name of the case
        name: String,
        #[command(flatten)]
        query_args: Box<QueryArgs>,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// List cases, latest first
    #[command(after_help = "Example:\n  cognate case list --format json")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Show a case with its checks
    #[command(after_help = "Example:\n  cognate case show leak-7")]
    Show {
        /// Name of the case
        name: String,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Search again and add the answer to the case
    #[command(after_help = "Example:\n  cognate case check leak-7")]
    Check {
        /// Name of the case
        name: String,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Write the entire case as one JSON object
    #[command(after_help = "Example:\n  cognate case export leak-7 -o leak-7.json")]
    Export {
        /// Name of the case
        name: String,
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// Runs the command.
pub(crate) fn run(args: &CaseArgs) -> anyhow::Result<Exit> {
    block_on(async {
        let operator = Operator::open(&args.operator).await?;
        match &args.command {
            CaseCommand::New { name, query_args, format } => {
                let query = Some(query_args.query(&operator).await?);
                let request = v1::OpenCaseRequest { name: name.clone(), query, note: query_args.note.clone() };
                let call = |mut client: Client| {
                    let request = request.clone();
                    async move { client.open_case(request).await }
                };
                show(&operator.call(call).await?, *format)
            }
            CaseCommand::Check { name, format } => {
                let request = v1::CheckCaseRequest { name: name.clone() };
                let call = |mut client: Client| {
                    let request = request.clone();
                    async move { client.check_case(request).await }
                };
                show(&operator.call(call).await?, *format)
            }
            CaseCommand::List { format } => list(&fetch(&operator).await?, *format),
            CaseCommand::Show { name, format } => {
                let cases = fetch(&operator).await?;
                let case = cases.iter().find(|case| case.name == *name);
                let unknown = || usage(format!("no case `{name}`: `cognate case list` shows all cases"));
                show(case.ok_or_else(unknown)?, *format)
            }
            CaseCommand::Export { name, output } => export(&operator, name, output).await,
        }
    })
}

async fn fetch(operator: &Operator) -> anyhow::Result<Vec<v1::Case>> {
    let call = |mut client: Client| async move { client.list_cases(v1::ListCasesRequest {}).await };
    let mut rows = operator.call(call).await?;
    let mut cases = Vec::new();
    while let Some(case) = rows.message().await.map_err(|status| refusal(&status))? {
        cases.push(case);
    }
    Ok(cases)
}

async fn export(operator: &Operator, name: &str, output: &OutputArgs) -> anyhow::Result<Exit> {
    let stop = Stop::on_signals()?;
    let request = v1::ExportCaseRequest { name: name.to_owned() };
    let call = |mut client: Client| {
        let request = request.clone();
        async move { client.export_case(request).await }
    };
    let mut pieces = operator.call(call).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.message().await.map_err(|status| refusal(&status))? {
        bytes.extend_from_slice(&piece.piece);
    }
    let case: Value = serde_json::from_slice(&bytes).context("the received case is not a JSON object")?;
    write_with(output, &stop, |out| {
        serde_json::to_writer_pretty(&mut *out, &case)?;
        Ok(writeln!(out)?)
    })?;
    Ok(Exit::Complete)
}

fn list(cases: &[v1::Case], format: TableFormat) -> anyhow::Result<Exit> {
    match format {
        TableFormat::Json => print_json(&cases.iter().cloned().map(CaseRow::from).collect::<Vec<_>>())?,
        TableFormat::Text => {
            let headings = ["CASE", "OPENED", "BY", " CHECKS", " DOCUMENTS", "LAST CHECK", "QUERY", "NOTE"];
            let row = |case: &v1::Case| {
                let last = case.checks.last().cloned().unwrap_or_default();
                vec![
                    one_line(&case.name),
                    time(case.opened),
                    one_line(&case.opened_by),
                    count(case.checks.len() as u64),
                    count(last.documents),
                    time(last.time),
                    case.query.as_ref().map(names).unwrap_or_default(),
                    one_line(&case.note),
                ]
            };
            print(&table(&headings, cases.iter().map(row)))?;
        }
    }
    Ok(Exit::Complete)
}

fn show(case: &v1::Case, format: TableFormat) -> anyhow::Result<Exit> {
    match format {
        TableFormat::Json => print_json(&CaseRow::from(case.clone()))?,
        TableFormat::Text => {
            let query = case.query.clone().unwrap_or_default();
            print(&format!("{}: {} under {}", one_line(&case.name), names(&query), method(&query)))?;
            let headings = ["CHECKED", "BY", " DOCUMENTS", " SEARCHED", " NOT SEARCHED", "DIGEST"];
            let row = |check: &v1::CaseCheck| {
                let digest = if check.erased { "erased".to_owned() } else { check.digest.chars().take(16).collect() };
                let numbers = [check.documents, check.searched.into(), check.not_searched.into()].map(count);
                let [documents, searched, not_searched] = numbers;
                vec![time(check.time), one_line(&check.by), documents, searched, not_searched, digest]
            };
            print(&table(&headings, case.checks.iter().map(row)))?;
        }
    }
    let missing = case.checks.last().is_some_and(|check| check.not_searched > 0);
    Ok(if missing { Exit::Incomplete } else { Exit::Complete })
}
