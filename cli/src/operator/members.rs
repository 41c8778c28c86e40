//! Commands about members that sites and operators share.

use std::io::Write as _;
use std::time::Duration;

use clap::ValueEnum;
use cognate_proto::identity;
use cognate_proto::name::one_line;
use cognate_proto::shown::harmless_lines;
use cognate_proto::v1::{
    InviteRequest, ListMembersRequest, Member, MemberKind, MemberStatus, Membership, RevokeRequest, Role,
};
use serde_json::{Value, json};

use super::client::Operator;
use crate::exit::{Exit, usage};
use cognate_export::table;

/// Format of a table.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum TableFormat {
    /// Columns for people
    Text,
    /// An array of objects
    Json,
}

/// Prints an invitation; standard output gets only its line.
pub(crate) async fn invite(
    operator: &Operator,
    membership: Membership,
    valid: Duration,
    format: TableFormat,
) -> anyhow::Result<Exit> {
    let mut checked = membership.clone();
    if checked.kind() == MemberKind::Site && checked.party.is_empty() {
        checked.party = "home".to_owned();
    }
    identity::Membership::try_from(&checked).map_err(|error| usage(error.to_string()))?;
    if valid.as_secs() == 0 {
        return Err(usage("--valid: at least a second"));
    }
    let request = InviteRequest { membership: Some(membership), valid_seconds: valid.as_secs() };
    let answer = operator.call(|mut client| {
        let request = request.clone();
        async move { client.invite(request).await }
    });
    let answer = answer.await?;
    let line = one_line_of_invitation(&answer.line);
    match format {
        TableFormat::Text => {
            print(&line)?;
            let command = match checked.kind() {
                MemberKind::Operator => "cognate operator enroll - -o FILE",
                _ => "cognate worker enroll - --config FILE",
            };
            tell!("for {}, once, until {}: {command}", checked.name, time(answer.expires));
        }
        TableFormat::Json => {
            let value = json!({"name": checked.name, "invitation": line, "expires": time(answer.expires)});
            print_json(&value)?;
        }
    }
    Ok(Exit::Complete)
}

/// An invitation may be longer than other lines; it has no blanks and no control characters.
fn one_line_of_invitation(line: &str) -> String {
    line.chars().filter(char::is_ascii_graphic).collect()
}

/// Lists the members of one kind.
pub(crate) async fn list(operator: &Operator, kind: MemberKind, format: TableFormat) -> anyhow::Result<Exit> {
    let request = ListMembersRequest { kind: kind.into() };
    let answer = operator.call(|mut client| async move { client.list_members(request).await }).await?;
    let of_sites = kind == MemberKind::Site;
    match format {
        TableFormat::Json => {
            let rows: Vec<Value> = answer.members.iter().map(|member| object(member, of_sites)).collect();
            print_json(&Value::Array(rows))?;
        }
        TableFormat::Text if answer.members.is_empty() => {
            tell!("none yet: `cognate {} invite NAME`", if of_sites { "site" } else { "operator" });
        }
        TableFormat::Text => {
            let headings: &[&str] = if of_sites {
                &["SITE", "PARTY", "STATUS", "ATTACHED", "LAST HEARD", "CERTIFICATE UNTIL", "SOFTWARE", "TLS KEY"]
            } else {
                &["OPERATOR", "ROLE", "SITE", "PARTY", "STATUS", "CERTIFICATE UNTIL", "TLS KEY"]
            };
            print(&table::table(headings, answer.members.iter().map(|member| row(member, of_sites))))?;
        }
    }
    Ok(Exit::Complete)
}

/// Writes lines for people to standard output; nothing in them acts on the terminal. A closed pipe is no error.
pub(crate) fn print(lines: &str) -> anyhow::Result<()> {
    print_exactly(&harmless_lines(lines))
}

/// Writes a value for programs to standard output, as it is.
pub(crate) fn print_value(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print_exactly(&serde_json::to_string(value)?)
}

fn print_exactly(line: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes rows to standard output as one JSON value, indented.
pub(crate) fn print_json(rows: &impl serde::Serialize) -> anyhow::Result<()> {
    print_exactly(&serde_json::to_string_pretty(rows)?)
}

/// Revokes a member.
pub(crate) async fn revoke(operator: &Operator, kind: MemberKind, name: &str) -> anyhow::Result<Exit> {
    let request = RevokeRequest { kind: kind.into(), name: name.to_owned() };
    let revoked = operator.call(|mut client| {
        let request = request.clone();
        async move { client.revoke(request).await }
    });
    revoked.await?;
    tell!("{} is revoked; it can enrol again with a new invitation", one_line(name));
    Ok(Exit::Complete)
}

fn row(member: &Member, of_sites: bool) -> Vec<String> {
    let membership = member.membership.clone().unwrap_or_default();
    let text = |text: &str| if text.is_empty() { "–".to_owned() } else { one_line(text) };
    let (expires, key) = (when(member.expires), text(&member.key_words));
    if of_sites {
        let attached = match (member.attached, member.paused) {
            (false, _) => "no",
            (true, false) => "yes",
            (true, true) => "paused",
        };
        return vec![
            text(&membership.name),
            text(&membership.party),
            status(member).to_owned(),
            attached.to_owned(),
            when(member.last_heard),
            expires,
            text(&member.software),
            key,
        ];
    }
    vec![
        text(&membership.name),
        role(&membership).to_owned(),
        text(&membership.site),
        text(&membership.party),
        status(member).to_owned(),
        expires,
        key,
    ]
}

fn object(member: &Member, of_sites: bool) -> Value {
    let membership = member.membership.clone().unwrap_or_default();
    let text = |text: &str| if text.is_empty() { Value::Null } else { Value::from(text) };
    let moment = |seconds: i64| if seconds == 0 { Value::Null } else { Value::from(time(seconds)) };
    let mut object = json!({
        "name": membership.name,
        "party": text(&membership.party),
        "status": status(member),
        "expires": moment(member.expires),
        "key": text(&member.key_words),
    });
    if of_sites {
        object["attached"] = member.attached.into();
        object["paused"] = member.paused.into();
        object["last_heard"] = moment(member.last_heard);
        object["software"] = text(&member.software);
        object["clock_skew_seconds"] = member.clock_skew_seconds.into();
    } else {
        object["role"] = role(&membership).into();
        object["site"] = text(&membership.site);
    }
    object
}

fn status(member: &Member) -> &'static str {
    match member.status() {
        MemberStatus::Invited => "invited",
        MemberStatus::Active => "active",
        MemberStatus::Revoked => "revoked",
        MemberStatus::Unspecified => "unknown",
    }
}

fn role(membership: &Membership) -> &'static str {
    match membership.role() {
        Role::Viewer => "viewer",
        Role::Analyst => "analyst",
        Role::Administrator => "administrator",
        Role::Unspecified => "unknown",
    }
}

fn when(seconds: i64) -> String {
    if seconds == 0 { "never".to_owned() } else { time(seconds) }
}

/// The time of the last change of a document; none for 0, which stands in the place of one that the policy of a site withholds.
pub(crate) fn modified(seconds: i64) -> String {
    if seconds == 0 { String::new() } else { time(seconds) }
}

/// `2026-11-22T05:00:00Z`.
pub(crate) fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        Member {
            membership: Some(Membership {
                kind: MemberKind::Site.into(),
                name: "paris".into(),
                party: "home".into(),
                ..Membership::default()
            }),
            status: MemberStatus::Active.into(),
            expires: 1_800_000_000,
            software: "cognate 0.1.0\u{1b}[31m".into(),
            ..Member::default()
        }
    }

    #[test]
    fn text_from_a_worker_cannot_move_the_cursor() {
        let row = row(&member(), true);
        assert_eq!(row.len(), 8);
        assert!(row.iter().all(|cell| !cell.contains('\u{1b}')), "{row:?}");
        assert_eq!(row[4..6], ["never".to_owned(), "2027-01-15T08:00:00Z".to_owned()]);
        assert_eq!(one_line_of_invitation("cog1_a-b_1\u{1b}[2J\n"), "cog1_a-b_1[2J");
    }

    #[test]
    fn missing_values_are_null_in_json() {
        let object = object(&member(), true);
        assert_eq!(object["last_heard"], Value::Null);
        assert_eq!((&object["status"], &object["attached"]), (&json!("active"), &json!(false)));
    }
}
