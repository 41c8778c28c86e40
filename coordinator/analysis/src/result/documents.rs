//! Writes what documents hold, the documents with what became of them, and those that could not be read.

use std::collections::BTreeMap;

use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_result_file::{Content, Document, Ratio, StatusCount, Unread};

use super::changes::Changes;
use super::decision::{Decision, Decisions};
use super::document_rows::{DecidedPartner, DocumentRows};
use super::names::{elsewhere_name, relation_name, status_name, undecided_name, unread_reason};
use super::sets::{Sets, is_in_place};
use super::{LayerPart, Publication, Writer, content_index, row_number};
use crate::findings::Status;
use crate::layer_result::LayerResult;
use crate::ratio::Fraction;

impl Writer {
    pub(super) fn contents(
        &self,
        part: &LayerPart<'_>,
        documents: &DocumentRows<'_>,
        sets: &Sets,
    ) -> rusqlite::Result<()> {
        let LayerResult { frozen, findings, .. } = part.layer;
        self.insert()?.add_all(frozen.contents.iter().enumerate().map(|(number, content)| Content {
            id: part.content(content_index(number)),
            digest: content.digest.0,
            size_bytes: content.size_bytes,
            payload_bytes: content.payload_bytes,
            chunks: content.chunk_count,
            documents: findings.copies.of_content(content_index(number)).len() as u64,
            identical: sets.of_content(part.number, number).map(row_number),
            in_place: is_in_place(part.number, part.layer, content_index(number), documents),
            cluster: part.order.number_of(number).map(row_number),
            layer: part.number,
        }))
    }

    pub(super) fn documents(
        &self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        decisions: &Decisions,
    ) -> rusqlite::Result<()> {
        let layers = publication.layers;
        let contents_before = [0, layers[0].frozen.contents.len()];
        let mut insert = self.insert()?;
        let mut statuses = BTreeMap::<(u16, Status), u64>::new();
        let mut changes = Changes::new(documents, publication.roots().roots.len());
        let sites = decisions.reach(publication, documents, 0);
        for (rows, decision) in documents.documents().zip(&decisions.of_documents) {
            let Decision { status, elsewhere, undecided, .. } = *decision;
            let (first, deciding) = (rows.start, decision.deciding as usize);
            *statuses.entry((documents.rows[first].root, status)).or_default() += 1;
            let is_in_place = |partner: &DecidedPartner| documents.is_one_place(first, partner.row as usize);
            changes.add(documents.rows[first].root, decision, decision.partner.as_ref().is_some_and(is_in_place));
            // The text of either view may be the recognised one.
            let mut read = documents.rows[rows.clone()].iter().filter_map(|row| row.document(layers));
            let recognised = read.any(|document| document.recognised);
            let message = rows.clone().find_map(|row| documents.rows[row].message(layers));
            for number in rows {
                let row = &documents.rows[number];
                // The row of another view has its own partner beside that of the document.
                let partner = if number == deciding { decision.partner } else { documents.partner(number, layers) };
                let document = row.document(layers);
                insert.add(&Document {
                    id: row_number(number),
                    root: row.root.into(),
                    path: row.path.to_owned(),
                    content: document
                        .map(|found| row_number(contents_before[usize::from(row.layer)] + found.content.0 as usize)),
                    size_bytes: row.size_bytes(layers),
                    modified: row.modified(layers),
                    changing: document.is_some_and(|document| document.changing),
                    status: status_name(status).into(),
                    partner: partner.map(|partner| partner.row.into()),
                    partner_shared_bytes: partner.map(|partner| partner.shared_bytes),
                    partner_relation: partner.map(|partner| partner.relation.map_or("identical", relation_name).into()),
                    partner_in_place: partner.as_ref().map(is_in_place),
                    partner_outside: partner
                        .and_then(|partner| partner.outside)
                        .map(|Fraction { part, whole }| Ratio::of(part, whole)),
                    layer: row.layer.into(),
                    other: documents.other(number).map(row_number),
                    listed: number == first,
                    layer_status: Some(row.status(layers))
                        .filter(|own| *own != status && (*own, status) != (Status::Unique, Status::Undecided))
                        .map(|own| status_name(own).into()),
                    partner_in_other: number == first && deciding != first,
                    elsewhere: elsewhere.map(|elsewhere| elsewhere_name(elsewhere).into()),
                    at_sites: Some(number == first).filter(|listed| *listed).map(|_| bits(sites.others(decision))),
                    standard_text_sites: Some(bits(sites.with_standard_text(decision)))
                        .filter(|bits| number == first && !bits.is_empty()),
                    undecided: undecided.map(|undecided| undecided_name(undecided).into()),
                    message_id_hash: message,
                    loose_set: decision.loose_set.filter(|_| number == first).map(row_number),
                    counterpart: documents.counterpart(number).map(row_number),
                    recognised,
                })?;
            }
        }
        self.statuses(statuses)?;
        changes.write(&self.connection, documents)
    }

    /// The number of documents of each repository by status.
    fn statuses(&self, statuses: BTreeMap<(u16, Status), u64>) -> rusqlite::Result<()> {
        let by_name = statuses.into_iter().map(|((root, status), count)| ((root, status_name(status)), count));
        let by_name = by_name.collect::<BTreeMap<_, _>>().into_iter();
        self.insert()?.add_all(by_name.map(|((root, status), documents)| StatusCount {
            root: root.into(),
            status: status.into(),
            documents,
        }))
    }

    pub(super) fn unread(&self, publication: &Publication<'_>) -> rusqlite::Result<()> {
        self.insert()?.add_all(unread(publication).into_iter().map(|(layer, (root, path, state))| Unread {
            root: i64::from(*root),
            path: path.as_bytes().to_owned(),
            reason: unread_reason(*state).into(),
            layer,
        }))
    }
}

/// Unreadable documents, with the layer that could not read them: a document whose bytes cannot be read is listed once.
pub(super) fn unread<'a>(publication: &Publication<'a>) -> Vec<(usize, &'a (u16, DocumentPath, DocumentState))> {
    let mut all: Vec<_> = publication
        .layers
        .iter()
        .enumerate()
        .flat_map(|(layer, found)| found.frozen.unread.iter().map(move |unread| (layer, unread)))
        .collect();
    all.sort_by(|(a_layer, a), (b_layer, b)| (a.0, &a.1, a_layer).cmp(&(b.0, &b.1, b_layer)));
    all.dedup_by(|(_, later), (_, first)| (later.0, &later.1) == (first.0, &first.1));
    all
}

/// Numbers as the bits of bytes, the lowest first.
fn bits(numbers: impl Iterator<Item = u16>) -> Vec<u8> {
    let mut bits = Vec::new();
    for number in numbers.map(usize::from) {
        if bits.len() <= number / 8 {
            bits.resize(number / 8 + 1, 0);
        }
        bits[number / 8] |= 1 << (number % 8);
    }
    bits
}
