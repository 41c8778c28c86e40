//! The caller of a method, as the connection and the registry know it.

use cognate_proto::name::SiteName;
use tonic::{Request, Status};

use crate::identity::{Identity, Operator};

/// The site that calls, by its connection and the registry.
pub(crate) fn site_of<T>(request: &Request<T>) -> Result<SiteName, Status> {
    match request.extensions().get::<Identity>() {
        Some(Identity::Site { name, .. }) => Ok(name.clone()),
        _ => Err(Status::unauthenticated("the connection is not a site's")),
    }
}

/// The person who calls, by its connection and the registry.
pub(crate) fn operator_of<T>(request: &Request<T>) -> Result<Operator, Status> {
    match request.extensions().get::<Identity>() {
        Some(Identity::Operator(operator)) => Ok(operator.clone()),
        _ => Err(Status::unauthenticated("the connection is not a person's")),
    }
}
