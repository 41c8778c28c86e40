//! What a scan is to do, from what was typed.

use clap::{Args, Parser};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::v1;

use crate::args::{Clusters, ScanArgs};
use crate::exit::usage;
use crate::operator::client::Operator;

/// Which repositories, and how.
#[derive(Args, Debug)]
pub(super) struct SpecArgs {
    /// The repositories, as SITE/REPOSITORY,…; SITE alone is its `main`
    #[arg(long, value_name = "SITE/REPOSITORY", value_delimiter = ',')]
    pub(super) repositories: Vec<String>,
    #[command(flatten)]
    pub(super) scan: ScanArgs,
}

/// Scan options as they are when nothing is typed.
#[derive(Parser, Debug)]
struct Untouched {
    #[command(flatten)]
    scan: ScanArgs,
}

impl SpecArgs {
    /// The specification that was typed, or that of a profile.
    pub(super) async fn spec(&self, operator: &Operator, profile: Option<&str>) -> anyhow::Result<v1::ScanSpec> {
        match profile {
            None => self.typed(),
            Some(name) => self.of_profile(operator, name).await,
        }
    }

    /// The specification that was typed.
    pub(super) fn typed(&self) -> anyhow::Result<v1::ScanSpec> {
        if self.repositories.is_empty() {
            return Err(usage(
                "say what to compare: --repositories paris/kb,tokyo/kb (`cognate repo list` shows what there is)",
            ));
        }
        let repositories = self.repositories.iter().map(|name| parse(name)).collect::<anyhow::Result<_>>()?;
        self.typed_over(repositories)
    }

    /// The specification that was typed, over these repositories where none were.
    pub(super) fn typed_or_over(&self, repositories: Vec<v1::RepositoryRef>) -> anyhow::Result<v1::ScanSpec> {
        if self.repositories.is_empty() { self.typed_over(repositories) } else { self.typed() }
    }

    fn typed_over(&self, repositories: Vec<v1::RepositoryRef>) -> anyhow::Result<v1::ScanSpec> {
        let scan = &self.scan;
        let layers = scan.layers()?;
        let first = &layers[0];
        let selection = scan.selection()?;
        let deadline_ms = |wait: std::time::Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Ok(v1::ScanSpec {
            repositories,
            method: Some((&first.method).into()),
            min_shared_bytes: first.thresholds.min_shared_bytes,
            min_containment: first.thresholds.min_containment.to_string(),
            across_only: scan.across_only,
            selection: Some((&selection).into()),
            follow_symlinks: scan.follow,
            no_sync: scan.no_sync,
            sync_deadline_ms: scan.sync_deadline.map(deadline_ms),
            // 0: what the coordinator gives.
            memory_budget_bytes: scan.memory_budget.map(|_| scan.memory_budget_bytes()).transpose()?.unwrap_or(0),
            threads: scan.threads.map_or(0, |threads| u32::try_from(threads.get()).unwrap_or(u32::MAX)),
            require_complete: scan.require_complete,
            origin: String::new(),
            refine: None,
            text: layers.get(1).map(|text| v1::TextLayer {
                method: Some((&text.method).into()),
                min_shared_bytes: text.thresholds.min_shared_bytes,
            }),
            match_message_ids: scan.match_message_ids,
            control: scan.control.clone(),
            greedy: scan.cluster == Clusters::Greedy,
        })
    }

    /// A profile says all but which repositories, and those too where none are typed.
    async fn of_profile(&self, operator: &Operator, name: &str) -> anyhow::Result<v1::ScanSpec> {
        let untouched = Untouched::parse_from(["cognate"]).scan;
        if format!("{untouched:?}") != format!("{:?}", self.scan) {
            return Err(usage("a profile has its own scan options: leave out either --profile or the others"));
        }
        let listed = operator.call(|mut client| async move { client.list_profiles(v1::ListProfilesRequest {}).await });
        let profile = listed.await?.profiles.into_iter().find(|profile| profile.name == name);
        let profile = profile
            .ok_or_else(|| usage(format!("no profile `{name}`: `cognate scan profile list` shows what there is")))?;
        let mut spec = profile.spec.unwrap_or_default();
        if !self.repositories.is_empty() {
            spec.repositories = self.repositories.iter().map(|name| parse(name)).collect::<anyhow::Result<_>>()?;
        }
        spec.origin = format!("profile {name}");
        Ok(spec)
    }
}

fn parse(name: &str) -> anyhow::Result<v1::RepositoryRef> {
    let refused =
        |error: &dyn std::fmt::Display| usage(format!("`{name}` is no repository: {error}; type SITE/REPOSITORY"));
    let (site, repository) = name.split_once('/').unwrap_or((name, "main"));
    let site: SiteName = site.parse().map_err(|error| refused(&error))?;
    let repository: RepositoryName = repository.parse().map_err(|error| refused(&error))?;
    Ok(v1::RepositoryRef { site: site.to_string(), repository: repository.to_string() })
}

/// `paris/kb`.
pub(super) fn name(repository: &v1::RepositoryRef) -> String {
    format!("{}/{}", repository.site, repository.repository)
}

/// All repositories of a specification, on one line.
pub(super) fn names(spec: &v1::ScanSpec) -> String {
    spec.repositories.iter().map(name).collect::<Vec<_>>().join(", ")
}
