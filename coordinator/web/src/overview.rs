//! The first page: the sites and their state, and the last scans. The example of how a page is made.

use askama::Template;
use axum::Router;
use axum::routing::get;
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{self, MemberKind, ScanStatus};

use crate::find::Ways;
use crate::{Page, Pages, Person, Shown, filters, html};

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/", get(overview))
}

/// Scans that are shown.
const SCANS: usize = 8;

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    page: Page,
    sites: Vec<SiteRow>,
    scans: Vec<crate::scans::ScanRow>,
    state: v1::CoordinatorState,
    attached: u64,
    documents: u64,
    size_bytes: u64,
    stored_bytes: u64,
    running: u64,
    /// What the browser can search for, and whether the person may.
    ways: Ways,
    has_find: bool,
}

impl Overview {
    /// Describes the files of a kind in a few words.
    fn holds(&self, kind: &str) -> &'static str {
        match kind {
            "segments" => "what the sites sent",
            "runs" => "the same, sorted for comparison",
            "results" => "of scans",
            "store" => "members, scans, verdicts",
            "journal" => "all that happened, for the audit log",
            "damaged" => "quarantined; the sites send it again",
            _ => "",
        }
    }
}

/// A site in a line.
struct SiteRow {
    name: String,
    party: String,
    state: &'static str,
    last_heard: i64,
    repositories: u64,
    documents: u64,
    size_bytes: u64,
    /// The time of its last sealed index.
    sealed: i64,
    /// Problems that need attention.
    warnings: Vec<String>,
}

async fn overview(person: Person) -> Shown {
    let service = &person.pages.service;
    let kind = MemberKind::Site.into();
    let members = service.list_members(person.ask("ListMembers", v1::ListMembersRequest { kind })?).await?.into_inner();
    let repositories = service.list_repositories(person.ask("ListRepositories", v1::ListRepositoriesRequest {})?);
    let repositories = repositories.await?.into_inner().repositories;
    let scans = service.list_scans(person.ask("ListScans", v1::ListScansRequest {})?).await?.into_inner().scans;
    let state = service.show_coordinator(person.ask("ShowCoordinator", v1::ShowCoordinatorRequest {})?);
    let state = state.await?.into_inner();
    let sites: Vec<SiteRow> = members.members.iter().map(|member| site(member, &repositories)).collect();
    let is_running = |scan: &&v1::ScanState| matches!(scan.status(), ScanStatus::Syncing | ScanStatus::Analysing);
    let ways = Ways::of(&repositories);
    html(&Overview {
        has_find: person.may("Find").is_ok() && (ways.keyed || !ways.json.is_empty()),
        ways,
        attached: sites.iter().filter(|site| site.state == "attached").count() as u64,
        documents: sites.iter().map(|site| site.documents).sum(),
        size_bytes: sites.iter().map(|site| site.size_bytes).sum(),
        stored_bytes: state.space.iter().map(|row| row.bytes).sum(),
        running: scans.iter().filter(is_running).count() as u64,
        scans: scans.iter().take(SCANS).map(crate::scans::ScanRow::of).collect(),
        sites,
        state,
        page: person.page("overview"),
    })
}

fn site(member: &v1::Member, repositories: &[v1::Repository]) -> SiteRow {
    let membership = member.membership.clone().unwrap_or_default();
    let own = || repositories.iter().filter(|repository| repository.site == membership.name);
    // If a repository has several indexes, the largest one gives its size.
    let largest = |value: fn(&v1::RepositoryIndex) -> u64| {
        own().map(|repository| repository.indexes.iter().map(value).max().unwrap_or_default()).sum()
    };
    let sealed = own().flat_map(|repository| &repository.indexes).map(|index| index.sealed).max().unwrap_or_default();
    let mut warnings = Vec::new();
    if member.clock_skew_seconds.unsigned_abs() > 300 {
        warnings.push(format!("its clock is {} seconds off", member.clock_skew_seconds));
    }
    SiteRow {
        state: crate::sites::state(member),
        last_heard: member.last_heard,
        repositories: own().count() as u64,
        documents: largest(|index| index.documents),
        size_bytes: largest(|index| index.size_bytes),
        sealed,
        warnings,
        name: membership.name,
        party: match member.party_full_name.is_empty() {
            // Where there is one party, it needs no name.
            true if membership.party == "home" => String::new(),
            true => membership.party,
            false => member.party_full_name.clone(),
        },
    }
}
