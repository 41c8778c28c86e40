//! A coordinator on loopback for tests: real TLS, real certificates, a real registry.

#![expect(clippy::unwrap_used, missing_docs, reason = "it is part of tests")]

pub mod indexes;

use std::net::SocketAddr;
use std::sync::Arc;
#[cfg(test)]
use std::time::Duration;
use std::time::SystemTime;

#[cfg(test)]
use cognate_proto::dial::{Dial, Trust};
use cognate_proto::identity::{Credential, PrivateKey};
use cognate_proto::invitation::Invitation;
use cognate_proto::v1::{EnrollRequest, MemberKind, Membership, Role};
use cognate_storage::indexes::SiteQuotas;
use tokio::task::JoinHandle;
#[cfg(test)]
use tonic::transport::Channel;

#[cfg(test)]
use crate::Refusal;
use crate::identity::Members;
use crate::{Authority, Coordinator, CoordinatorConfig, Listener, Tls};

pub struct Harness {
    pub coordinator: Arc<Coordinator>,
    pub authority: Arc<Authority>,
    #[cfg(test)]
    pub(crate) tls: Arc<Tls>,
    pub address: SocketAddr,
    serving: JoinHandle<()>,
    /// The state; it is deleted with the harness.
    #[cfg_attr(not(test), expect(dead_code, reason = "it is held for its drop alone"))]
    folder: tempfile::TempDir,
}

#[expect(clippy::disallowed_methods, reason = "TLS at the other end reads this clock as well")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub fn site(name: &str) -> Membership {
    Membership { kind: MemberKind::Site.into(), name: name.into(), ..Membership::default() }
}

pub fn person(name: &str, role: Role) -> Membership {
    Membership { kind: MemberKind::Operator.into(), name: name.into(), role: role.into(), ..Membership::default() }
}

impl Harness {
    pub async fn start() -> Harness {
        let folder = tempfile::tempdir().unwrap();
        Authority::create(folder.path(), now).unwrap();
        let authority = Arc::new(Authority::open(folder.path(), now).unwrap());
        let config = CoordinatorConfig {
            state_dir: folder.path().to_owned(),
            software: "test",
            durable: true,
            clock: now,
            disk_reserve_bytes: 0,
            quotas: SiteQuotas::default(),
            webhook_hosts: Vec::new(),
            spark: Default::default(),
        };
        let coordinator = Arc::new(Coordinator::open(&config).unwrap());
        let tls = Arc::new(Tls::new(Arc::clone(&authority), &["127.0.0.1".to_owned()]).unwrap());
        let refusals = Arc::clone(coordinator.services().members.refusals());
        let listener = Listener::bind("127.0.0.1:0", Arc::clone(&tls), refusals).await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = Arc::clone(&coordinator);
        let serving = tokio::spawn(async move {
            served.serve(listener.incoming(), std::future::pending()).await.unwrap();
        });
        Harness {
            coordinator,
            authority,
            #[cfg(test)]
            tls,
            address,
            serving,
            folder,
        }
    }

    pub fn members(&self) -> &Members {
        &self.coordinator.services().members
    }

    pub(crate) fn invite(&self, membership: &Membership) -> Invitation {
        let (line, _) = self.members().invite(membership, None, vec![self.address.to_string()], "test").unwrap();
        line.parse().unwrap()
    }

    /// A credential of an enrolled member, made without the network.
    pub fn credential(&self, membership: &Membership) -> Credential {
        let invitation = self.invite(membership);
        let key = PrivateKey::generate().unwrap();
        let request = EnrollRequest {
            token_id: invitation.token_id.to_vec(),
            secret: invitation.secret.to_vec(),
            signing_request: key.signing_request().unwrap(),
            software: String::new(),
        };
        let answer = self.members().enroll(&request).unwrap();
        Credential::new(answer.ca_certificate, answer.certificate, key).unwrap()
    }
}

/// Connections, counts and files, for the tests of this crate.
#[cfg(test)]
impl Harness {
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn dial(&self, credential: Option<&Credential>) -> Dial {
        let trust = Trust::Ca(self.authority.certificate().to_vec());
        Dial::new(&[self.address.to_string()], &trust, credential).unwrap()
    }

    pub(crate) fn channel(&self, credential: Option<&Credential>) -> Channel {
        self.dial(credential).channel()
    }

    pub(crate) fn count(&self, refusal: Refusal) -> u64 {
        let refusals = self.members().refusals();
        refusals.all().find(|(each, _)| *each == refusal).unwrap().1
    }
}

/// Waits for an event that must happen within ten seconds.
#[cfg(test)]
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), what).await.expect("it happens soon")
}
