//! `cognate verdict label`: tags of clusters, and the people who are to look at them.

use clap::Args;
use cognate_proto::v1;

use super::about::AboutArgs;
use crate::exit::{Exit, usage};
use crate::operator::client::OperatorArg;

#[derive(Args, Debug)]
pub(super) struct LabelArgs {
    /// Scan: its id, the beginning of it, or `latest`
    scan: String,
    /// Add a tag; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    add: Vec<String>,
    /// Take a tag away; repeatable
    #[arg(long = "untag", value_name = "TAG")]
    remove: Vec<String>,
    /// Person who is to look at the clusters; an empty name takes the person away
    #[arg(long, value_name = "NAME")]
    assign: Option<String>,
    #[command(flatten)]
    about: AboutArgs,
}

/// Runs the command.
pub(super) async fn run(arg: &OperatorArg, args: &LabelArgs) -> anyhow::Result<Exit> {
    if args.add.is_empty() && args.remove.is_empty() && args.assign.is_none() {
        return Err(usage("name a tag (--tag, --untag) or a person (--assign)"));
    }
    let label = v1::LabelChange { add: args.add.clone(), remove: args.remove.clone(), assignee: args.assign.clone() };
    let change = (v1::Verdict::Unspecified, Some(label));
    args.about.decide(arg, &args.scan, change, Vec::new(), "name the clusters, --filter or --all").await
}
