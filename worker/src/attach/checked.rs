//! An assignment is a wish: what this site does not offer or its policy does not allow, it refuses, and says why.

use std::fmt;
use std::sync::Arc;

use cognate_fingerprint::Method;
use cognate_proto::name::RepositoryName;
use cognate_proto::scope::{Announced, ScopeError};
use cognate_proto::selection::{Selection, SelectionRule};
use cognate_proto::spec;
use cognate_proto::v1::{Assignment, Resend};

use crate::error::SyncError;
use crate::site::Site;
use crate::sync::Job;

fn refused(error: &dyn fmt::Display) -> SyncError {
    SyncError::Assignment(error.to_string())
}

/// The job that an assignment stands for.
pub(super) fn checked(site: &Site, assignment: Assignment) -> Result<Job, SyncError> {
    let repository: RepositoryName = assignment.repository.parse().map_err(|error| refused(&error))?;
    let wanted = assignment.method.ok_or_else(|| refused(&"it names no method"))?;
    let method = Method::try_from(&wanted).map_err(|error| refused(&error))?;
    if !wanted.method_id.is_empty() {
        let expected = spec::method_id(&wanted.method_id).map_err(|error| refused(&error))?;
        let own = method.id(&site.config.key);
        if expected != own {
            return Err(SyncError::MethodId { expected: expected.to_string(), own: own.to_string() });
        }
    }
    let keyed = site.config.key.is_keyed();
    site.config.policy.check(&repository, &method, keyed, assignment.across_parties).map_err(SyncError::Policy)?;
    let selection = Selection::try_from(assignment.selection.unwrap_or_default()).map_err(|error| refused(&error))?;
    let follow_symlinks = assignment.follow_symlinks;
    let mut job = job(site, assignment.assignment, repository, method, selection, follow_symlinks)?;
    if let Some(refinement) = &assignment.refinement {
        let refinement = Announced::check(refinement).map_err(|error| broken(&error))?;
        site.check_refinement(&job, &refinement)?;
        if assignment.estimate_only {
            return Err(refused(&"what a refinement comes to, its scan knows"));
        }
        job.refinement = Some(refinement);
    }
    Ok(job)
}

fn broken(error: &ScopeError) -> SyncError {
    SyncError::Violation(format!("it announced {error}"))
}

/// The assignment that a resend stands for: only for an index that this site has sent something of.
pub(super) fn checked_resend(site: &Site, resend: Resend) -> Result<Assignment, (u64, SyncError)> {
    let assignment = resend.assignment.ok_or_else(|| (0, refused(&"a resend without an assignment")))?;
    let number = assignment.assignment;
    let check = || {
        let method_id = spec::method_id(&resend.method_id).map_err(|error| refused(&error))?;
        let repository: RepositoryName = assignment.repository.parse().map_err(|error| refused(&error))?;
        let refinement = assignment.refinement.as_ref().map(Announced::check).transpose();
        let scope = refinement.map_err(|error| broken(&error))?.map(|refinement| refinement.id);
        let sent = site.outbox_path(&repository, method_id, scope).try_exists().unwrap_or(false);
        if !sent {
            return Err(refused(&format!("nothing was ever sent of `{repository}` under method {method_id}")));
        }
        let spec = assignment.method.as_ref().ok_or_else(|| refused(&"it names no method"))?;
        let own = Method::try_from(spec).map_err(|error| refused(&error))?.id(&site.config.key);
        if own != method_id {
            return Err(SyncError::MethodId { expected: method_id.to_string(), own: own.to_string() });
        }
        Ok(())
    };
    check().map_err(|error| (number, error))?;
    Ok(assignment)
}

/// A job over a repository that this site offers.
pub(crate) fn job(
    site: &Site,
    assignment: u64,
    repository: RepositoryName,
    method: Method,
    selection: Selection,
    follow_symlinks: bool,
) -> Result<Job, SyncError> {
    let offered = site.config.repositories.iter().find(|(name, _)| *name == repository);
    let Some((_, path)) = offered else { return Err(SyncError::UnknownRepository(repository)) };
    Ok(Job {
        assignment,
        path: path.clone(),
        method_id: method.id(&site.config.key),
        repository,
        method,
        selection: Arc::new(selection),
        follow_symlinks,
        refinement: None,
    })
}

/// The job of a sync that the site itself wants: over everything that a scan was about before, or over all there is.
pub(crate) fn own_job(
    site: &Site,
    repository: RepositoryName,
    method: Method,
    rule: SelectionRule,
    follow_symlinks: bool,
) -> Result<Job, SyncError> {
    let keyed = site.config.key.is_keyed();
    site.config.policy.check(&repository, &method, keyed, false).map_err(SyncError::Policy)?;
    let selection = Selection::new(rule).map_err(|error| refused(&error))?;
    job(site, 0, repository, method, selection, follow_symlinks)
}
