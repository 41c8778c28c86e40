//! `cognate verdict label`: tags of clusters, and the people who are to look at them.

use clap::Args;
use cognate_proto::v1;

use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg};
use crate::operator::members::TableFormat;
use crate::scan::find;

#[derive(Args, Debug)]
pub(super) struct LabelArgs {
    /// Scan: its id, the beginning of it, or `latest`
    scan: String,
    /// Clusters: their ids, or the beginnings of them
    clusters: Vec<String>,
    /// View of the clusters, if both views have a cluster with that id
    #[arg(long, value_parser = ["raw", "text"])]
    view: Option<String>,
    /// Add a tag; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    add: Vec<String>,
    /// Take a tag away; repeatable
    #[arg(long = "untag", value_name = "TAG")]
    remove: Vec<String>,
    /// Person who is to look at the clusters; an empty name takes the person away
    #[arg(long, value_name = "NAME")]
    assign: Option<String>,
    /// Label all clusters that this filter selects
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["clusters", "all"])]
    filter: Option<String>,
    /// Label all clusters
    #[arg(long, conflicts_with = "clusters")]
    all: bool,
    /// With --filter or --all: label only if exactly this many clusters are selected
    #[arg(long, value_name = "N")]
    expected: Option<u64>,
    /// Note for other operators
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

/// Runs the command.
pub(super) async fn run(arg: &OperatorArg, args: &LabelArgs) -> anyhow::Result<Exit> {
    let filter = super::filter(args.filter.as_deref(), args.all)?;
    let subjects = super::clusters(&args.clusters, args.view.as_deref());
    if subjects.is_empty() && filter.is_empty() {
        return Err(usage("name the clusters, --filter or --all"));
    }
    if args.add.is_empty() && args.remove.is_empty() && args.assign.is_none() {
        return Err(usage("name a tag (--tag, --untag) or a person (--assign)"));
    }
    if args.expected.is_some() && filter.is_empty() {
        return Err(usage("--expected goes with --filter or --all"));
    }
    let operator = Operator::open(arg).await?;
    let label = v1::LabelChange { add: args.add.clone(), remove: args.remove.clone(), assignee: args.assign.clone() };
    let request = v1::SetVerdictsRequest {
        scan: find(&operator, &args.scan).await?.0,
        verdict: v1::Verdict::Unspecified.into(),
        note: args.note.clone(),
        subjects,
        filter,
        expected: args.expected,
        label: Some(label),
    };
    super::decide(&operator, request, args.format).await
}
