//! Templates as people handle them: marking tags, and suggestions of tags to mark.

mod mark;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use cognate_analysis::AnalysisLimits;
use cognate_analysis::spec::{ScanJob, ScanSpec};
use cognate_analysis::suggest::{Listener, SuggestOptions};
use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::ScanId;
use cognate_proto::options::ScanView;
use cognate_proto::v1;
use cognate_result::report::{FrameSection, Report};
use cognate_storage::store::{ScanRow, ScanStep};
use cognate_storage::template::{Ignored, check_chunks, in_force, joined, joined_rows};

pub(crate) use self::mark::Mark;
use crate::error::Error;
use crate::scan::Scans;
use cognate_storage::records::Records;

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

/// A frame as it is suggested.
fn suggestion_of(frame: &FrameSection) -> v1::TemplateSuggestion {
    let (tags, lengths) = joined(&frame.chunks);
    let example = |[site, repository, path]: &[String; 3]| {
        let path: String = path.chars().take(TEXT_BYTES_MAX).collect();
        format!("{site}/{repository}/{path}")
    };
    v1::TemplateSuggestion {
        round: 0,
        cluster: frame.cluster.clone(),
        tags,
        lengths,
        rows: joined_rows(&frame.rows),
        documents: frame.documents,
        document_bytes: frame.document_bytes,
        emptied: frame.emptied,
        clusters_gone: frame.clusters_gone,
        clusters_changed: frame.clusters_changed,
        links_gone: frame.links,
        links_hollow: frame.links,
        examples: frame.examples.iter().map(example).collect(),
    }
}

impl Templates {
    /// Suggests the frames that a scan found, then analyses its documents again as they are now, and suggests the tags that are worth
    /// marking.
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
        self.suggest_frames(id, &row, listener)?;
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

    /// Sends the frames of a result, as far as they are not marked.
    fn suggest_frames(&self, id: ScanId, row: &ScanRow, listener: &Listener<'_>) -> Result<(), Error> {
        let mut ignored: HashMap<usize, Ignored> = HashMap::new();
        for frame in Report::open(&self.scans.analyser.published(id)?)?.frames()? {
            let Some(method_id) = row.method_id(frame.layer) else { continue };
            let ignored = match ignored.entry(frame.layer) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(entry) => entry.insert(in_force(&self.records.store, method_id)?.1),
            };
            let is_marked = frame.chunks.iter().all(|chunk| ignored.tags.binary_search(&chunk.0).is_ok())
                && frame.rows.iter().all(|row| ignored.rows.binary_search(row).is_ok());
            if !is_marked {
                let suggestion = Some(suggestion_of(&frame));
                listener(v1::SuggestTemplatesResponse { progress: None, suggestion });
            }
        }
        Ok(())
    }
}
