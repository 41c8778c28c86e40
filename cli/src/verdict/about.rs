//! The clusters that a decision or a label is about, with its note: the arguments that `set` and `label` have in common.

use clap::Args;
use cognate_proto::v1::{self, SubjectKind};
use serde_json::json;

use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg};
use crate::operator::members::{TableFormat, print, print_value};
use crate::scan::find_result;
use cognate_export::human::count;

#[derive(Args, Debug)]
pub(super) struct AboutArgs {
    /// Clusters: their ids, or the beginnings of them
    clusters: Vec<String>,
    /// View of the clusters, if both views have a cluster with that id
    #[arg(long, value_parser = ["raw", "text"])]
    view: Option<String>,
    /// All clusters that this filter selects
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["clusters", "all"])]
    filter: Option<String>,
    /// All clusters
    #[arg(long, conflicts_with = "clusters")]
    all: bool,
    /// With --filter or --all: only if exactly this many clusters are selected
    #[arg(long, value_name = "N")]
    expected: Option<u64>,
    /// Note for other operators
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

impl AboutArgs {
    /// Sends a decision or a label, and prints its number. `others`: subjects that are no clusters; `needed`: what to name if
    /// there is none at all.
    pub(super) async fn decide(
        &self,
        arg: &OperatorArg,
        scan: &str,
        (verdict, label): (v1::Verdict, Option<v1::LabelChange>),
        others: Vec<v1::Subject>,
        needed: &str,
    ) -> anyhow::Result<Exit> {
        let filter = self.filter()?;
        let mut subjects = self.clusters();
        subjects.extend(others);
        if subjects.is_empty() && filter.is_empty() {
            return Err(usage(needed));
        }
        if self.expected.is_some() && filter.is_empty() {
            return Err(usage("--expected goes with --filter or --all"));
        }
        let operator = Operator::open(arg).await?;
        let what = if label.is_some() { "labelled" } else { "decided" };
        let request = v1::SetVerdictsRequest {
            scan: find_result(&operator, scan).await?.0,
            verdict: verdict.into(),
            note: self.note.clone(),
            subjects,
            filter,
            expected: self.expected,
            label,
        };
        let done = operator
            .call(|mut client| {
                let request = request.clone();
                async move { client.set_verdicts(request).await }
            })
            .await?;
        match self.format {
            TableFormat::Json => print_value(&json!({"action": done.action, "subjects": done.subjects}))?,
            TableFormat::Text => print(&format!("{}: {} {what}", done.action, count(done.subjects)))?,
        }
        Ok(Exit::Complete)
    }

    /// The filter of the clusters that are meant, or empty.
    fn filter(&self) -> anyhow::Result<String> {
        match (self.filter.as_deref(), self.all) {
            (_, true) => Ok("all".to_owned()),
            (Some(filter), _) if filter.trim().is_empty() => {
                Err(usage("--filter is empty: --all is about every cluster"))
            }
            (filter, false) => Ok(filter.unwrap_or_default().to_owned()),
        }
    }

    /// Clusters by their ids.
    fn clusters(&self) -> Vec<v1::Subject> {
        let cluster = |id: &String| v1::Subject {
            kind: SubjectKind::Cluster.into(),
            view: self.view.clone().unwrap_or_default(),
            id: id.clone(),
            ..v1::Subject::default()
        };
        self.clusters.iter().map(cluster).collect()
    }
}
