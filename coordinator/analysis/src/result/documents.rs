//! Writes what documents hold, the documents with what became of them, and those that could not be read.

use std::collections::BTreeMap;

use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_result_file::{Content, Document, Ratio, StatusCount, Unread};

use super::changes::Changes;
use super::document_rows::{DocumentRows, What, status_of};
use super::names::{relation_name, status_name, unread_reason};
use super::sets::{Sets, is_in_place};
use super::{LayerPart, Publication, Writer, content_index, row_number};
use crate::findings::Status;
use crate::folders::Partner;
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
        sets: &Sets,
    ) -> rusqlite::Result<()> {
        let layers = publication.layers;
        let contents_before = [0, layers[0].frozen.contents.len()];
        let mut insert = self.insert()?;
        let mut statuses = BTreeMap::<(u16, Status), u64>::new();
        let mut changes = Changes::new(documents, publication.roots().roots.len());
        for rows in documents.documents() {
            let first = rows.start;
            let of_rows = documents.rows[rows.clone()].iter().map(|row| row.status(layers));
            let message_set = sets.of_message(first);
            let status = match (status_of(of_rows.clone()), message_set) {
                (status, Some(_)) if !status.is_excluded() => Status::Identical,
                (status, _) => status,
            };
            *statuses.entry((documents.rows[first].root, status)).or_default() += 1;
            // The view that gives the status also gives the partner.
            let deciding = of_rows.clone().position(|own| own == status).unwrap_or(0);
            // The text of either view may be the recognised one.
            let recognised = documents.rows[rows.clone()]
                .iter()
                .filter_map(|row| row.document(layers))
                .any(|document| document.recognised);
            let message = rows.clone().find_map(|row| documents.rows[row].message(layers));
            for number in rows {
                let row = &documents.rows[number];
                let found = DocumentColumns::of(number, layers, documents);
                if number == first + deciding {
                    let partner = found.partner_in_place.zip(found.partner_relation);
                    changes.add(row.root, first, status, partner, found.standard_text);
                }
                insert.add(&Document {
                    id: row_number(number),
                    root: row.root.into(),
                    path: row.path.to_owned(),
                    content: found.content.map(|content| row_number(contents_before[usize::from(row.layer)] + content)),
                    size_bytes: row.size_bytes(layers),
                    modified: found.modified,
                    changing: found.changing,
                    status: status_name(status).into(),
                    partner: found.partner.map(i64::from),
                    partner_shared_bytes: found.partner_shared_bytes,
                    partner_relation: found.partner_relation.map(Into::into),
                    partner_in_place: found.partner_in_place,
                    partner_outside: found.partner_outside,
                    standard_text: found.standard_text,
                    layer: row.layer.into(),
                    other: documents.other(number).map(row_number),
                    listed: number == first,
                    layer_status: Some(row.status(layers))
                        .filter(|own| *own != status)
                        .map(|own| status_name(own).into()),
                    partner_in_other: number == first && deciding > 0,
                    message_id_hash: message,
                    message: message_set.filter(|_| number == first).map(row_number),
                    counterpart: documents.counterpart(number).map(row_number),
                    recognised,
                })?;
            }
        }
        let by_name = statuses.into_iter().map(|((root, status), count)| ((root, status_name(status)), count));
        let by_name = by_name.collect::<BTreeMap<_, _>>().into_iter();
        self.insert()?.add_all(by_name.map(|((root, status), documents)| StatusCount {
            root: root.into(),
            status: status.into(),
            documents,
        }))?;
        changes.write(&self.connection, documents)
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

/// Columns of a document under one view.
#[derive(Default)]
pub(super) struct DocumentColumns {
    pub(super) content: Option<usize>,
    pub(super) modified: i64,
    pub(super) changing: bool,
    /// The row of the document of another repository that it is best compared with.
    pub(super) partner: Option<u32>,
    pub(super) partner_shared_bytes: Option<u64>,
    pub(super) partner_relation: Option<&'static str>,
    pub(super) partner_in_place: Option<bool>,
    pub(super) partner_outside: Option<Ratio>,
    /// True if it has no partner, and shares standard text with a document of another repository.
    pub(super) standard_text: bool,
}

impl DocumentColumns {
    pub(super) fn of(number: usize, layers: &[LayerResult], documents: &DocumentRows<'_>) -> DocumentColumns {
        let row = &documents.rows[number];
        let What::Document(place) = row.what else { return DocumentColumns::default() };
        let layer = usize::from(row.layer);
        let LayerResult { frozen, findings, .. } = &layers[layer];
        let document = &frozen.documents[place as usize];
        let partner = findings.of_links.partners.of_document(place as usize);
        let row_of = |partner: Partner| documents.place(layer, partner.document);
        DocumentColumns {
            content: Some(document.content.0 as usize),
            modified: row.modified(layers),
            changing: document.changing,
            partner: partner.map(row_of),
            partner_shared_bytes: partner.map(|partner| partner.shared_bytes),
            partner_relation: partner.map(|partner| partner.relation.map_or("identical", relation_name)),
            partner_in_place: partner.map(|partner| documents.is_one_place(number, row_of(partner) as usize)),
            partner_outside: partner
                .and_then(|partner| partner.outside)
                .map(|Fraction { part, whole }| Ratio::of(part, whole)),
            standard_text: findings.of_links.partners.has_standard_text_alone(place as usize),
        }
    }
}
