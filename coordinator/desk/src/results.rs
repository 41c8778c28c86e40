//! Results that are open for browsing, with their verdicts: opening one and bringing verdicts level takes longer than
//! most questions.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use cognate_analysis::Analyser;
use cognate_fingerprint::ContentDigest;
use cognate_proto::name::ScanId;

use crate::error::Error;
use cognate_result::browse::{Browse, ClusterFilter};
use cognate_result::report::{Reader, Report};
use cognate_storage::indexes::Manifest;
use cognate_storage::store::ScanStep;

/// The open results of one scan at most, one for each person who reads at the same time.
const OF_A_SCAN_MAX: usize = 4;
/// The scans with open results at most.
const SCANS_MAX: usize = 16;

/// The results of scans, open for reading.
pub struct Results {
    analyser: Arc<Analyser>,
    /// Open results that are not in use.
    idle: Mutex<HashMap<ScanId, Vec<Browse>>>,
}

impl Results {
    /// The results of an analyser's scans.
    pub fn new(analyser: Arc<Analyser>) -> Results {
        Results { analyser, idle: Mutex::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ScanId, Vec<Browse>>> {
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Closes a scan's result.
    pub fn close(&self, scan: ScanId) {
        self.lock().remove(&scan);
    }

    fn give_back(&self, scan: ScanId, browse: Browse) {
        let mut idle = self.lock();
        if idle.len() >= SCANS_MAX && !idle.contains_key(&scan) {
            // Any of them: it is opened again on demand.
            if let Some(other) = idle.keys().next().copied() {
                idle.remove(&other);
            }
        }
        let of_scan = idle.entry(scan).or_default();
        if of_scan.len() < OF_A_SCAN_MAX {
            of_scan.push(browse);
        }
    }
}

/// An open result with the marks that a person may read, or else any: marking anew takes longer than taking it from the list.
fn take(of_scan: &mut Vec<Browse>, reader: &Reader) -> Option<Browse> {
    let marked = of_scan.iter().position(|browse| browse.reader() == reader);
    marked.map(|place| of_scan.swap_remove(place)).or_else(|| of_scan.pop())
}

/// An open result, for one query at a time.
pub struct Lent<'a> {
    browse: Option<Browse>,
    scan: ScanId,
    results: &'a Results,
}

impl Deref for Lent<'_> {
    type Target = Browse;

    fn deref(&self) -> &Browse {
        self.browse.as_ref().expect("it is there until it is given back")
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Browse {
        self.browse.as_mut().expect("it is there until it is given back")
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // A result that was deleted or replaced meanwhile does not stay open.
        if let (Some(browse), Ok(Some(_))) = (self.browse.take(), self.results.analyser.store.scan(self.scan))
            && browse.is_current()
        {
            self.results.give_back(self.scan, browse);
        }
    }
}

impl Results {
    /// The result of a scan, open for browsing, with the verdicts as they are now and as a person may read them.
    ///
    /// # Errors
    /// Fails if the scan is not there, has no result, or that cannot be read.
    pub fn browse(&self, scan: ScanId, reader: &Reader) -> Result<Lent<'_>, Error> {
        match self.analyser.store.scan(scan)? {
            None => return Err(Error::UnknownScan(scan)),
            Some(row) if row.step() == ScanStep::Published => {}
            Some(row) if row.step().is_under_way() => {
                return Err(Error::Refused(format!("scan {scan} has not ended: it has no result yet")));
            }
            Some(_) => return Err(Error::Refused(format!("scan {scan} has no result"))),
        }
        // An open result may have been altered in its place.
        let path = self.analyser.published(scan)?;
        let idle = self.lock().get_mut(&scan).and_then(|of_scan| take(of_scan, reader)).filter(Browse::is_current);
        let browse = match idle {
            Some(browse) => browse,
            None => Browse::open(&path)?,
        };
        let mut lent = Lent { browse: Some(browse), scan, results: self };
        lent.mark(&self.analyser.store, reader)?;
        Ok(lent)
    }

    /// The result of a scan for reports and plans, with the verdicts that a person may read.
    ///
    /// # Errors
    /// As `Results::browse`.
    pub fn report_with_verdicts(&self, scan: ScanId, reader: &Reader) -> Result<Report, Error> {
        let mut states = Vec::new();
        self.browse(scan, reader)?.verdict_states(&self.analyser.store, |state| {
            states.push(state);
            Ok::<_, cognate_result::Error>(())
        })?;
        let mut report = Report::open(&self.analyser.published(scan)?)?;
        report.set_verdicts(states);
        Ok(report)
    }

    /// The chunks of contents of a result, as their sites sent them; `None` for a content that a later sync removed.
    ///
    /// # Errors
    /// Fails if the scan has no result, or the indexes cannot be read.
    pub fn manifests(
        &self,
        scan: ScanId,
        layer: usize,
        digests: &[ContentDigest],
    ) -> Result<Vec<Option<Manifest>>, Error> {
        Ok(self.analyser.manifests(scan, layer, digests)?)
    }

    /// The result open for browsing, for a filter that may ask what changed since another scan.
    ///
    /// # Errors
    /// As `Results::browse`, of either scan.
    pub fn browse_for(&self, scan: ScanId, filter: &ClusterFilter, reader: &Reader) -> Result<Lent<'_>, Error> {
        let browse = self.browse(scan, reader)?;
        if let Some(since) = filter.since {
            let earlier = self.browse(since, reader)?;
            browse.compare_with(&earlier)?;
        }
        Ok(browse)
    }
}
