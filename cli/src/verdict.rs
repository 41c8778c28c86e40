//! `cognate verdict`: decisions of people about results.

mod about;
mod label;

use clap::{Args, Subcommand, ValueEnum};
use cognate_proto::name::{ScanId, one_line};
use cognate_proto::path::printable;
use cognate_proto::v1::{self, SubjectKind};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::operator::client::{Operator, OperatorArg, block_on, refusal};
use crate::operator::members::{TableFormat, print, print_json, time};
use crate::scan::find_result;

use self::about::AboutArgs;
use cognate_export::human::count;
use cognate_export::table::table;
use cognate_storage::verdict::change_words;

/// Decides about clusters, identical sets and documents: duplicate, not-a-duplicate, intentional, keep, done.
///
/// A verdict holds in later scans as long as its subject has the same contents; otherwise it is listed as changed, with
/// the reason. Each decision is stored with its author and time, and can be undone.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate verdict set latest duplicate 3f2a91c0 77aa01
  cognate verdict set latest intentional --filter \"site=paris&least=95\" --note \"mirrored\"
  cognate verdict set latest keep --document paris/kb:plans/2026.docx
  cognate verdict label latest 3f2a91c0 --tag privileged --assign anna
  cognate verdict list latest
  cognate verdict undo")]
pub(crate) struct VerdictArgs {
    #[command(subcommand)]
    command: VerdictCommand,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Subcommand, Debug)]
enum VerdictCommand {
    /// Decide about clusters, sets or documents of a scan, or about all clusters that a filter selects
    #[command(after_help = "Examples:
  cognate verdict set latest done 3f2a91c0
  cognate verdict set latest duplicate --filter \"across=1&least=95&path=*.docx\"
  cognate verdict set latest done --all --expected 120

A filter is the part of the address of the list of clusters after the `?`.")]
    Set(SetArgs),
    /// Give clusters tags, or a person who is to look at them
    #[command(after_help = "Examples:
  cognate verdict label latest 3f2a91c0 --tag privileged --tag to-show
  cognate verdict label latest --filter \"path=*/legal/*\" --assign anna
  cognate verdict label latest 3f2a91c0 --untag to-show --assign \"\"")]
    Label(label::LabelArgs),
    /// List the verdicts that hold for a scan, and those that have changed, and the labels of clusters
    #[command(after_help = "Examples:
  cognate verdict list latest --verdict changed
  cognate verdict list --history --format json")]
    List(ListArgs),
    /// Undo a decision: your latest, or the one with this number
    #[command(after_help = "Example:\n  cognate verdict undo 17")]
    Undo {
        /// Number of the decision, from `set` or `list --history`
        action: Option<u64>,
    },
}

#[derive(Args, Debug)]
struct SetArgs {
    /// Scan: its id, the beginning of it, or `latest`
    scan: String,
    /// The decision
    #[arg(value_enum)]
    verdict: Word,
    /// An identical set, by its id; repeatable
    #[arg(long = "set", value_name = "ID", conflicts_with_all = ["filter", "all"])]
    sets: Vec<String>,
    /// A document; repeatable
    #[arg(long = "document", value_name = "SITE/REPOSITORY:PATH", value_parser = document, conflicts_with_all = ["filter", "all"])]
    documents: Vec<v1::Subject>,
    #[command(flatten)]
    about: AboutArgs,
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Scan: its id, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    scan: String,
    /// List all decisions and undone decisions, over all scans
    #[arg(long)]
    history: bool,
    /// Only these verdicts, or those that have changed
    #[arg(long, value_enum, conflicts_with = "history")]
    verdict: Option<Word>,
    /// Only verdicts whose subject has changed
    #[arg(long, conflicts_with = "history")]
    changed: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

/// The decisions.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Duplicate,
    NotADuplicate,
    Intentional,
    Keep,
    Done,
}

impl Word {
    fn verdict(self) -> v1::Verdict {
        match self {
            Word::Duplicate => v1::Verdict::Duplicate,
            Word::NotADuplicate => v1::Verdict::NotADuplicate,
            Word::Intentional => v1::Verdict::Intentional,
            Word::Keep => v1::Verdict::Keep,
            Word::Done => v1::Verdict::Done,
        }
    }
}

/// Parses a verdict as people write it.
pub(crate) fn word(verdict: v1::Verdict) -> &'static str {
    match verdict {
        v1::Verdict::Duplicate => "duplicate",
        v1::Verdict::NotADuplicate => "not-a-duplicate",
        v1::Verdict::Intentional => "intentional",
        v1::Verdict::Keep => "keep",
        v1::Verdict::Done => "done",
        v1::Verdict::Unspecified => "unspecified",
    }
}

/// Runs the command.
pub(crate) fn run(args: &VerdictArgs) -> anyhow::Result<Exit> {
    let operator = &args.operator;
    match &args.command {
        VerdictCommand::Set(args) => block_on(set(operator, args)),
        VerdictCommand::Label(args) => block_on(label::run(operator, args)),
        VerdictCommand::List(args) if args.history => block_on(history(operator, args.format)),
        VerdictCommand::List(args) => block_on(list(operator, args)),
        VerdictCommand::Undo { action } => block_on(undo(operator, *action)),
    }
}

async fn set(arg: &OperatorArg, args: &SetArgs) -> anyhow::Result<Exit> {
    let set = |id: &String| v1::Subject {
        kind: SubjectKind::Identical.into(),
        id: id.to_ascii_lowercase(),
        ..v1::Subject::default()
    };
    let mut others: Vec<v1::Subject> = args.sets.iter().map(set).collect();
    others.extend(args.documents.iter().cloned());
    let needed = "name the subject: clusters, --set, --document, --filter or --all";
    args.about.decide(arg, &args.scan, (args.verdict.verdict(), None), others, needed).await
}

async fn undo(arg: &OperatorArg, action: Option<u64>) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let request = v1::UndoVerdictsRequest { action: action.unwrap_or(0) };
    let done = operator.call(|mut client| async move { client.undo_verdicts(request).await }).await?;
    print(&format!("{}: {} taken back", done.action, count(done.subjects)))?;
    Ok(Exit::Complete)
}

/// The results of blind samples of a scan's links.
pub(crate) async fn samples(operator: &Operator, scan: ScanId) -> anyhow::Result<Vec<v1::SampleState>> {
    let request = v1::ShowReviewRequest { scan: scan.0 };
    Ok(operator.call(|mut client| async move { client.show_review(request).await }).await?.samples)
}

/// Lists the verdicts that hold for a scan.
pub(crate) async fn states(operator: &Operator, scan: ScanId) -> anyhow::Result<Vec<v1::VerdictState>> {
    let request = v1::ListVerdictsRequest { scan: scan.0 };
    let mut rows = operator.call(|mut client| async move { client.list_verdicts(request).await }).await?;
    let mut states = Vec::new();
    while let Some(state) = rows.message().await.map_err(|status| refusal(&status))? {
        states.push(state);
    }
    Ok(states)
}

async fn list(arg: &OperatorArg, args: &ListArgs) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let mut states = states(&operator, find_result(&operator, &args.scan).await?).await?;
    if let Some(wanted) = args.verdict {
        states.retain(|state| state.verdict() == wanted.verdict() && (args.changed || state.changed.is_empty()));
    }
    if args.changed {
        states.retain(|state| !state.changed.is_empty());
    }
    match args.format {
        TableFormat::Json => print_json(&states.iter().map(object).collect::<Value>())?,
        TableFormat::Text if states.is_empty() => tell!("no verdicts for this scan"),
        TableFormat::Text => {
            let headings = ["KIND", "ABOUT", "VERDICT", "CHANGED", "BY", "WHEN", "ACTION", "LABELS", "NOTE"];
            print(&table(&headings, states.iter().map(row)))?;
        }
    }
    Ok(Exit::Complete)
}

fn kind(subject: &v1::Subject) -> &'static str {
    match subject.kind() {
        SubjectKind::Cluster => "cluster",
        SubjectKind::Identical => "identical",
        SubjectKind::Document => "document",
        SubjectKind::Unspecified => "",
    }
}

fn row(state: &v1::VerdictState) -> Vec<String> {
    let subject = state.subject.clone().unwrap_or_default();
    let about = match subject.kind() {
        SubjectKind::Document => {
            let (site, repository) = (one_line(&subject.site), one_line(&subject.repository));
            format!("{site}/{repository}: {}", printable(&subject.path))
        }
        _ => one_line(&subject.id),
    };
    let changed = if state.changed.is_empty() { "–".to_owned() } else { one_line(&state.changed) };
    let is_decided = state.verdict() != v1::Verdict::Unspecified;
    let decided = |text: String| if is_decided { text } else { "–".to_owned() };
    vec![
        kind(&subject).to_owned(),
        about,
        decided(word(state.verdict()).to_owned()),
        changed,
        decided(one_line(&state.by)),
        decided(time(state.time)),
        decided(state.action.to_string()),
        labels(state),
        one_line(&state.note),
    ]
}

/// The labels of a cluster in words: `hot, to-show; for anna`.
fn labels(state: &v1::VerdictState) -> String {
    let mut words = vec![one_line(&state.tags.join(", "))];
    if !state.assignee.is_empty() {
        words.push(format!("for {}", one_line(&state.assignee)));
    }
    words.retain(|word| !word.is_empty());
    words.join("; ")
}

/// A verdict for programs.
fn object(state: &v1::VerdictState) -> Value {
    let subject = state.subject.clone().unwrap_or_default();
    let mut object = json!({
        "kind": kind(&subject),
        "verdict": (state.verdict() != v1::Verdict::Unspecified).then(|| word(state.verdict())),
        "tags": state.tags,
        "assignee": (!state.assignee.is_empty()).then_some(&state.assignee),
        "changed": (!state.changed.is_empty()).then_some(&state.changed),
        "note": state.note,
        "by": state.by,
        "time": time(state.time),
        "scan": ScanId(state.scan).to_string(),
        "action": state.action,
    });
    match subject.kind() {
        SubjectKind::Document => {
            let (path, escaped) = cognate_proto::path::escaped(&subject.path);
            object["site"] = subject.site.into();
            object["repository"] = subject.repository.into();
            object["path"] = path.into();
            if escaped {
                object["path_escaped"] = true.into();
            }
        }
        SubjectKind::Identical => {
            object["id"] = subject.id.into();
            object["tier"] = subject.view.into();
        }
        _ => {
            object["id"] = subject.id.into();
            object["view"] = subject.view.into();
        }
    }
    object
}

async fn history(arg: &OperatorArg, format: TableFormat) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let request = v1::ListVerdictActionsRequest {};
    let mut rows = operator.call(|mut client| async move { client.list_verdict_actions(request).await }).await?;
    let mut actions = Vec::new();
    while let Some(action) = rows.message().await.map_err(|status| refusal(&status))? {
        actions.push(action);
    }
    match format {
        TableFormat::Json => print_json(&actions.iter().map(action_object).collect::<Value>())?,
        TableFormat::Text if actions.is_empty() => tell!("no verdicts yet"),
        TableFormat::Text => {
            let headings = ["ACTION", "VERDICT", " ABOUT", "BY", "WHEN", "SCAN", "NOTE"];
            let rows = actions.iter().map(|action| {
                let note = match action.undone {
                    0 => one_line(&action.note),
                    undone => format!("taken back {} by {}", time(undone), one_line(&action.undone_by)),
                };
                let (by, scan) = (one_line(&action.by), ScanId(action.scan).to_string());
                let verdict = action.label.as_ref().map(change_words).map(|words| one_line(&words));
                let verdict = verdict.unwrap_or_else(|| word(action.verdict()).to_owned());
                vec![action.action.to_string(), verdict, count(action.subjects), by, time(action.time), scan, note]
            });
            print(&table(&headings, rows))?;
        }
    }
    Ok(Exit::Complete)
}

fn action_object(action: &v1::VerdictAction) -> Value {
    json!({
        "action": action.action,
        "verdict": action.label.is_none().then(|| word(action.verdict())),
        "label": action.label.as_ref().map(|change| {
            json!({"add": change.add, "remove": change.remove, "assignee": change.assignee})
        }),
        "subjects": action.subjects,
        "filter": (!action.filter.is_empty()).then_some(&action.filter),
        "note": action.note,
        "by": action.by,
        "time": time(action.time),
        "scan": ScanId(action.scan).to_string(),
        "undone_by": (action.undone != 0).then_some(&action.undone_by),
        "undone": (action.undone != 0).then(|| time(action.undone)),
    })
}

/// Parses `site/repository:path`; the repository defaults to `main`.
fn document(text: &str) -> Result<v1::Subject, String> {
    let wrong = || "a document is SITE/REPOSITORY:PATH".to_owned();
    let (place, path) = text.split_once(':').filter(|(_, path)| !path.is_empty()).ok_or_else(wrong)?;
    let (site, repository) = place.split_once('/').unwrap_or((place, "main"));
    if site.is_empty() || repository.is_empty() {
        return Err(wrong());
    }
    Ok(v1::Subject {
        kind: SubjectKind::Document.into(),
        site: site.to_owned(),
        repository: repository.to_owned(),
        path: path.trim_start_matches(' ').as_bytes().to_vec(),
        ..v1::Subject::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_named_as_reports_name_it() {
        let named = document("paris/kb: plans/2026: final.docx").unwrap();
        assert_eq!((named.site.as_str(), named.repository.as_str()), ("paris", "kb"));
        assert_eq!(named.path, b"plans/2026: final.docx");
        assert_eq!(document("paris:x").unwrap().repository, "main");
        for wrong in ["paris/kb", "paris/kb:", "/kb:x", ":x"] {
            assert!(document(wrong).is_err(), "{wrong}");
        }
    }
}
