//! Permissions: one table of callers and calls, in front of every service. A call that is not in it is refused.
//!
//! The registry is asked at every call, and again whenever it changes during a call: the streams of a member who is
//! shut out end at once.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use cognate_proto::v1::Role;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tower::{Layer, Service};

use crate::connection::Connection;
use crate::error::Error;
use crate::identity::{Identity, Members, PeerInfo, Refusal};

mod cut;

use cut::{Cut, CutBody};

/// The callers of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Any peer that can connect.
    Anyone,
    /// The worker of a site.
    Site,
    /// A site or a person.
    Member,
    /// A person with this role or a greater one.
    Role(Role),
}

const VIEWER: Access = Access::Role(Role::Viewer);
const ANALYST: Access = Access::Role(Role::Analyst);
const ADMINISTRATOR: Access = Access::Role(Role::Administrator);

/// Every method of every service.
pub(crate) const METHODS: &[(&str, Access)] = &[
    ("/cognate.v1.Enrolment/Enroll", Access::Anyone),
    ("/cognate.v1.Enrolment/Renew", Access::Member),
    ("/cognate.v1.Worker/Attach", Access::Site),
    ("/cognate.v1.Worker/Push", Access::Site),
    ("/cognate.v1.Worker/Received", Access::Site),
    ("/cognate.v1.Worker/Results", Access::Site),
    ("/cognate.v1.Worker/Scope", Access::Site),
    ("/cognate.v1.Worker/FileHashes", Access::Site),
    ("/cognate.v1.Worker/FileHashHits", Access::Site),
    ("/cognate.v1.Worker/FineChoices", Access::Site),
    ("/cognate.v1.Worker/FineChunks", Access::Site),
    ("/cognate.v1.Worker/Measures", Access::Site),
    ("/cognate.v1.Operator/Invite", ADMINISTRATOR),
    ("/cognate.v1.Operator/ListMembers", VIEWER),
    ("/cognate.v1.Operator/NameParty", ADMINISTRATOR),
    ("/cognate.v1.Operator/Revoke", ADMINISTRATOR),
    ("/cognate.v1.Operator/ForgetSite", ADMINISTRATOR),
    ("/cognate.v1.Operator/ListRepositories", VIEWER),
    ("/cognate.v1.Operator/EstimateScan", ANALYST),
    ("/cognate.v1.Operator/LaunchScan", ANALYST),
    ("/cognate.v1.Operator/RenameScan", ANALYST),
    ("/cognate.v1.Operator/ListScans", VIEWER),
    ("/cognate.v1.Operator/ShowScan", VIEWER),
    ("/cognate.v1.Operator/WatchScan", VIEWER),
    ("/cognate.v1.Operator/CancelScan", ANALYST),
    ("/cognate.v1.Operator/DeleteScan", ADMINISTRATOR),
    ("/cognate.v1.Operator/FetchResult", VIEWER),
    ("/cognate.v1.Operator/Audit", ANALYST),
    ("/cognate.v1.Operator/Explain", VIEWER),
    ("/cognate.v1.Operator/PutProfile", ANALYST),
    ("/cognate.v1.Operator/ListProfiles", VIEWER),
    ("/cognate.v1.Operator/RemoveProfile", ANALYST),
    ("/cognate.v1.Operator/PutSchedule", ANALYST),
    ("/cognate.v1.Operator/ListSchedules", VIEWER),
    ("/cognate.v1.Operator/RemoveSchedule", ANALYST),
    ("/cognate.v1.Operator/MarkTemplate", ANALYST),
    ("/cognate.v1.Operator/UnmarkTemplate", ANALYST),
    ("/cognate.v1.Operator/ListTemplates", VIEWER),
    ("/cognate.v1.Operator/SuggestTemplates", ANALYST),
    ("/cognate.v1.Operator/SetVerdicts", ANALYST),
    ("/cognate.v1.Operator/UndoVerdicts", ANALYST),
    ("/cognate.v1.Operator/ListVerdicts", VIEWER),
    ("/cognate.v1.Operator/ListVerdictActions", VIEWER),
    ("/cognate.v1.Operator/ShowReview", VIEWER),
    ("/cognate.v1.Operator/Find", ANALYST),
    ("/cognate.v1.Operator/FindHashes", ANALYST),
    ("/cognate.v1.Operator/PutWatch", ANALYST),
    ("/cognate.v1.Operator/ListWatches", ANALYST),
    ("/cognate.v1.Operator/RemoveWatch", ANALYST),
    ("/cognate.v1.Operator/OpenCase", ANALYST),
    ("/cognate.v1.Operator/CheckCase", ANALYST),
    ("/cognate.v1.Operator/ListCases", ANALYST),
    ("/cognate.v1.Operator/ExportCase", ANALYST),
    ("/cognate.v1.Operator/ShowCoordinator", VIEWER),
    ("/cognate.v1.Operator/Login", VIEWER),
    ("/cognate.v1.Operator/ListEvents", ADMINISTRATOR),
];

fn access(path: &str) -> Option<Access> {
    METHODS.iter().find(|(method, _)| *method == path).map(|(_, access)| *access)
}

/// Checks that a caller may make a call, for callers within the process.
///
/// # Errors
/// Fails if the caller may not make it, or there is no such call.
pub fn check(path: &str, identity: &Identity) -> Result<(), Refusal> {
    access(path).ok_or(Refusal::Method)?.admits(identity)
}

impl Access {
    fn admits(self, identity: &Identity) -> Result<(), Refusal> {
        match (self, identity) {
            (Access::Anyone, _)
            | (Access::Site | Access::Member, Identity::Site { .. })
            | (Access::Member, Identity::Operator(_)) => Ok(()),
            // The roles are in ascending order: each has the permissions of the ones ahead of it.
            (Access::Role(role), Identity::Operator(operator)) if i32::from(operator.role) >= i32::from(role) => Ok(()),
            (_, Identity::Anyone) => Err(Refusal::NoCertificate),
            _ => Err(Refusal::Role),
        }
    }
}

/// Puts the table in front of services.
#[derive(Clone)]
pub(crate) struct AuthorizeLayer {
    pub(crate) members: Arc<Members>,
}

impl<S> Layer<S> for AuthorizeLayer {
    type Service = Authorize<S>;

    fn layer(&self, inner: S) -> Authorize<S> {
        Authorize { inner, members: Arc::clone(&self.members) }
    }
}

/// Services behind the table.
#[derive(Clone)]
pub(crate) struct Authorize<S> {
    inner: S,
    members: Arc<Members>,
}

impl<S> Service<Request<Body>> for Authorize<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let connection = request.extensions().get::<Connection>();
        let peer = connection.map_or(PeerInfo::Anonymous, |connection| connection.peer.clone());
        let path = request.uri().path();
        // Subscribed before the registry is asked, so that a change in between is noticed.
        let gate = Gate { members: Arc::clone(&self.members), changes: self.members.changes(), peer };
        let allowed = access(path).ok_or_else(|| Refusal::Method.into()).and_then(|access| {
            let identity = gate.admit(access)?;
            Ok((access, identity))
        });
        let (access, identity) = match allowed {
            Ok(allowed) => allowed,
            Err(error) => {
                if let Error::Refusal(refusal) = &error {
                    self.members.refusals().count(*refusal);
                }
                tracing::info!(path, peer = ?gate.peer, %error, "a call was refused");
                let refused = Status::from(error).into_http();
                return Box::pin(std::future::ready(Ok(refused)));
            }
        };
        request.extensions_mut().insert(identity);
        if access == Access::Anyone {
            return Box::pin(self.inner.call(request));
        }
        let request = request.map(|body| Body::new(CutBody::request(body, gate.again().cut(access))));
        let calling = self.inner.call(request);
        Box::pin(async move { Ok(calling.await?.map(|body| Body::new(CutBody::response(body, gate.cut(access))))) })
    }
}

/// The check that is repeated during a call.
struct Gate {
    members: Arc<Members>,
    changes: tokio::sync::watch::Receiver<u64>,
    peer: PeerInfo,
}

impl Gate {
    fn admit(&self, access: Access) -> Result<Identity, Error> {
        if access == Access::Anyone {
            // Callers whose certificate is no longer valid may call these too: they may have a new invitation.
            return Ok(Identity::Anyone);
        }
        let identity = self.members.identify(&self.peer)?;
        access.admits(&identity)?;
        Ok(identity)
    }

    fn again(&self) -> Gate {
        Gate { members: Arc::clone(&self.members), changes: self.changes.clone(), peer: self.peer.clone() }
    }

    /// Resolves when the peer may not go on.
    fn cut(mut self, access: Access) -> Cut {
        Box::pin(async move {
            loop {
                let expired = async {
                    match self.members.holds_for(&self.peer) {
                        Some(left) => tokio::time::sleep(left.max(Duration::from_secs(1))).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    // The sender is owned by the captured value.
                    _ = self.changes.changed() => {}
                    () = expired => {}
                }
                if let Err(error) = self.admit(access) {
                    tracing::info!(peer = ?self.peer, %error, "a call was cut off");
                    return error.into();
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
