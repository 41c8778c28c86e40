//! The parts that two documents of a result share, and their places.

use std::sync::Arc;

use cognate_fingerprint::{ContentDigest, FineChunk, Tag};
use cognate_proto::name::ScanId;
use cognate_proto::options::ScanOptions;
use cognate_proto::v1;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use cognate_result::explain::{Asked, Map, Measured, Placed, Run, Stretch};
use cognate_result::report::Report;

/// Maximum stretches of one kind in a message: the longest.
const STRETCHES_MAX: usize = 16_384;

impl OperatorService {
    /// Compares two contents side by side, from the data that their sites sent.
    ///
    /// # Errors
    /// Fails if the scan has no result, or the person may not see it; if its method has no places; or if a later sync
    /// removed the documents.
    pub fn explain_pair(
        &self,
        operator: &Operator,
        request: &v1::ExplainRequest,
    ) -> Result<v1::ExplainResponse, Error> {
        let id = ScanId(request.scan);
        let state = self.visible_state(operator, id)?;
        self.check_full_result(operator, id, &state)?;
        let layer = usize::try_from(request.layer).unwrap_or(usize::MAX);
        let digests = [digest("a", &request.a)?, digest("b", &request.b)?];
        let found = self.services.scans.analyser.manifests(id, layer, &digests)?;
        let report = Report::open(&self.services.scans.analyser.published(id)?)?;
        let options = ScanOptions::of_record(state.options.as_ref());
        let layers = options.layers().map_err(|error| Error::Invalid(error.to_string()))?;
        if !layers.iter().all(|layer| layer.method.capabilities().has_chunks()) {
            let method = options.method;
            return Err(Error::Refused(format!(
                "`{method}` stores no places: scan with `tttd` to see the common places"
            )));
        }
        let templates = report.templates(layer)?;
        let mut sides = Vec::new();
        for manifest in found {
            let manifest = manifest.ok_or_else(|| {
                Error::Refused("a later sync removed the document: scan again to see the common places".to_owned())
            })?;
            let placed = |(offset, length_bytes, tag, repeated)| Placed {
                offset,
                length_bytes,
                tag,
                template: repeated || templates.contains(&tag),
            };
            sides.push(manifest.placed().map(placed).collect::<Vec<Placed>>());
        }
        let [a, b] = sides.as_slice() else {
            return Err(Error::Refused("an explanation needs two documents".to_owned()));
        };
        let measured = self.measured(id, &report, (layer, &digests), Map::of(a, b))?;
        Ok(to_wire(measured))
    }

    /// The figures of a pair as the scan has them, with the fine chunks that are kept here. No site is asked.
    fn measured(
        &self,
        id: ScanId,
        report: &Report,
        (layer, [a, b]): (usize, &[ContentDigest; 2]),
        map: Map,
    ) -> Result<Measured, Error> {
        let mut kept = self.services.scans.analyser.kept_fine_chunks(id, layer)?;
        let asked = Asked {
            precision: report.precision(layer)?,
            linked_bytes: report.linked_bytes(layer, [a, b])?,
            has_all_of_scan: kept.has_own(),
        };
        let fine = |kept: Option<Vec<FineChunk>>| kept.map(Arc::from);
        // What a later scan has in addition says nothing about the figures of this one.
        let mut of_scan = |tag: &Tag| kept.get_own(tag).map(fine);
        if asked.has_all_of_scan && asked.linked_bytes.is_some() {
            return Ok(Measured::of(map, asked, &mut of_scan)?);
        }
        Ok(Measured::of(map, asked, &mut |tag: &Tag| kept.get(tag).map(fine))?)
    }
}

fn digest(field: &str, bytes: &[u8]) -> Result<ContentDigest, Error> {
    bytes.try_into().map(ContentDigest).map_err(|_| Error::Invalid(format!("`{field}`: a digest has 16 bytes")))
}

fn to_wire(measured: Measured) -> v1::ExplainResponse {
    let Measured { mut map, precision, coarse_reason, unplaced_bytes } = measured;
    let all = map.runs.len();
    longest(&mut map.runs, |run| run.length_bytes, |run| run.a);
    let omitted = u64::try_from(all - map.runs.len()).unwrap_or(u64::MAX);
    for templates in [&mut map.templates_a, &mut map.templates_b] {
        longest(templates, |one| one.length_bytes, |one| one.offset);
    }
    let stretches = |list: Vec<Stretch>| {
        list.into_iter().map(|Stretch { offset, length_bytes }| v1::Stretch { offset, length_bytes }).collect()
    };
    v1::ExplainResponse {
        runs: map.runs.iter().map(|&Run { a, b, length_bytes }| v1::SharedRun { a, b, length_bytes }).collect(),
        runs_omitted: omitted,
        shared_bytes: map.measure.shared_bytes,
        a_payload_bytes: map.measure.a_payload_bytes,
        b_payload_bytes: map.measure.b_payload_bytes,
        templates_a: stretches(map.templates_a),
        templates_b: stretches(map.templates_b),
        precision: precision.map(|precision| precision.to_string()).unwrap_or_default(),
        coarse_reason,
        unplaced_bytes,
    }
}

/// The longest of these that a message holds, in their order.
fn longest<T>(list: &mut Vec<T>, length: impl Fn(&T) -> u64, place: impl Fn(&T) -> u64) {
    if list.len() > STRETCHES_MAX {
        list.sort_by_key(|one| (std::cmp::Reverse(length(one)), place(one)));
        list.truncate(STRETCHES_MAX);
        list.sort_by_key(place);
    }
}
