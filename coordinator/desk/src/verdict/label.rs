//! Checks of labels before they are recorded: tags are short words for lists and filters, and a cluster has few of them.

use cognate_proto::name::one_line;
use cognate_proto::v1;
use cognate_storage::verdict::{Decision, Key};

use super::{Verdicts, refused};
use crate::error::Error;

/// Tags of one request, and of those that it takes away.
const CHANGED_MAX: usize = 16;
/// Tags of a cluster.
const TAGS_MAX: usize = 32;
const TAG_CHARS_MAX: usize = 40;
const ASSIGNEE_CHARS_MAX: usize = 60;
/// The filters `tag=none` and `assignee=none` mean that there is none.
const NONE: &str = "none";

/// A change as it is recorded.
///
/// # Errors
/// If a name is none, or nothing is changed.
pub(super) fn checked(change: v1::LabelChange) -> Result<v1::LabelChange, Error> {
    let v1::LabelChange { add, remove, assignee } = change;
    let (add, remove) = (tags(add)?, tags(remove)?);
    let assignee = assignee.map(|name| one_line(name.trim()));
    if let Some(name) = &assignee
        && (name.chars().count() > ASSIGNEE_CHARS_MAX || name.eq_ignore_ascii_case(NONE))
    {
        return Err(refused(
            "assignee",
            format!("a name of at most {ASSIGNEE_CHARS_MAX} characters, and not `{NONE}`"),
        ));
    }
    if add.is_empty() && remove.is_empty() && assignee.is_none() {
        return Err(refused("tag", "name a tag or a person"));
    }
    match add.iter().find(|tag| remove.contains(tag)) {
        Some(tag) => Err(refused("tag", format!("`{tag}` is to be added and removed"))),
        None => Ok(v1::LabelChange { add, remove, assignee }),
    }
}

/// Tags, each once: commas and semicolons are between them in forms and exports, so none has one.
fn tags(given: Vec<String>) -> Result<Vec<String>, Error> {
    let mut tags = Vec::new();
    for tag in given {
        let tag = one_line(tag.trim());
        let is_name = !tag.is_empty() && !tag.contains([',', ';']) && !tag.eq_ignore_ascii_case(NONE);
        if !is_name || tag.chars().count() > TAG_CHARS_MAX {
            let why = format!("a tag has 1 to {TAG_CHARS_MAX} characters, no comma or semicolon, and is not `{NONE}`");
            return Err(refused("tag", why));
        }
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    match tags.len() > CHANGED_MAX {
        true => Err(refused("tag", format!("at most {CHANGED_MAX} at once"))),
        false => Ok(tags),
    }
}

impl Verdicts {
    /// Checks that no cluster would have too many tags.
    ///
    /// Only labels of those who share the author's bounds count: of the others, a person learns nothing.
    pub(super) fn check_tags(&self, decision: &Decision) -> Result<(), Error> {
        let Some(change) = &decision.label else { return Ok(()) };
        if change.add.is_empty() {
            return Ok(());
        }
        for decided in &decision.decided {
            let Some(key) = Key::parse(&decided.key) else { continue };
            let Some(row) = self.records.store.verdict(key)? else { continue };
            let mut labels = row.labels(|entry| {
                entry.is_bound == decision.is_bound && (!entry.is_bound || entry.party == decision.party)
            });
            labels.change(change);
            if labels.tags.len() > TAGS_MAX {
                return Err(refused(
                    "tag",
                    format!("a cluster would have more than {TAGS_MAX} tags: remove one first"),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(add: &[&str], remove: &[&str], assignee: Option<&str>) -> v1::LabelChange {
        let owned = |tags: &[&str]| tags.iter().map(ToString::to_string).collect();
        v1::LabelChange { add: owned(add), remove: owned(remove), assignee: assignee.map(str::to_owned) }
    }

    #[test]
    fn tags_are_trimmed_and_named_once_and_what_is_no_tag_is_refused() {
        let clean = checked(change(&[" hot ", "hot", "to show\u{7}"], &[], Some(" anna "))).unwrap();
        assert_eq!((clean.add.len(), clean.add[0].as_str(), clean.assignee.as_deref()), (2, "hot", Some("anna")));
        assert!(!clean.add[1].contains('\u{7}'), "{clean:?}");
        assert!(checked(change(&[], &[], Some(""))).is_ok(), "an empty name takes the person away");
        let long = "x".repeat(41);
        for (add, remove, assignee) in [
            (&[][..], &[][..], None),
            (&[""], &[], None),
            (&["a,b"], &[], None),
            (&["a;b"], &[], None),
            (&["None"], &[], None),
            (&[&long], &[], None),
            (&["a"], &["a"], None),
            (&[], &[], Some("none")),
        ] {
            let error = checked(change(add, remove, assignee)).unwrap_err().to_string();
            assert!(error.contains("`tag`") || error.contains("`assignee`"), "{error}");
        }
    }
}
