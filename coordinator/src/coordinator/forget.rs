//! Forgetting a site: all that it sent, what was made of it, and the site itself.

use std::sync::Arc;

use cognate_proto::name::SiteName;
use cognate_proto::v1::{self, MemberKind};

use super::Coordinator;
use crate::error::Error;
use crate::store::ScanStep;

impl Coordinator {
    /// Erases a site: its session, its scans with their results, its indexes, and its place in the registry.
    ///
    /// # Errors
    /// When there is no such site, or something cannot be removed; asked again, it goes on where it was.
    pub(crate) fn forget_site(self: &Arc<Self>, site: &SiteName, by: &str) -> Result<v1::ForgetSiteResponse, Error> {
        if self.store.member(MemberKind::Site, site.as_str())?.is_none() {
            return Err(Error::UnknownSite(site.clone()));
        }
        // Shut out first: what is erased must not be sent again.
        self.members.revoke(MemberKind::Site, site.as_str(), by)?;
        self.sessions.cut(site);
        let (mut scans, mut bytes) = (Vec::new(), 0);
        for (id, row) in self.store.scans()? {
            let named = row.spec.iter().flat_map(|spec| &spec.repositories).any(|one| one.site == site.as_str());
            if !named {
                continue;
            }
            if matches!(row.step(), ScanStep::Syncing | ScanStep::Frozen) {
                self.cancel(id);
                return Err(Error::Busy(format!(
                    "scan {id} is about `{site}` and was cancelled: try again in a moment"
                )));
            }
            bytes += self.delete_as(id, by)?;
            scans.push(id.0);
        }
        let forgotten = self.scans.indexes.forget(site)?;
        self.members.forget(MemberKind::Site, site.as_str(), by)?;
        tracing::info!(%site, by, indexes = forgotten.indexes, documents = forgotten.documents, "a site was forgotten");
        Ok(v1::ForgetSiteResponse {
            indexes: forgotten.indexes,
            documents: forgotten.documents,
            bytes: bytes + forgotten.bytes,
            scans,
        })
    }
}
