//! What sites, and parties, have in common, and what only one of them has: counted over the decisions about all documents, each document once,
//! in bytes of what was compared: of each document under the view that speaks for it.

use std::collections::BTreeMap;

use cognate_result_file::{OnlyHere, Overlap};

use super::decision::{Decision, Decisions, Elsewhere, Reach};
use super::document_rows::{DocumentRows, is_control};
use super::{Publication, content_index};
use crate::fine::EstimatedBytes;
use crate::layer_result::LayerResult;
use crate::ratio::Fraction;

/// Sums over labels, and over pairs of them row by row.
struct Sums {
    labels: usize,
    documents_total: Vec<u64>,
    bytes_total: Vec<u64>,
    documents: Vec<u64>,
    contents: Vec<u64>,
    /// What is counted document by document: copies, where bytes take no part in the comparison, and documents of a layer that speaks for some of
    /// its documents only.
    shared_bytes: Vec<u64>,
    shared_once_bytes: Vec<u64>,
}

/// The overlap of all pairs of sites, and of parties.
pub(super) fn overlap(
    publication: &Publication<'_>,
    documents: &DocumentRows<'_>,
    decisions: &Decisions,
) -> Vec<Overlap> {
    let roots = &publication.roots().roots;
    let mut rows = Vec::new();
    for (level, name) in ["site", "party"].into_iter().enumerate() {
        let sums = Sums::of(publication, documents, decisions, level);
        let label_name = |label: usize| {
            let root = match level {
                0 => roots.iter().find(|root| usize::from(root.site_number) == label).map(|root| root.site.to_string()),
                _ => {
                    roots.iter().find(|root| usize::from(root.party_number) == label).map(|root| root.party.to_string())
                }
            };
            root.unwrap_or_default()
        };
        let cell = |a: usize, b: usize| a * sums.labels + b;
        for (a, b) in (0..sums.labels).flat_map(|a| (a + 1..sums.labels).map(move |b| (a, b))) {
            let covered = |of: fn(&LayerResult, usize) -> &[u64], cell: usize| -> u64 {
                let counted = publication.layers.iter().filter(|layer| layer.findings.of_links.closest.is_none());
                counted.map(|layer| of(layer, level)[cell]).sum()
            };
            let shared = |cell: usize| {
                let covered = covered(|layer, level| &layer.findings.of_links.covered[level].shared_bytes, cell);
                // Chunks that are there may be counted beside a relative by text alone.
                (covered + sums.shared_bytes[cell]).min(sums.bytes_total[cell / sums.labels])
            };
            let once = |cell: usize| {
                let covered = covered(|layer, level| &layer.findings.of_links.covered[level].shared_once_bytes, cell);
                (covered + sums.shared_once_bytes[cell]).min(sums.bytes_total[cell / sums.labels])
            };
            let unmeasured = |a: usize, b: usize| -> Option<EstimatedBytes> {
                let counted = publication.layers.iter().filter(|layer| layer.findings.of_links.closest.is_none());
                let sums: Option<Vec<EstimatedBytes>> =
                    counted.map(|layer| layer.fine.as_ref()?.unmeasured[level].of(a, b)).collect();
                sums?.into_iter().reduce(EstimatedBytes::plus)
            };
            let [of_a, of_b] = [unmeasured(a, b), unmeasured(b, a)];
            let estimated = |unmeasured: Option<EstimatedBytes>, a: usize, b: usize| {
                Some((shared(cell(a, b)) + unmeasured?.bytes).min(sums.bytes_total[a]))
            };
            let template = |cell| covered(|layer, level| &layer.findings.of_links.covered[level].template_bytes, cell);
            rows.push(Overlap {
                level: name.into(),
                a: label_name(a),
                b: label_name(b),
                documents_a: sums.documents[cell(a, b)],
                documents_b: sums.documents[cell(b, a)],
                documents_total_a: sums.documents_total[a],
                documents_total_b: sums.documents_total[b],
                contents_a: sums.contents[cell(a, b)],
                contents_b: sums.contents[cell(b, a)],
                shared_bytes_a: shared(cell(a, b)),
                shared_bytes_b: shared(cell(b, a)),
                shared_once_bytes_a: once(cell(a, b)),
                shared_once_bytes_b: once(cell(b, a)),
                template_bytes_a: template(cell(a, b)),
                template_bytes_b: template(cell(b, a)),
                estimated_bytes_a: estimated(of_a, a, b),
                estimated_bytes_b: estimated(of_b, b, a),
                estimate_error_bytes_a: of_a.map(|of_a| of_a.error_bytes),
                estimate_error_bytes_b: of_b.map(|of_b| of_b.error_bytes),
                bytes_total_a: sums.bytes_total[a],
                bytes_total_b: sums.bytes_total[b],
            });
        }
    }
    rows
}

impl Sums {
    fn of(publication: &Publication<'_>, documents: &DocumentRows<'_>, decisions: &Decisions, level: usize) -> Sums {
        let reach = decisions.reach(publication, documents, level);
        let labels = usize::from(reach.label_count());
        let [documents_of, contents, shared_bytes, shared_once_bytes] = [(); 4].map(|()| vec![0; labels * labels]);
        let [documents_total, bytes_total] = [(); 2].map(|()| vec![0; labels]);
        let mut sums = Sums {
            labels,
            documents_total,
            bytes_total,
            documents: documents_of,
            contents,
            shared_bytes,
            shared_once_bytes,
        };
        let of_rows = decisions.by_speaking_row(documents.rows.len());
        for (number, layer) in publication.layers.iter().enumerate() {
            for content in 0..layer.frozen.contents.len() {
                let (mut cells, mut speaking) = (Vec::new(), 0);
                for place in layer.findings.copies.of_content(content_index(content)) {
                    let row = documents.place(number, *place) as usize;
                    let Some(document) = of_rows[row] else { continue };
                    speaking = row;
                    let decision = &decisions.of_documents[document as usize];
                    let own = usize::from(reach.own(decision));
                    sums.documents_total[own] += 1;
                    sums.bytes_total[own] += layer.frozen.contents[content].size_bytes;
                    if !layer.frozen.is_control(*place) {
                        cells.extend(reach.others(decision).map(|other| own * labels + usize::from(other)));
                    }
                }
                cells.sort_unstable();
                for copies in cells.chunk_by(|a, b| a == b) {
                    let (cell, count) = (copies[0], copies.len() as u64);
                    let label = u16::try_from(cell % labels).expect("sites are few");
                    let bytes = bytes_at(&reach, documents, speaking, label, publication.layers);
                    sums.documents[cell] += count;
                    sums.contents[cell] += 1;
                    sums.shared_bytes[cell] += count * bytes;
                    sums.shared_once_bytes[cell] += bytes;
                }
            }
        }
        sums
    }
}

/// The bytes of a document under the view of a row that are at a label, where chunks do not count them: where they are counted document by
/// document, and where another view alone has something of it there. What that view found is the same share of them.
fn bytes_at(reach: &Reach<'_>, documents: &DocumentRows<'_>, row: usize, label: u16, layers: &[LayerResult]) -> u64 {
    let layer = &layers[usize::from(documents.rows[row].layer)];
    let Some(document) = documents.rows[row].document(layers) else { return 0 };
    let (content, number) = (&layer.frozen.contents[document.content.0 as usize], document.content);
    let links = &layer.findings.of_links;
    if let Some(closest) = &links.closest {
        let is_there =
            |place: &u32| reach.label_of(layer.frozen.root_of(*place)) == label && !layer.frozen.is_control(*place);
        let is_held = layer.findings.copies.of_content(number).iter().any(is_there);
        let closest = closest[reach.level()].get(&(number.0, label)).copied().unwrap_or(0);
        return if is_held { content.size_bytes } else { closest.min(content.size_bytes) };
    }
    if content.spoken_for {
        return content.size_bytes;
    }
    if links.reach[reach.level()].as_ref().is_some_and(|reach| reach.is_at(number.0 as usize, label)) {
        return 0;
    }
    let Some(other) = documents.other(row).filter(|other| documents.rows[*other].layer > 0) else { return 0 };
    let part = bytes_at(reach, documents, other, label, layers);
    Fraction { part, whole: documents.rows[other].size_bytes(layers) }.of_bytes(content.size_bytes)
}

/// What only one place has, and what is not decided, by the folders at the top of repositories.
pub(super) fn only_here(
    publication: &Publication<'_>,
    documents: &DocumentRows<'_>,
    decisions: &Decisions,
) -> Vec<OnlyHere> {
    let mut folders: BTreeMap<(u16, &[u8]), OnlyHere> = BTreeMap::new();
    let is_counted = |decision: &&Decision| !is_control(decision.speaking, documents, publication.layers);
    for decision in decisions.of_documents.iter().filter(is_counted) {
        let (Some(elsewhere), row) = (decision.elsewhere, &documents.rows[decision.first as usize]) else { continue };
        if elsewhere == Elsewhere::Yes {
            continue;
        }
        let folder = row.path.iter().position(|byte| *byte == b'/').map_or(&row.path[..0], |slash| &row.path[..slash]);
        let sums = folders.entry((row.root, folder)).or_default();
        let (count, bytes) = match elsewhere {
            Elsewhere::StandardText => (&mut sums.standard_text_documents, &mut sums.standard_text_bytes),
            Elsewhere::NotDecided => (&mut sums.undecided_documents, &mut sums.undecided_bytes),
            Elsewhere::No | Elsewhere::Yes => (&mut sums.documents, &mut sums.bytes),
        };
        *count += 1;
        *bytes += decision.compared_bytes(publication, documents);
    }
    let row = |((root, folder), sums): ((u16, &[u8]), OnlyHere)| OnlyHere {
        root: root.into(),
        folder: folder.to_vec(),
        ..sums
    };
    folders.into_iter().map(row).collect()
}
