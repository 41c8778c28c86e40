//! `cognate template suggest`: suggests boilerplate to mark, and asks before marking it.

use std::io::IsTerminal as _;

use clap::Args;
use cognate_proto::name::one_line;
use cognate_proto::v1::{self, TemplateSuggestion};
use serde_json::{Value, json};

use super::mark::{mark, shown};
use super::{rows, tags};
use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg, refusal};
use crate::operator::members::{TableFormat, print, print_json};
use crate::scan::find_result;
use crate::tell;
use cognate_export::human::{bytes, count};
use cognate_export::table::table;
use cognate_storage::template::split_rows;

/// Suggests boilerplate to mark.
///
/// First come the frames that the scan found: what many otherwise different documents contain, down to 28 bytes, and links rest on.
/// Then the coordinator analyses the current indexes of the scan twice, with existing templates: once with all other tags, and
/// once without the tags that many otherwise different documents contain. It suggests the common parts of those links
/// that disappear in the second analysis. Nothing is marked without --accept.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate template suggest latest
  cognate template suggest latest --until-quiet --accept
  cognate template suggest 3f2a --format json")]
pub(super) struct SuggestArgs {
    /// Scan: its id, the beginning of it, or `latest`
    scan: String,
    /// Repeat as if the suggestions were marked, until there are no more
    #[arg(long)]
    until_quiet: bool,
    /// Suggest only parts that at least this many otherwise different documents contain
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..))]
    min_documents: u32,
    /// Mark all suggestions, after asking
    #[arg(long)]
    accept: bool,
    /// Do not ask
    #[arg(long, short, requires = "accept")]
    yes: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

/// Runs the command.
pub(super) async fn run(arg: &OperatorArg, args: &SuggestArgs) -> anyhow::Result<Exit> {
    let on_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if args.accept && !args.yes && !on_terminal {
        return Err(usage("without a terminal, confirm with --yes"));
    }
    let operator = Operator::open(arg).await?;
    let scan = find_result(&operator, &args.scan).await?;
    let request =
        v1::SuggestTemplatesRequest { scan: scan.0, until_quiet: args.until_quiet, min_documents: args.min_documents };
    let suggestions = suggestions(&operator, request).await?;
    match args.format {
        TableFormat::Json => print_json(&suggestions.iter().map(object).collect::<Value>())?,
        TableFormat::Text if suggestions.is_empty() => tell!("no suggestions"),
        TableFormat::Text => print(&text(&suggestions))?,
    }
    if !args.accept || suggestions.is_empty() || !(args.yes || confirmed(suggestions.len())?) {
        return Ok(Exit::Complete);
    }
    for TemplateSuggestion { cluster, tags, rows, examples, .. } in suggestions {
        let first = examples.first().map(|example| one_line(example)).unwrap_or_default();
        let note = format!("suggested: cluster {cluster}, {first}").chars().take(200).collect();
        // The analysis of the suggestion may have left no result, so the note names its cluster.
        let request = v1::MarkTemplateRequest { scan: scan.0, tags, rows, note, ..v1::MarkTemplateRequest::default() };
        let template = mark(&operator, &request).await?;
        tell!("cognate: marked {}", shown(&template));
    }
    Ok(Exit::Complete)
}

/// Collects all suggestions.
async fn suggestions(
    operator: &Operator,
    request: v1::SuggestTemplatesRequest,
) -> anyhow::Result<Vec<TemplateSuggestion>> {
    let mut suggested = operator.call(|mut client| async move { client.suggest_templates(request).await }).await?;
    let mut suggestions = Vec::new();
    while let Some(answer) = suggested.message().await.map_err(|status| refusal(&status))? {
        suggestions.extend(answer.suggestion);
    }
    Ok(suggestions)
}

fn confirmed(suggestions: usize) -> anyhow::Result<bool> {
    tell::ask(format_args!("Mark {suggestions}? [y/N] "))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn text(suggestions: &[TemplateSuggestion]) -> String {
    let headings = [
        "CLUSTER",
        " TAGS",
        " ROWS",
        " BYTES",
        " DOCUMENTS",
        " THEIR BYTES",
        " NOTHING ELSE",
        " LINKS",
        " HOLLOW",
        " CLUSTERS GONE",
        " CHANGED",
        "FOR EXAMPLE",
    ];
    // Further examples are on lines of their own, below the first.
    let rows = |one: &TemplateSuggestion| {
        let mut examples = one.examples.iter().map(|example| one_line(example));
        let first = vec![
            one_line(&one.cluster).chars().take(8).collect(),
            count(one.lengths.len() as u64),
            count(split_rows(&one.rows).count() as u64),
            bytes(suggested_bytes(one)),
            count(one.documents),
            bytes(one.document_bytes),
            count(one.emptied),
            count(one.links_gone),
            count(one.links_hollow),
            count(one.clusters_gone),
            count(one.clusters_changed),
            examples.next().unwrap_or_default(),
        ];
        let further = |example| {
            let mut row = vec![String::new(); headings.len()];
            row[headings.len() - 1] = example;
            row
        };
        std::iter::once(first).chain(examples.map(further)).collect::<Vec<_>>()
    };
    let note = "  (nothing else: documents that would be all template · links, clusters: what would be gone · hollow: links of \
                which nothing is left that comes near to one)";
    format!("{}\n{note}", table(&headings, suggestions.iter().flat_map(rows)))
}

/// The bytes of a suggestion: of its chunks or of its rows, whichever are more, since the rows of a frame cover its chunks as well.
fn suggested_bytes(suggestion: &TemplateSuggestion) -> u64 {
    let of_rows: u64 = split_rows(&suggestion.rows).map(|row| row.first_bytes()).sum();
    suggestion.lengths.iter().copied().map(u64::from).sum::<u64>().max(of_rows)
}

fn object(suggestion: &TemplateSuggestion) -> Value {
    json!({
        "round": suggestion.round,
        "cluster": suggestion.cluster,
        "documents": suggestion.documents,
        "document_bytes": suggestion.document_bytes,
        "documents_emptied": suggestion.emptied,
        "links_gone": suggestion.links_gone,
        "links_hollow": suggestion.links_hollow,
        "clusters_gone": suggestion.clusters_gone,
        "clusters_changed": suggestion.clusters_changed,
        "examples": suggestion.examples,
        "bytes": suggested_bytes(suggestion),
        "tags": tags(&suggestion.tags, &suggestion.lengths),
        "rows": rows(&suggestion.rows),
    })
}
