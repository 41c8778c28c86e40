//! The people of the federation: their roles, invitations, and people who are shut out. For administrators.

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{self, MemberKind, MemberStatus, Membership, Role};

use crate::person::role;
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, see};

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/people", get(list))
        .route("/people/invite", post(invite))
        .route("/people/revoke", post(revoke))
}

#[derive(Template)]
#[template(path = "people.html")]
struct People {
    page: Page,
    people: Vec<Row>,
    /// The form of an invitation, as it was filled in.
    form: Again,
}

struct Row {
    name: String,
    role: &'static str,
    bound: String,
    state: &'static str,
    expires: i64,
    key_words: String,
    is_revoked: bool,
}

async fn list(person: Person) -> Shown {
    shown(&person, Again::default()).await
}

async fn shown(person: &Person, form: Again) -> Shown {
    let request = person.ask("ListMembers", v1::ListMembersRequest { kind: MemberKind::Operator.into() })?;
    let members = person.pages.service.list_members(request).await?.into_inner().members;
    let row = |member: v1::Member| {
        let membership = member.membership.clone().unwrap_or_default();
        let bound = match (membership.site.as_str(), membership.party.as_str()) {
            ("", "") => String::new(),
            ("", party) => format!("party {party}"),
            (site, _) => format!("site {site}"),
        };
        Row {
            role: role(membership.role()),
            bound,
            state: match member.status() {
                MemberStatus::Active => "active",
                MemberStatus::Revoked => "revoked",
                _ => "invited",
            },
            is_revoked: member.status() == MemberStatus::Revoked,
            expires: member.expires,
            key_words: member.key_words,
            name: membership.name,
        }
    };
    let page = People { page: person.page("people"), people: members.into_iter().map(row).collect(), form };
    page.form.answered(html(&page))
}

async fn invite(person: Person, fields: Fields) -> Shown {
    match invited(&person, &fields).await {
        Ok(()) => see("/people"),
        Err(error) => shown(&person, Again::of(fields, error, &["name", "role", "site", "party"])?).await,
    }
}

async fn invited(person: &Person, fields: &Fields) -> Result<(), PageError> {
    let role = match fields.needed("role")? {
        "viewer" => Role::Viewer,
        "analyst" => Role::Analyst,
        "administrator" => Role::Administrator,
        _ => return Err(PageError::invalid("`role`: viewer, analyst or administrator")),
    };
    let text = |name| fields.text(name).unwrap_or_default().to_owned();
    let membership = Membership {
        kind: MemberKind::Operator.into(),
        name: fields.needed("name")?.to_owned(),
        role: role.into(),
        site: text("site"),
        party: text("party"),
    };
    let name = membership.name.clone();
    let request = v1::InviteRequest { membership: Some(membership), valid_seconds: 0 };
    let answer = person.pages.service.invite(person.ask("Invite", request)?).await?.into_inner();
    let text = format!(
        "The invitation of {name} holds for a day and one enrolment. Hand this command over by a way that only {name} reads; \
         it is not shown again."
    );
    person.say_with(text, Some(format!("echo {} | cognate operator enroll - -o operator.toml", answer.line)));
    Ok(())
}

async fn revoke(person: Person, fields: Fields) -> Shown {
    let name = fields.needed("name")?.to_owned();
    let request = v1::RevokeRequest { kind: MemberKind::Operator.into(), name: name.clone() };
    person.pages.service.revoke(person.ask("Revoke", request)?).await?;
    person.say(format!("{name} is shut out, here and on the command line."));
    see("/people")
}
