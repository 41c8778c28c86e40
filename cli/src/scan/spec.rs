//! The repositories and options of a scan, as typed or from a profile.

use clap::{Args, Parser};
use cognate_proto::name::{RepositoryName, SiteName, one_line};
use cognate_proto::options::ScanOptions;
use cognate_proto::v1;

use crate::exit::usage;
use crate::operator::client::Operator;
use crate::options::ScanArgs;

/// Repositories and options of a scan.
#[derive(Args, Debug)]
pub(super) struct SpecArgs {
    /// Repositories, as SITE/REPOSITORY,…; SITE alone means its repository `main`
    #[arg(long, value_name = "SITE/REPOSITORY", value_delimiter = ',')]
    pub(super) repositories: Vec<String>,
    #[command(flatten)]
    pub(super) scan: ScanArgs,
}

/// Scan options with their defaults.
#[derive(Parser, Debug)]
struct Untouched {
    #[command(flatten)]
    scan: ScanArgs,
}

impl SpecArgs {
    /// The options that were typed, or those of a profile.
    pub(super) async fn options(&self, operator: &Operator, profile: Option<&str>) -> anyhow::Result<ScanOptions> {
        match profile {
            None => self.typed(),
            Some(name) => self.of_profile(operator, name).await,
        }
    }

    /// The options that were typed.
    pub(super) fn typed(&self) -> anyhow::Result<ScanOptions> {
        if self.repositories.is_empty() {
            return Err(usage(
                "name the repositories to compare: --repositories paris/kb,tokyo/kb (`cognate repo list` shows all repositories)",
            ));
        }
        self.scan.options(self.parsed()?)
    }

    /// The typed options, with these repositories if none were typed.
    pub(super) fn typed_or_over(&self, repositories: Vec<(SiteName, RepositoryName)>) -> anyhow::Result<ScanOptions> {
        if self.repositories.is_empty() { self.scan.options(repositories) } else { self.typed() }
    }

    fn parsed(&self) -> anyhow::Result<Vec<(SiteName, RepositoryName)>> {
        self.repositories.iter().map(|name| parse(name)).collect()
    }

    /// The options of a profile; typed repositories replace its own.
    async fn of_profile(&self, operator: &Operator, name: &str) -> anyhow::Result<ScanOptions> {
        let untouched = Untouched::parse_from(["cognate"]).scan;
        if format!("{untouched:?}") != format!("{:?}", self.scan) {
            return Err(usage("a profile has its own scan options: leave out either --profile or the others"));
        }
        let listed = operator.call(|mut client| async move { client.list_profiles(v1::ListProfilesRequest {}).await });
        let profile = listed.await?.profiles.into_iter().find(|profile| profile.name == name);
        let profile = profile
            .ok_or_else(|| usage(format!("no profile `{name}`: `cognate scan profile list` shows all profiles")))?;
        let named = profile.options.iter().flat_map(|options| &options.repositories);
        if let Some(other) = named.into_iter().find(|named| named.repository.is_empty()) {
            let reason = format!("profile `{name}` scans `{}`, which is another party's", one_line(&other.site));
            return Err(usage(format!("{reason}: a person who is not bound to a site or party can launch it")));
        }
        let mut options = ScanOptions::of_record(profile.options.as_ref());
        if !self.repositories.is_empty() {
            options.repositories = self.parsed()?;
        }
        options.origin = format!("profile {name}");
        Ok(options)
    }
}

fn parse(name: &str) -> anyhow::Result<(SiteName, RepositoryName)> {
    let refused =
        |error: &dyn std::fmt::Display| usage(format!("`{name}` is not a repository: {error}; type SITE/REPOSITORY"));
    let (site, repository) = name.split_once('/').unwrap_or((name, "main"));
    let site: SiteName = site.parse().map_err(|error| refused(&error))?;
    let repository: RepositoryName = repository.parse().map_err(|error| refused(&error))?;
    Ok((site, repository))
}

/// `paris/kb`, or the site alone if the repository is another party's.
pub(super) fn name(repository: &v1::RepositoryRef) -> String {
    match repository.repository.as_str() {
        "" => one_line(&repository.site),
        name => one_line(&format!("{}/{name}", repository.site)),
    }
}

/// All repositories of a scan, on one line.
pub(super) fn names(options: &v1::ScanOptions) -> String {
    options.repositories.iter().map(name).collect::<Vec<_>>().join(", ")
}
