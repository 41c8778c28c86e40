//! A coordinator on loopback for tests: real TLS, real certificates, a real registry.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cognate_proto::dial::{Dial, Trust};
use cognate_proto::identity::{Credential, PrivateKey};
use cognate_proto::invitation::Invitation;
use cognate_proto::v1::{EnrollRequest, MemberKind, Membership, Role};
use tokio::task::JoinHandle;
use tonic::transport::Channel;

use crate::identity::Members;
use crate::{Authority, Coordinator, CoordinatorConfig, Listener, Refusal, Tls};

pub(crate) struct Harness {
    pub(crate) coordinator: Arc<Coordinator>,
    pub(crate) authority: Arc<Authority>,
    pub(crate) tls: Arc<Tls>,
    pub(crate) address: SocketAddr,
    serving: JoinHandle<()>,
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

pub(crate) fn site(name: &str) -> Membership {
    Membership { kind: MemberKind::Site.into(), name: name.into(), ..Membership::default() }
}

pub(crate) fn person(name: &str, role: Role) -> Membership {
    Membership { kind: MemberKind::Operator.into(), name: name.into(), role: role.into(), ..Membership::default() }
}

impl Harness {
    pub(crate) async fn start() -> Harness {
        let folder = tempfile::tempdir().unwrap();
        Authority::create(folder.path(), now).unwrap();
        let authority = Arc::new(Authority::open(folder.path(), now).unwrap());
        let config = CoordinatorConfig {
            state_dir: folder.path().to_owned(),
            durable: true,
            clock: now,
            disk_reserve_bytes: 0,
            site_quota_bytes: None,
        };
        let coordinator = Arc::new(Coordinator::open(&config).unwrap());
        let tls = Arc::new(Tls::new(Arc::clone(&authority), &["127.0.0.1".to_owned()]).unwrap());
        let refusals = Arc::clone(coordinator.members.refusals());
        let listener = Listener::bind("127.0.0.1:0", Arc::clone(&tls), refusals).await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = Arc::clone(&coordinator);
        let serving = tokio::spawn(async move {
            served.serve(listener.incoming(), std::future::pending()).await.unwrap();
        });
        Harness { coordinator, authority, tls, address, serving, folder }
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn members(&self) -> &Members {
        &self.coordinator.members
    }

    pub(crate) fn invite(&self, membership: &Membership) -> Invitation {
        let (line, _) = self.members().invite(membership, None, vec![self.address.to_string()], "test").unwrap();
        line.parse().unwrap()
    }

    /// Enrolled, without the detour over the network.
    pub(crate) fn credential(&self, membership: &Membership) -> Credential {
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

/// Waits for what must happen soon.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), what).await.expect("it happens soon")
}
