//! `cognate site show`: one site, and what is wrong with it.

use cognate_proto::name::one_line;
use cognate_proto::v1::{
    ListMembersRequest, ListRepositoriesRequest, Member, MemberKind, MemberStatus, Repository, RepositoryIndex,
};
use serde_json::{Value, json};

use crate::exit::{Exit, usage};
use crate::operator::client::Operator;
use crate::operator::members::{TableFormat, print, print_json, time};
use crate::repo::index_words;
use cognate_export::human::{bytes, count};
use cognate_export::table::table;

/// A clock that is further off cannot connect for long.
const SKEW_SECONDS_MAX: i64 = 300;

/// Prints a site: first what is wrong, then its repositories with their indexes. Ends with `Incomplete` if something is wrong.
pub(super) async fn show(operator: &Operator, name: &str, format: TableFormat) -> anyhow::Result<Exit> {
    let request = ListMembersRequest { kind: MemberKind::Site.into() };
    let members = operator.call(|mut client| async move { client.list_members(request).await }).await?.members;
    let is_it = |member: &Member| member.membership.as_ref().is_some_and(|membership| membership.name == name);
    let member = members
        .into_iter()
        .find(is_it)
        .ok_or_else(|| usage(format!("no site is called `{}`: `cognate site list` lists them", one_line(name))))?;
    let listing = operator.call(|mut client| async move { client.list_repositories(ListRepositoriesRequest {}).await });
    let mut repositories = listing.await?.repositories;
    repositories.retain(|repository| repository.site == name);
    let wrong = wrong(&member, &repositories);
    match format {
        TableFormat::Json => print_json(&object(&member, &repositories, &wrong))?,
        TableFormat::Text => print(&text(&member, &repositories, &wrong))?,
    }
    Ok(if wrong.is_empty() { Exit::Complete } else { Exit::Incomplete })
}

/// The problems of a site, each with its cure.
fn wrong(member: &Member, repositories: &[Repository]) -> Vec<String> {
    let mut wrong = Vec::new();
    match member.status() {
        MemberStatus::Revoked => {
            wrong.push("it is revoked: no scan has it; `cognate site invite` lets it enrol again".to_owned());
        }
        MemberStatus::Invited | MemberStatus::Unspecified => {
            wrong.push("it has not enrolled yet: `cognate worker enroll -` at the site".to_owned());
        }
        MemberStatus::Active if !member.attached => {
            let heard = if member.last_heard == 0 { "never".to_owned() } else { time(member.last_heard) };
            wrong.push(format!("it is not attached, last heard {heard}: look at its worker"));
        }
        MemberStatus::Active if member.paused => {
            wrong.push("it is paused: `cognate worker resume` at the site".to_owned());
        }
        MemberStatus::Active => {}
    }
    if member.clock_skew_seconds.abs() > SKEW_SECONDS_MAX {
        wrong.push(format!("its clock is {} seconds off: set it", member.clock_skew_seconds));
    }
    if member.attached {
        let gone = repositories.iter().filter(|repository| !repository.offered);
        wrong.extend(gone.map(|gone| {
            format!(
                "it does not offer `{}` any more: see `[[repository]]` of its worker.toml",
                one_line(&gone.repository)
            )
        }));
    }
    wrong
}

/// The party of a site, with its name in full.
fn party(member: &Member) -> String {
    let party = member.membership.as_ref().map(|membership| one_line(&membership.party)).unwrap_or_default();
    match member.party_full_name.is_empty() {
        true => party,
        false => format!("{party} ({})", one_line(&member.party_full_name)),
    }
}

fn text(member: &Member, repositories: &[Repository], wrong: &[String]) -> String {
    let membership = member.membership.clone().unwrap_or_default();
    let health = if wrong.is_empty() { "well".to_owned() } else { wrong.join("\n              ") };
    let mut lines = vec![
        format!("Site          {}", one_line(&membership.name)),
        format!("Party         {}", party(member)),
        format!("Health        {health}"),
        format!("Last heard    {}", if member.last_heard == 0 { "never".to_owned() } else { time(member.last_heard) }),
        format!("Certificate   until {}", time(member.expires)),
        format!("Software      {}", one_line(&member.software)),
        format!("TLS key       {}", one_line(&member.key_words)),
    ];
    let rows: Vec<Vec<String>> = repositories.iter().flat_map(rows).collect();
    if rows.is_empty() {
        lines.push("It has offered no repository yet.".to_owned());
    } else {
        let headings = ["REPOSITORY", "OFFERED", "INDEX", " DOCUMENTS", " BYTES", " STORED", "COMPLETE AS OF"];
        lines.push(format!("\n{}", table(&headings, rows)));
    }
    lines.join("\n")
}

fn rows(repository: &Repository) -> Vec<Vec<String>> {
    let offered = if repository.offered { "yes" } else { "no" }.to_owned();
    let name = one_line(&repository.repository);
    if repository.indexes.is_empty() {
        let none = || "–".to_owned();
        return vec![vec![name, offered, "none yet".to_owned(), none(), none(), none(), none()]];
    }
    let row = |index: &RepositoryIndex| {
        vec![
            name.clone(),
            offered.clone(),
            index_words(index),
            count(index.documents),
            bytes(index.size_bytes),
            bytes(index.stored_bytes),
            if index.sealed == 0 { "never".to_owned() } else { time(index.sealed) },
        ]
    };
    repository.indexes.iter().map(row).collect()
}

fn object(member: &Member, repositories: &[Repository], wrong: &[String]) -> Value {
    let membership = member.membership.clone().unwrap_or_default();
    let index = |index: &RepositoryIndex| {
        json!({
            "method": index_words(index), "documents": index.documents, "size_bytes": index.size_bytes,
            "stored_bytes": index.stored_bytes, "sealed": (index.sealed != 0).then(|| time(index.sealed)),
        })
    };
    let repository = |repository: &Repository| {
        json!({
            "repository": repository.repository, "offered": repository.offered,
            "indexes": repository.indexes.iter().map(index).collect::<Value>(),
        })
    };
    json!({
        "name": membership.name, "party": membership.party, "party_full_name": member.party_full_name, "is_well": wrong.is_empty(), "wrong": wrong,
        "attached": member.attached, "paused": member.paused,
        "last_heard": (member.last_heard != 0).then(|| time(member.last_heard)),
        "expires": time(member.expires), "software": member.software, "key": member.key_words,
        "repositories": repositories.iter().map(repository).collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate_proto::v1::Membership;

    fn member(status: MemberStatus, attached: bool) -> Member {
        let membership = Membership { name: "tokyo".into(), ..Membership::default() };
        Member { membership: Some(membership), status: status.into(), attached, ..Member::default() }
    }

    #[test]
    fn each_thing_that_is_wrong_with_a_site_is_named_with_its_cure() {
        let of = |member: &Member| wrong(member, &[]).join("; ");
        assert_eq!(of(&member(MemberStatus::Active, true)), "");
        assert!(of(&member(MemberStatus::Active, false)).contains("not attached, last heard never"));
        assert!(of(&member(MemberStatus::Revoked, false)).contains("`cognate site invite`"));
        assert!(of(&member(MemberStatus::Invited, false)).contains("not enrolled"));
        assert!(of(&Member { paused: true, ..member(MemberStatus::Active, true) }).contains("`cognate worker resume`"));
        let late = Member { clock_skew_seconds: -301, ..member(MemberStatus::Active, true) };
        assert_eq!(of(&late), "its clock is -301 seconds off: set it");
        let gone = [Repository { repository: "kb".into(), ..Repository::default() }];
        assert!(wrong(&member(MemberStatus::Active, true), &gone)[0].contains("does not offer `kb`"));
        assert!(wrong(&member(MemberStatus::Active, false), &gone).len() == 1, "an absent site offers nothing");
    }
}
