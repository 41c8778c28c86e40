//! Removal: of a site with all that it sent, of a scan with its result, and of state that is past its retention time.

use crate::find::Finder;
use crate::identity::Members;
use crate::scan::Scans;
use crate::session::Sessions;
use cognate_desk::case::Cases;
use cognate_desk::results::Results;
use cognate_storage::records::Records;
use std::sync::Arc;
use std::time::Duration;

use cognate_proto::name::{ScanId, SiteName};
use cognate_proto::v1::{self, MemberKind};

use crate::error::Error;
use cognate_storage::maintenance::{Keeping, Retention};

/// Retention times; `None`: for ever.
#[derive(Clone, Copy, Default, Debug)]
pub struct KeepFor {
    /// Results, from when their scans ended.
    pub scans: Option<Duration>,
    /// Indexes under a method, from when they were last sealed or analysed.
    pub methods: Option<Duration>,
}

/// Removes sites, scans, and state that is past its retention time.
pub(crate) struct Removal {
    pub(crate) records: Arc<Records>,
    pub(crate) members: Arc<Members>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) scans: Arc<Scans>,
    pub(crate) results: Arc<Results>,
    pub(crate) cases: Arc<Cases<Finder>>,
}

impl Removal {
    /// Erases a site: its session, its scans with their results, its indexes, and its place in the registry.
    ///
    /// # Errors
    /// Fails if there is no such site, a scan about it has not ended (it is cancelled, and the next attempt will
    /// succeed), or something cannot be removed; a repeated request continues.
    pub(crate) fn forget_site(&self, site: &SiteName, by: &str) -> Result<v1::ForgetSiteResponse, Error> {
        if self.records.store.member(MemberKind::Site, site.as_str())?.is_none() {
            return Err(Error::UnknownSite(site.clone()));
        }
        // The site is shut out first, so that it cannot send the erased data again.
        self.members.revoke(MemberKind::Site, site.as_str(), by)?;
        self.sessions.cut(site);
        let concerned: Vec<ScanId> = {
            let running = self.scans.lock();
            let about =
                running.values().filter(|scan| scan.spec.options.repositories.iter().any(|(one, _)| one == site));
            about.map(|scan| scan.id).collect()
        };
        concerned.into_iter().for_each(|id| self.scans.cancel(id));
        self.cases.erase(site, by)?;
        let forgotten = self.keeping().forget(site, by, self.records.now())?;
        tracing::info!(%site, by, indexes = forgotten.indexes, documents = forgotten.documents, "a site was forgotten");
        Ok(forgotten)
    }

    /// Deletes a scan that has ended, and returns the freed bytes.
    pub(crate) fn delete_as(&self, id: ScanId, by: &str) -> Result<u64, Error> {
        if let Some(refinement) = self.keeping().refined_by(id)? {
            return Err(Error::Refused(format!(
                "scan {id} is being refined by scan {refinement}: wait for its end, or cancel it first"
            )));
        }
        self.scans.lock().remove(&id);
        self.results.close(id);
        Ok(self.keeping().delete_scan(id, by, self.records.now())?)
    }

    /// Deletes state that is past its retention time, and compacts a journal that has outgrown the state.
    pub(crate) fn tidy(&self, keep: KeepFor) {
        self.expire(keep);
        if let Err(error) = self.records.store.compact_journal() {
            tracing::error!(%error, "the journal cannot be compacted, and grows");
        }
    }

    /// Deletes state that is past its retention time.
    fn expire(&self, keep: KeepFor) {
        let in_seconds = |keep: Duration| i64::try_from(keep.as_secs()).unwrap_or(i64::MAX);
        let retention =
            Retention { scans_seconds: keep.scans.map(in_seconds), methods_seconds: keep.methods.map(in_seconds) };
        match self.keeping().expire(retention, self.records.now()) {
            Ok(expired) if expired.scans.is_empty() && expired.indexes == 0 => {}
            Ok(expired) => {
                tracing::info!(
                    scans = expired.scans.len(),
                    indexes = expired.indexes,
                    "state past its retention time was removed"
                );
            }
            Err(error) => tracing::error!(%error, "state past its retention time cannot be removed"),
        }
    }

    fn keeping(&self) -> Keeping<'_> {
        Keeping {
            store: &self.records.store,
            indexes: &self.scans.analyser.indexes,
            scans: &self.scans.analyser.folder,
        }
    }
}
