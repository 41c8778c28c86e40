//! The calls by which a member enrols and renews its certificate.

use std::sync::Arc;

use cognate_proto::name::one_line;
use cognate_proto::v1::enrolment_server::Enrolment;
use cognate_proto::v1::{EnrollRequest, EnrollResponse, RenewRequest, RenewResponse};
use tonic::{Request, Response, Status};

use super::{Members, PeerInfo};
use crate::connection::Connection;
use crate::error::Error;

/// The service for enrolment.
pub(crate) struct EnrolmentService {
    pub(crate) members: Arc<Members>,
}

#[tonic::async_trait]
impl Enrolment for EnrolmentService {
    async fn enroll(&self, request: Request<EnrollRequest>) -> Result<Response<EnrollResponse>, Status> {
        let request = request.into_inner();
        let software = one_line(&request.software);
        let response = self.on_disk(move |members| members.enroll(&request)).await?;
        if let Some(membership) = &response.membership {
            tracing::info!(name = membership.name, software, "a member was enrolled");
        }
        Ok(Response::new(response))
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        let peer =
            request.extensions().get::<Connection>().map_or(PeerInfo::Anonymous, |connection| connection.peer.clone());
        let request = request.into_inner();
        self.on_disk(move |members| members.renew(&peer, &request)).await.map(Response::new)
    }
}

impl EnrolmentService {
    /// Runs work that may wait for the disk on a thread that may block.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Members) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Status> {
        let members = Arc::clone(&self.members);
        let done = cognate_storage::disk::off_tasks(move || work(&members)).await;
        let result = done.map_err(|_| Status::internal("the registry failed"))?;
        result.map_err(|error| {
            if let Error::Refusal(refusal) = &error {
                self.members.refusals().count(*refusal);
            }
            error.into()
        })
    }
}
