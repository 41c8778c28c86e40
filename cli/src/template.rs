//! `cognate template`: boilerplate that later scans ignore.

mod mark;
mod suggest;

use clap::{Args, Subcommand};
use cognate_proto::name::{ScanId, one_line};
use cognate_proto::v1;
use cognate_similarity::frame::ROW_BYTES;
use serde_json::{Value, json};

use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg, block_on, refusal};
use crate::operator::members::{TableFormat, print, print_json, time};
use cognate_export::human::{bytes, count};
use cognate_export::table::table;

/// Marks boilerplate (licence headers, page frames), so that later scans compare only the rest.
///
/// A template has the tags of complete chunks, and rows of fine chunks: four that follow each other, about 28 bytes.
/// Marks apply from the next scan on, under the method of the scan that they come from. No document is read or sent
/// again: `scan launch --no-sync` is enough.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate template suggest latest
  cognate template mark latest 3f2a91c0 --note \"licence header\"
  cognate template mark 3f2a91c0 --share 0.9
  cognate template mark latest 3f2a91c0 --frame
  cognate template list
  cognate template unmark 91c0")]
pub(crate) struct TemplateArgs {
    #[command(subcommand)]
    command: TemplateCommand,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Subcommand, Debug)]
enum TemplateCommand {
    /// Mark the common parts of a cluster's documents, the frame on which it rests, or single tags
    Mark(mark::MarkArgs),
    /// Remove a template: its tags count again
    #[command(after_help = "Example:\n  cognate template unmark 91c0")]
    Unmark {
        /// A template: its id, or the beginning of it
        template: String,
    },
    /// List templates, latest first
    #[command(after_help = "Example:\n  cognate template list --format json")]
    List {
        /// Show removed templates too
        #[arg(long)]
        all: bool,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Suggest boilerplate to mark, by a new analysis; marks nothing without --accept
    Suggest(suggest::SuggestArgs),
}

/// Runs the command.
pub(crate) fn run(args: &TemplateArgs) -> anyhow::Result<Exit> {
    let operator = &args.operator;
    match &args.command {
        TemplateCommand::Mark(args) => block_on(mark::run(operator, args)),
        TemplateCommand::Unmark { template } => block_on(unmark(operator, template)),
        TemplateCommand::List { all, format } => block_on(list(operator, *all, *format)),
        TemplateCommand::Suggest(args) => block_on(suggest::run(operator, args)),
    }
}

async fn unmark(arg: &OperatorArg, words: &str) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let templates = fetch(&operator, false).await?;
    let words = one_line(words).to_ascii_lowercase();
    let found: Vec<u64> =
        templates.iter().map(|row| row.id).filter(|id| ScanId(*id).to_string().starts_with(&words)).collect();
    let id = match found[..] {
        [id] if !words.is_empty() => id,
        [] => return Err(usage(format!("no template `{words}`: `cognate template list` shows all templates"))),
        _ => return Err(usage(format!("more than one template begins with `{words}`: type more of it"))),
    };
    let request = v1::UnmarkTemplateRequest { id };
    operator.call(|mut client| async move { client.unmark_template(request).await }).await?;
    print(&ScanId(id).to_string())?;
    Ok(Exit::Complete)
}

async fn list(arg: &OperatorArg, all: bool, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let templates = fetch(&operator, all).await?;
    match format {
        TableFormat::Json => print_json(&templates.iter().map(object).collect::<Value>())?,
        TableFormat::Text if templates.is_empty() => {
            tell!("no templates: `cognate template suggest latest` suggests some");
        }
        TableFormat::Text => {
            let headings =
                ["TEMPLATE", " TAGS", " ROWS", " BYTES", "METHOD", "SCAN", "CLUSTER", "BY", "MARKED", "NOTE"];
            print(&table(&headings, templates.iter().map(row)))?;
        }
    }
    Ok(Exit::Complete)
}

/// All templates, one message for each.
async fn fetch(operator: &Operator, all: bool) -> anyhow::Result<Vec<v1::Template>> {
    let request = v1::ListTemplatesRequest { all };
    let mut rows = operator.call(|mut client| async move { client.list_templates(request).await }).await?;
    let mut templates = Vec::new();
    while let Some(template) = rows.message().await.map_err(|status| refusal(&status))? {
        templates.push(template);
    }
    Ok(templates)
}

fn row(template: &v1::Template) -> Vec<String> {
    let note = match template.unmarked {
        0 => one_line(&template.note),
        taken_back => format!("taken back {} by {}", time(taken_back), one_line(&template.unmarked_by)),
    };
    let origin = |known: bool, name: String| if known { name } else { "–".to_owned() };
    vec![
        ScanId(template.id).to_string(),
        count(template.tag_count),
        count(template.row_count),
        bytes(template_bytes(template)),
        template.method.as_ref().map(method).unwrap_or_default(),
        origin(template.scan != 0, ScanId(template.scan).to_string()),
        origin(!template.cluster.is_empty(), one_line(&template.cluster).chars().take(8).collect()),
        one_line(&template.marked_by),
        time(template.marked),
        note,
    ]
}

fn method(method: &v1::MethodSpec) -> String {
    format!("{} {} {}", one_line(&method.name), one_line(&method.view), method.chunk_bytes)
}

/// A template for programs.
fn object(template: &v1::Template) -> Value {
    let method = template.method.clone().unwrap_or_default();
    json!({
        "id": ScanId(template.id).to_string(),
        "note": template.note,
        "method": method.name,
        "view": method.view,
        "chunk_bytes": method.chunk_bytes,
        "method_id": hex(&method.method_id),
        "scan": (template.scan != 0).then(|| ScanId(template.scan).to_string()),
        "cluster": (!template.cluster.is_empty()).then_some(&template.cluster),
        "marked_by": template.marked_by,
        "marked": time(template.marked),
        "unmarked_by": (template.unmarked != 0).then_some(&template.unmarked_by),
        "unmarked": (template.unmarked != 0).then(|| time(template.unmarked)),
        "bytes": template_bytes(template),
        "tags": tags(&template.tags, &template.lengths),
        "rows": rows(&template.rows),
    })
}

/// The bytes of a template: of its chunks or of its rows, whichever are more, since the rows of a frame cover its chunks as well.
fn template_bytes(template: &v1::Template) -> u64 {
    template.tag_bytes.max(template.row_bytes)
}

/// Rows of fine chunks for programs.
fn rows(rows: &[u8]) -> Value {
    rows.chunks_exact(ROW_BYTES).map(hex).collect()
}

/// Tags for programs, each with its length.
fn tags(tags: &[u8], lengths: &[u32]) -> Value {
    let pairs = tags.chunks_exact(16).zip(lengths);
    pairs.map(|(tag, length_bytes)| json!({"tag": hex(tag), "length_bytes": length_bytes})).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
