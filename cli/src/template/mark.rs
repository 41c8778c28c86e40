//! `cognate template mark`: marks the common parts of a cluster's documents, the frame on which it rests, or single tags.

use clap::Args;
use cognate_proto::name::ScanId;
use cognate_proto::v1;
use cognate_similarity::Containment;

use super::{object, template_bytes};
use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg};
use crate::operator::members::{TableFormat, print, print_value};
use crate::scan::find_result;
use cognate_export::human::{bytes, count};

/// Marks the common parts of a cluster's documents, the frame on which it rests, or single tags.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate template mark 3f2a91c0
  cognate template mark latest 3f2a91c0 --share 0.9 --note \"licence header\"
  cognate template mark latest 3f2a91c0 --frame
  cognate template mark --scan latest --tag 0f343b0931126a20f133d67c2b018a3b")]
pub(super) struct MarkArgs {
    /// A cluster of the latest scan that has it, or a scan and its cluster: ids or the beginnings of them
    #[arg(value_name = "[SCAN] CLUSTER", num_args = 0..=2)]
    words: Vec<String>,
    /// Scan of the cluster or the tags: its id, the beginning of it, or `latest`
    #[arg(long, value_name = "SCAN")]
    scan: Option<String>,
    /// Mark the tags that this share of the cluster's documents contain, above 0 and at most 1
    #[arg(long, value_name = "X", default_value = "1")]
    share: Containment,
    /// Mark the frame on which links of the cluster rest, as the scan found it
    #[arg(long, conflicts_with_all = ["share", "tags"])]
    frame: bool,
    /// Mark this tag: 32 hexadecimal digits, as in the output of `fingerprint` and in reports; repeatable
    #[arg(long = "tag", value_name = "TAG", value_parser = tag)]
    tags: Vec<[u8; 16]>,
    /// Note for other operators
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

/// Runs the command.
pub(super) async fn run(arg: &OperatorArg, args: &MarkArgs) -> anyhow::Result<Exit> {
    let (scan, cluster) = match (&args.words[..], &args.scan) {
        ([], _) if args.tags.is_empty() => return Err(usage("name a cluster, or tags with --tag TAG")),
        // A tag does not name its method: a scan does.
        ([], scan) => (Some(scan.as_deref().unwrap_or("latest")), ""),
        (_, _) if !args.tags.is_empty() => return Err(usage("either a cluster or --tag, not both")),
        ([cluster], scan) => (scan.as_deref(), cluster.as_str()),
        ([scan, cluster], None) => (Some(scan.as_str()), cluster.as_str()),
        _ => return Err(usage("the scan is named twice")),
    };
    let operator = Operator::open(arg).await?;
    let scan = match scan {
        None => ScanId(0),
        Some(words) => find_result(&operator, words).await?,
    };
    let request = v1::MarkTemplateRequest {
        scan: scan.0,
        cluster: cluster.to_owned(),
        share: args.share.to_string(),
        tags: args.tags.concat(),
        rows: Vec::new(),
        note: args.note.clone(),
        frame: args.frame,
    };
    let template = mark(&operator, &request).await?;
    match args.format {
        TableFormat::Json => print_value(&object(&template))?,
        TableFormat::Text => print(&shown(&template))?,
    }
    Ok(Exit::Complete)
}

/// Marks a template.
pub(super) async fn mark(operator: &Operator, request: &v1::MarkTemplateRequest) -> anyhow::Result<v1::Template> {
    operator
        .call(|mut client| {
            let request = request.clone();
            async move { client.mark_template(request).await }
        })
        .await
}

/// A line for people.
pub(super) fn shown(template: &v1::Template) -> String {
    let rows = match template.row_count {
        0 => String::new(),
        rows => format!(", {} rows", count(rows)),
    };
    let sum = bytes(template_bytes(template));
    format!("{}: {} tags{rows}, {sum}", ScanId(template.id), count(template.tag_count))
}

fn tag(text: &str) -> Result<[u8; 16], String> {
    let number = Some(text).filter(|text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let number = number.and_then(|text| u128::from_str_radix(text, 16).ok());
    number.map(u128::to_be_bytes).ok_or_else(|| "a tag is 32 hexadecimal digits".to_owned())
}
