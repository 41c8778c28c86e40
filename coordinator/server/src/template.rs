//! Templates as people handle them: marking tags, and suggestions of tags to mark.

mod mark;

use std::sync::Arc;

use cognate_analysis::AnalysisLimits;
use cognate_analysis::spec::{ScanJob, ScanSpec};
use cognate_analysis::suggest::{Listener, SuggestOptions};
use cognate_proto::name::ScanId;
use cognate_proto::options::ScanView;
use cognate_proto::v1;
use cognate_storage::store::{ScanRow, ScanStep};
use cognate_storage::template::check_chunks;

pub(crate) use self::mark::Mark;
use crate::error::Error;
use crate::records::Records;
use crate::scan::Scans;

/// The least number of kinds of contents that hold a suggested tag, unless the request has one.
const KINDS_MIN: u32 = 5;

/// Templates as people handle them.
pub(crate) struct Templates {
    pub(crate) records: Arc<Records>,
    pub(crate) scans: Arc<Scans>,
}

/// A request for suggestions from a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuggestRequest {
    pub(crate) scan: ScanId,
    options: SuggestOptions,
}

impl SuggestRequest {
    pub(crate) fn from_wire(request: v1::SuggestTemplatesRequest) -> Result<SuggestRequest, Error> {
        let kinds_min = if request.min_documents == 0 { KINDS_MIN } else { request.min_documents };
        if kinds_min < 2 {
            return Err(Error::Invalid("`min_documents`: it must be at least 2".to_owned()));
        }
        let kinds_min = usize::try_from(kinds_min).unwrap_or(usize::MAX);
        let options = SuggestOptions { until_quiet: request.until_quiet, kinds_min };
        Ok(SuggestRequest { scan: ScanId(request.scan), options })
    }
}

impl Templates {
    /// Analyses the documents of a scan again as they are now, and suggests the tags that are worth marking.
    ///
    /// # Errors
    /// Fails if the scan has no result, its sites have no indexes any more, or the analysis fails.
    pub(crate) fn suggest(
        &self,
        request: &SuggestRequest,
        limits: &AnalysisLimits,
        listener: &Listener<'_>,
    ) -> Result<(), Error> {
        let id = request.scan;
        let row = self.records.store.scan(id)?.filter(|row| row.step() == ScanStep::Published);
        let row = row.ok_or_else(|| Error::Refused(format!("scan {id} has no result")))?;
        let mut options = row.options();
        if options.view == ScanView::Auto {
            // Templates of office files are of their text, which a scan with `--view text` compares.
            options.view = ScanView::Raw;
        }
        let mut spec = ScanSpec::new(options, limits)?;
        let [layer] = spec.layers.as_mut_slice() else {
            return Err(Error::Refused(format!(
                "scan {id} compares two views, and templates are of one: suggest from a scan with --view raw or --view text"
            )));
        };
        layer.method_id = row.method_id(0);
        check_chunks(&layer.method)?;
        let places = row.frozen.iter().map(|frozen| (frozen.site.clone(), frozen.repository.clone()));
        let analyser = &self.scans.analyser;
        let _hold = analyser.indexes.hold(places);
        let choices = self.scans.choices(&spec)?;
        let taken = self.scans.take_last(&spec, &choices, ScanRow::default())?;
        let taken = analyser.freeze_templates(taken)?;
        Ok(analyser.suggest_templates(&ScanJob::unwatched(id, spec), &taken, request.options, listener)?)
    }
}
