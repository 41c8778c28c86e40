//! Memberships: a site of a party, or a person with a role.

use std::str::FromStr;

use crate::name::{NameError, OperatorName, PartyName, SiteName};
use crate::v1::{self, MemberKind, Role};

/// A checked membership, as a certificate states it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Membership {
    /// A site of a party.
    Site {
        /// Its name.
        name: SiteName,
        /// Its party.
        party: PartyName,
    },
    /// A person.
    Operator {
        /// Its name.
        name: OperatorName,
        /// Its permissions.
        role: Role,
        /// The one site that it may see; all if absent.
        site: Option<SiteName>,
        /// The one party that it may see; all if absent.
        party: Option<PartyName>,
    },
}

/// The error of a message that is no membership.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MembershipError {
    /// Neither a site nor a person.
    #[error("it is for neither a site nor a person")]
    Kind,
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A person without a role.
    #[error("a person needs a role: viewer, analyst or administrator")]
    NoRole,
    /// A site with a role or a bound site, which only persons have.
    #[error("a site has no role and is bound to no site")]
    SiteWithRole,
}

impl TryFrom<&v1::Membership> for Membership {
    type Error = MembershipError;

    fn try_from(message: &v1::Membership) -> Result<Membership, MembershipError> {
        match message.kind() {
            MemberKind::Site if message.role() != Role::Unspecified || !message.site.is_empty() => {
                Err(MembershipError::SiteWithRole)
            }
            MemberKind::Site => Ok(Membership::Site { name: message.name.parse()?, party: message.party.parse()? }),
            MemberKind::Operator if message.role() == Role::Unspecified => Err(MembershipError::NoRole),
            MemberKind::Operator => Ok(Membership::Operator {
                name: message.name.parse()?,
                role: message.role(),
                site: optional(&message.site)?,
                party: optional(&message.party)?,
            }),
            MemberKind::Unspecified => Err(MembershipError::Kind),
        }
    }
}

fn optional<T: FromStr>(text: &str) -> Result<Option<T>, T::Err> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

impl From<&Membership> for v1::Membership {
    fn from(membership: &Membership) -> v1::Membership {
        let text = |name: &Option<SiteName>| name.as_ref().map(ToString::to_string).unwrap_or_default();
        match membership {
            Membership::Site { name, party } => v1::Membership {
                kind: MemberKind::Site.into(),
                name: name.to_string(),
                party: party.to_string(),
                ..v1::Membership::default()
            },
            Membership::Operator { name, role, site, party } => v1::Membership {
                kind: MemberKind::Operator.into(),
                name: name.to_string(),
                party: party.as_ref().map(ToString::to_string).unwrap_or_default(),
                role: (*role).into(),
                site: text(site),
            },
        }
    }
}

impl Membership {
    /// A site or a person.
    pub fn kind(&self) -> MemberKind {
        match self {
            Membership::Site { .. } => MemberKind::Site,
            Membership::Operator { .. } => MemberKind::Operator,
        }
    }

    /// The name, unique among its kind.
    pub fn name(&self) -> &str {
        match self {
            Membership::Site { name, .. } => name.as_str(),
            Membership::Operator { name, .. } => name.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_membership_has_the_fields_of_its_kind_and_no_others() {
        let site = v1::Membership {
            kind: MemberKind::Site.into(),
            name: "paris".into(),
            party: "home".into(),
            ..v1::Membership::default()
        };
        let anna = v1::Membership {
            kind: MemberKind::Operator.into(),
            name: "anna".into(),
            role: Role::Viewer.into(),
            site: "paris".into(),
            ..v1::Membership::default()
        };
        for message in [&site, &anna] {
            let membership = Membership::try_from(message).unwrap();
            assert_eq!(v1::Membership::from(&membership), *message);
        }
        let refused = |message: v1::Membership| Membership::try_from(&message).unwrap_err();
        assert_eq!(refused(v1::Membership { kind: 0, ..site.clone() }), MembershipError::Kind);
        assert_eq!(refused(v1::Membership { kind: 9, ..site.clone() }), MembershipError::Kind);
        assert_eq!(refused(v1::Membership { role: 1, ..site.clone() }), MembershipError::SiteWithRole);
        assert_eq!(refused(v1::Membership { role: 9, ..anna.clone() }), MembershipError::NoRole);
        assert!(matches!(refused(v1::Membership { name: "a/b".into(), ..site.clone() }), MembershipError::Name(_)));
        assert!(matches!(refused(v1::Membership { party: String::new(), ..site }), MembershipError::Name(_)));
        assert!(matches!(refused(v1::Membership { site: "..".into(), ..anna }), MembershipError::Name(_)));
    }
}
