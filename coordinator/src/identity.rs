//! Who somebody is, and whether that still holds: the CA, the registry, and what is refused.

mod authority;
mod enrolment;
mod https;
mod init;
mod members;
mod refusal;

pub use authority::Authority;
pub use init::init;
pub use refusal::{Refusal, Refusals};

pub(crate) use authority::{KEY_FILE, random, signing_request_key};
pub(crate) use enrolment::EnrolmentService;
pub(crate) use https::https_files;
pub(crate) use members::Members;

use std::sync::Arc;

use cognate_proto::identity::{CertificateInfo, Membership};
use cognate_proto::name::{OperatorName, PartyName, SiteName};
use cognate_proto::v1::Role;

/// Who is at the other end, as far as the connection tells.
#[derive(Clone, Debug)]
pub enum PeerInfo {
    /// A pipe within the process vouches for this site.
    Vouched(SiteName),
    /// Who holds the key of this certificate, which our CA signed.
    Certificate(Arc<CertificateInfo>),
    /// Somebody who showed nothing.
    Anonymous,
}

/// Who calls, by the registry as it stands at the call. Handlers take it from the extensions of the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Identity {
    /// The worker of a site.
    Site { name: SiteName, party: PartyName },
    /// A person.
    Operator(Operator),
    /// Somebody without a certificate.
    Anyone,
}

/// A person, and what is shown to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Operator {
    pub(crate) name: OperatorName,
    pub(crate) role: Role,
    /// The one site that it may see, or all.
    pub(crate) site: Option<SiteName>,
    /// The one party that it may see, or all.
    pub(crate) party: Option<PartyName>,
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
