//! `cognate repo`: the repositories that sites offer.

use clap::{Args, Subcommand};
use cognate_proto::name::one_line;
use cognate_proto::v1;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::operator::client::{Operator, OperatorArg, block_on};
use crate::operator::members::{TableFormat, print, print_json, time};
use cognate_export::human::{bytes, count};
use cognate_export::table::table;

/// Lists the repositories that sites offer, and their indexes at the coordinator.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  cognate repo list --format json")]
pub(crate) struct RepoArgs {
    #[command(subcommand)]
    command: RepoCommand,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Subcommand, Debug)]
enum RepoCommand {
    /// List repositories
    #[command(after_help = "Example:\n  cognate repo list")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
}

/// Runs the command.
pub(crate) fn run(args: &RepoArgs) -> anyhow::Result<Exit> {
    let RepoCommand::List { format } = args.command;
    block_on(list(&args.operator, format))
}

async fn list(arg: &OperatorArg, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let listed = operator
        .call(|mut client| async move { client.list_repositories(v1::ListRepositoriesRequest {}).await })
        .await?;
    match format {
        TableFormat::Json => print_json(&listed.repositories.iter().map(object).collect::<Value>())?,
        TableFormat::Text => {
            let headings = ["REPOSITORY", "PARTY", "OFFERED", " DOCUMENTS", " BYTES", "SYNCED", "METHOD", " STORED"];
            print(&table(&headings, listed.repositories.iter().flat_map(rows)))?;
        }
    }
    Ok(Exit::Complete)
}

/// One row for each index; one for a repository without any.
fn rows(repository: &v1::Repository) -> Vec<Vec<String>> {
    let name = format!("{}/{}", one_line(&repository.site), one_line(&repository.repository));
    let begin = || {
        let offered = if repository.offered { "now" } else { "–" };
        vec![name.clone(), one_line(&repository.party), offered.to_owned()]
    };
    if repository.indexes.is_empty() {
        let mut row = begin();
        row.extend(["–", "–", "never", "–", "–"].map(str::to_owned));
        return vec![row];
    }
    let of_index = |index: &v1::RepositoryIndex| {
        let mut row = begin();
        row.extend([
            count(index.documents),
            bytes(index.size_bytes),
            if index.sealed == 0 { "never".to_owned() } else { time(index.sealed) },
            index_words(index),
            bytes(index.stored_bytes),
        ]);
        row
    };
    repository.indexes.iter().map(of_index).collect()
}

/// The method of an index in the words of people; `refined`: only of some documents.
pub(crate) fn index_words(index: &v1::RepositoryIndex) -> String {
    let keyed = if index.keyed { ", keyed" } else { "" };
    let refined = if index.scope.is_empty() { "" } else { ", refined" };
    format!("{}{keyed}{refined}", method_words(index.method.as_ref()))
}

/// A method in the words of people.
pub(crate) fn method_words(method: Option<&v1::MethodSpec>) -> String {
    one_line(&method.map_or_else(String::new, cognate_export::human::method_of))
}

fn object(repository: &v1::Repository) -> Value {
    let index = |index: &v1::RepositoryIndex| {
        let method = index.method.clone().unwrap_or_default();
        json!({
            "method": method.name,
            "view": method.view,
            "chunk_bytes": method.chunk_bytes,
            "keyed": index.keyed,
            "documents": index.documents,
            "bytes": index.size_bytes,
            "sealed": (index.sealed != 0).then(|| time(index.sealed)),
            "stored_bytes": index.stored_bytes,
            "scope": (!index.scope.is_empty()).then(|| hex(&index.scope)),
        })
    };
    json!({
        "party": repository.party,
        "site": repository.site,
        "repository": repository.repository,
        "offered": repository.offered,
        "indexes": repository.indexes.iter().map(index).collect::<Value>(),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
