//! Identity of callers, checked at each call: the CA, the registry, and refusals.

mod authority;
mod enrolment;
mod https;
mod init;
mod members;
pub mod refusal;

pub use authority::Authority;
pub use init::{First, init};
pub use refusal::{Refusal, Refusals};

pub(crate) use authority::{KEY_FILE, random, signing_request_key};
pub(crate) use enrolment::EnrolmentService;
pub(crate) use https::https_files;
pub use members::Members;

use std::sync::Arc;

use cognate_proto::identity::{CertificateInfo, Membership};
use cognate_proto::name::{OperatorName, PartyName, SiteName};
use cognate_proto::v1::Role;
use cognate_result::report::Viewer;

/// The peer of a connection, as far as the connection shows it.
#[derive(Clone, Debug)]
pub enum PeerInfo {
    /// A pipe within the process vouches for this site.
    Vouched(SiteName),
    /// The holder of the key of this certificate, which our CA signed.
    Certificate(Arc<CertificateInfo>),
    /// A peer without a certificate.
    Anonymous,
}

/// The caller, by the registry at the time of the call. Handlers take it from the extensions of the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Identity {
    /// The worker of a site.
    Site {
        /// The name of the site.
        name: SiteName,
        /// The party of the site.
        party: PartyName,
    },
    /// A person.
    Operator(Operator),
    /// Somebody without a certificate.
    Anyone,
}

/// A person, and the bounds of the data that it may see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    /// The person's name.
    pub name: OperatorName,
    /// The role, which decides on permitted calls.
    pub role: Role,
    /// The one site that it may see, or all.
    pub site: Option<SiteName>,
    /// The one party that it may see, or all.
    pub party: Option<PartyName>,
}

impl Operator {
    /// The bounds within which the person may see results.
    pub fn viewer(&self) -> Viewer {
        Viewer::bound(self.site.as_ref().map(SiteName::as_str), self.party.as_ref().map(PartyName::as_str))
    }
}

impl From<Membership> for Identity {
    fn from(membership: Membership) -> Identity {
        match membership {
            Membership::Site { name, party } => Identity::Site { name, party },
            Membership::Operator { name, role, site, party } => {
                Identity::Operator(Operator { name, role, site, party })
            }
        }
    }
}

/// `host:port` for each of the names by which the coordinator is reached.
pub fn addresses(names: &[String], port: u16) -> Vec<String> {
    let address = |name: &String| match name.parse::<std::net::Ipv6Addr>() {
        Ok(_) => format!("[{name}]:{port}"),
        Err(_) => format!("{name}:{port}"),
    };
    names.iter().map(address).collect()
}
