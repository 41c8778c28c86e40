//! Waits for sites that answer nothing now: they are away, paused, or outside of their hours.

use std::sync::Arc;

use cognate_analysis::fine::FineFailure;
use cognate_proto::name::SiteName;

use super::REVOKED;
use crate::identity::Members;
use crate::session::Sessions;

/// The sites of a scan, as others wait for them.
#[derive(Clone)]
pub(super) struct SiteWait {
    pub(super) sessions: Arc<Sessions>,
    pub(super) members: Arc<Members>,
}

impl SiteWait {
    /// The reason why a site answers nothing now, for people; `None` if it can.
    pub(super) fn reason(&self, site: &SiteName) -> Option<&'static str> {
        match self.sessions.attached(site) {
            None => Some("the site is not attached"),
            Some(attached) if attached.paused => Some("the site is paused"),
            Some(attached) if attached.outside_hours => Some("the site is outside of its hours"),
            Some(_) => None,
        }
    }

    /// True if a site is no member any more: it never comes back. A registry that cannot be read says nothing about it.
    fn is_revoked(&self, site: &SiteName) -> bool {
        self.members.has_site(site).is_ok_and(|has_it| !has_it)
    }

    /// Waits until one of the sites can answer, or is revoked.
    pub(super) async fn any(&self, sites: &[SiteName]) {
        let (mut changes, mut membership) = (self.sessions.changes(), self.members.changes());
        loop {
            // Marked as seen before the check, so that a site that changes meanwhile is not missed.
            changes.mark_unchanged();
            membership.mark_unchanged();
            if sites.iter().any(|site| self.reason(site).is_none() || self.is_revoked(site)) {
                return;
            }
            // The senders live as long as the sessions and the registry do.
            tokio::select! {
                _ = changes.changed() => {}
                _ = membership.changed() => {}
            }
        }
    }

    /// Waits until a site can answer.
    ///
    /// # Errors
    /// Fails if it is revoked.
    pub(super) async fn one(&self, site: &SiteName) -> Result<(), FineFailure> {
        self.any(std::slice::from_ref(site)).await;
        if self.is_revoked(site) { Err(FineFailure::passing(REVOKED)) } else { Ok(()) }
    }
}
