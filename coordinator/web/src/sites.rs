//! Sites, their repositories and indexes; and for administrators, invitations and sites that are shut out.

use askama::Template;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{self, MemberKind, MemberStatus, Membership};

use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, see};
use cognate_export::human;

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/sites", get(list))
        .route("/sites/invite", post(invite))
        .route("/sites/party", post(name_party))
        .route("/sites/revoke", post(revoke))
        .route("/sites/forget", post(forget))
}

#[derive(Template)]
#[template(path = "sites.html")]
struct Sites {
    page: Page,
    sites: Vec<Site>,
    /// The form of an invitation, as it was filled in.
    form: Again,
    /// The form that forgets a site, if something was wrong with it.
    forgetting: Again,
}

struct Site {
    name: String,
    party: String,
    party_full_name: String,
    state: &'static str,
    is_revoked: bool,
    last_heard: i64,
    expires: i64,
    software: String,
    key_words: String,
    clock_skew_seconds: i64,
    repositories: Vec<Repository>,
}

struct Repository {
    name: String,
    offered: bool,
    indexes: Vec<Index>,
}

struct Index {
    method: String,
    keyed: bool,
    documents: u64,
    size_bytes: u64,
    stored_bytes: u64,
    sealed: i64,
    /// True if it contains only the scope of a refinement.
    is_part: bool,
}

/// The state of a site, in a word.
pub(crate) fn state(member: &v1::Member) -> &'static str {
    match member.status() {
        MemberStatus::Revoked => "revoked",
        MemberStatus::Invited | MemberStatus::Unspecified => "invited",
        MemberStatus::Active if member.attached && member.paused => "paused",
        MemberStatus::Active if member.attached => "attached",
        MemberStatus::Active => "away",
    }
}

async fn list(person: Person) -> Shown {
    shown(&person, Again::default(), Again::default()).await
}

async fn shown(person: &Person, form: Again, forgetting: Again) -> Shown {
    let service = &person.pages.service;
    let kind = MemberKind::Site.into();
    let members = service.list_members(person.ask("ListMembers", v1::ListMembersRequest { kind })?).await?.into_inner();
    let repositories = service.list_repositories(person.ask("ListRepositories", v1::ListRepositoriesRequest {})?);
    let repositories = repositories.await?.into_inner().repositories;
    let sites = members.members.into_iter().map(|member| site(member, &repositories)).collect();
    let page = Sites { page: person.page("sites"), sites, form, forgetting };
    page.forgetting.answered(page.form.answered(html(&page)))
}

fn site(member: v1::Member, repositories: &[v1::Repository]) -> Site {
    let membership = member.membership.clone().unwrap_or_default();
    let own = repositories.iter().filter(|repository| repository.site == membership.name);
    Site {
        state: state(&member),
        is_revoked: member.status() == MemberStatus::Revoked,
        last_heard: member.last_heard,
        expires: member.expires,
        software: member.software,
        key_words: member.key_words,
        clock_skew_seconds: member.clock_skew_seconds,
        repositories: own.map(repository).collect(),
        name: membership.name,
        party: membership.party,
        party_full_name: member.party_full_name,
    }
}

fn repository(repository: &v1::Repository) -> Repository {
    let index = |index: &v1::RepositoryIndex| Index {
        method: method(index.method.as_ref()),
        keyed: index.keyed,
        documents: index.documents,
        size_bytes: index.size_bytes,
        stored_bytes: index.stored_bytes,
        sealed: index.sealed,
        is_part: !index.scope.is_empty(),
    };
    Repository {
        name: repository.repository.clone(),
        offered: repository.offered,
        indexes: repository.indexes.iter().map(index).collect(),
    }
}

/// A method with its parameters, in the words of people.
pub(crate) fn method(method: Option<&v1::MethodSpec>) -> String {
    method.map_or_else(String::new, cognate_export::human::method_of)
}

async fn invite(person: Person, fields: Fields) -> Shown {
    match invited(&person, &fields).await {
        Ok(()) => see("/sites"),
        Err(error) => {
            shown(&person, Again::of(fields, error, &["name", "party", "full_name"])?, Again::default()).await
        }
    }
}

async fn invited(person: &Person, fields: &Fields) -> Result<(), PageError> {
    let membership = Membership {
        kind: MemberKind::Site.into(),
        name: fields.needed("name")?.to_owned(),
        party: fields.text("party").unwrap_or_default().to_owned(),
        ..Membership::default()
    };
    let (site, party, service) = (membership.name.clone(), membership.party.clone(), &person.pages.service);
    let party = if party.is_empty() { "home".to_owned() } else { party };
    let request = v1::InviteRequest { membership: Some(membership), valid_seconds: 0 };
    let answer = service.invite(person.ask("Invite", request)?).await?.into_inner();
    if let Some(full_name) = fields.text("full_name") {
        party_named(person, party, full_name.to_owned()).await?;
    }
    let text = format!(
        "The invitation of {site} holds for a day and one enrolment. Hand this command over by a way that only the site's \
         people read; it is not shown again."
    );
    person.say_with(text, Some(format!("echo {} | cognate worker enroll - --config worker.toml", answer.line)));
    Ok(())
}

/// Gives a party its full name.
async fn name_party(person: Person, fields: Fields) -> Shown {
    let (party, full_name) =
        (fields.needed("party")?.to_owned(), fields.text("full_name").unwrap_or_default().to_owned());
    party_named(&person, party.clone(), full_name.clone()).await?;
    person.say(match full_name.as_str() {
        "" => format!("Party {party} has no full name any more."),
        name => format!("Party {party} is “{name}” in full."),
    });
    see("/sites")
}

async fn party_named(person: &Person, party: String, full_name: String) -> Result<(), PageError> {
    let request = person.ask("NameParty", v1::NamePartyRequest { party, full_name })?;
    person.pages.service.name_party(request).await?;
    Ok(())
}

async fn revoke(person: Person, fields: Fields) -> Shown {
    let name = fields.needed("name")?.to_owned();
    let request = v1::RevokeRequest { kind: MemberKind::Site.into(), name: name.clone() };
    person.pages.service.revoke(person.ask("Revoke", request)?).await?;
    person.say(format!("{name} is shut out. Its indexes are still here: “Forget it” erases them."));
    see("/sites")
}

async fn forget(person: Person, fields: Fields) -> Shown {
    match forgotten(&person, &fields).await {
        Ok(()) => see("/sites"),
        // There is no form of a site that is not there.
        Err(error) if error.status == StatusCode::NOT_FOUND => Err(error),
        Err(error) => shown(&person, Again::default(), Again::of(fields, error, &["again"])?).await,
    }
}

/// Erases a site and all that it sent. The form must repeat its name.
async fn forgotten(person: &Person, fields: &Fields) -> Result<(), PageError> {
    let name = fields.needed("name")?.to_owned();
    if fields.text("again") != Some(&name) {
        return Err(PageError::invalid(format!("`again`: this is not `{name}`, so nothing was erased")));
    }
    let request = person.ask("ForgetSite", v1::ForgetSiteRequest { site: name.clone() })?;
    let erased = person.pages.service.forget_site(request).await?.into_inner();
    person.say(format!(
        "{name} is forgotten: {} of {} documents were erased, and {} that named them.",
        human::bytes(erased.bytes),
        human::count(erased.documents),
        match erased.scans.len() {
            1 => "1 result".to_owned(),
            count => format!("{count} results"),
        }
    ));
    Ok(())
}
