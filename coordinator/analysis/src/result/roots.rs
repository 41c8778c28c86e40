//! Writes the repositories that took part, with what the documents of each come to.

use cognate_proto::v1::{FileClass, SyncSummary};
use cognate_result_file::{Root, Skipped};

use super::document_rows::{DocumentRow, DocumentRows, What, status_of};
use super::documents::unread;
use super::names::skip_reason;
use super::{Publication, Writer, row_number};
use crate::findings::Status;
use crate::fine::FineRoot;
use crate::layer_result::LayerResult;
use crate::part::Part;
use crate::second;

impl Writer {
    pub(super) fn roots(&self, publication: &Publication<'_>, documents: &DocumentRows<'_>) -> rusqlite::Result<()> {
        let frozen = publication.roots();
        let sums = RootSums::of(publication, documents);
        let order = publication.launch_order();
        let mut insert = self.insert()?;
        for (number, (root, sums)) in frozen.roots.iter().zip(&sums).enumerate() {
            let compressed = root.summary.census.iter().filter(|row| row.class() != FileClass::Plain);
            // Numbers from a site cannot be trusted, not even to add up.
            let compressed_bytes = compressed.fold(0, |sum: u64, row| sum.saturating_add(row.size_bytes));
            let sum = |count: fn(&SyncSummary) -> u64| {
                let of_layers = publication.synced.iter().map(|layer| count(&layer.frozen.roots[number].summary));
                let again = second::rows_of(publication.row, root.site.as_str(), root.repository.as_str());
                let again = again.filter_map(|row| row.summary.as_ref()).map(count);
                of_layers.chain(again).fold(0, u64::saturating_add)
            };
            let of_fine = |count: fn(&FineRoot) -> u64| {
                let layers = publication.layers.iter().filter_map(|layer| layer.fine.as_ref());
                layers.map(|fine| count(&fine.roots[number])).fold(0, u64::saturating_add)
            };
            let contradicted = publication.layers.iter().map(|layer| layer.frozen.roots[number].contradicted).sum();
            // The site names the program of the view that reads text.
            let recognition = |number: usize| {
                let mut names = publication.synced.iter().map(|layer| &layer.frozen.roots[number].summary.recognition);
                names.rfind(|name| !name.is_empty()).cloned()
            };
            let of_text = |count: u64| publication.counts_once().then_some(count);
            let text = |count: u64| publication.has_text().then_some(count);
            insert.add(&Root {
                id: row_number(number),
                party: root.party.to_string(),
                site: root.site.to_string(),
                repository: root.repository.to_string(),
                documents: sums.documents,
                bytes: sums.bytes,
                chunks: sums.chunks,
                empty: sums.empty,
                unreadable: sums.unreadable,
                changed: sums.changed,
                compressed_bytes,
                hard_links: root.summary.hard_links,
                hard_link_bytes: root.summary.hard_link_bytes,
                read_bytes: sum(|summary| summary.read_bytes),
                read_documents: sum(|summary| summary.read_documents),
                sent_bytes: sum(|summary| summary.sent_bytes).saturating_add(of_fine(|fine| fine.sent_bytes)),
                text_bytes: text(sums.text_bytes),
                members: text(sums.members),
                passages: text(sums.passages),
                no_text: text(sums.no_text),
                fine_read_bytes: of_fine(|fine| fine.read_bytes),
                text_documents: of_text(sums.text_documents),
                text_file_bytes: of_text(sums.text_file_bytes),
                place: order.place_of(root.site.as_str(), root.repository.as_str()) as u64,
                contradicted_contents: contradicted,
                recognised: sums.recognised,
                recognition: recognition(number),
            })?;
            // Every layer's walk leaves the same out.
            self.insert()?.add_all(root.summary.skipped.iter().map(|skipped| Skipped {
                root: row_number(number),
                reason: skip_reason(skipped.reason()).into(),
                entries: skipped.entries,
            }))?;
        }
        Ok(())
    }
}

/// Sums over the documents of a repository.
#[derive(Clone, Copy, Default)]
struct RootSums {
    documents: u64,
    bytes: u64,
    chunks: u64,
    empty: u64,
    unreadable: u64,
    changed: u64,
    recognised: u64,
    text_bytes: u64,
    members: u64,
    passages: u64,
    no_text: u64,
    text_documents: u64,
    text_file_bytes: u64,
}

impl RootSums {
    /// Bytes and chunks are those of the first layer.
    fn of(publication: &Publication<'_>, documents: &DocumentRows<'_>) -> Vec<RootSums> {
        let layers = publication.layers;
        let text = layers.len() - 1;
        let has_text = publication.has_text();
        let mut all = vec![RootSums::default(); publication.roots().roots.len()];
        for numbers in documents.documents() {
            let rows = &documents.rows[numbers];
            let sums = &mut all[usize::from(rows[0].root)];
            let statuses = rows.iter().map(|row| row.status(layers));
            sums.documents += 1;
            sums.empty += u64::from(status_of(statuses) == Status::ExcludedEmpty);
            let read = |row: &DocumentRow<'_>| row.document(layers);
            sums.changed += u64::from(rows.iter().filter_map(read).any(|document| document.changing));
            sums.recognised += u64::from(rows.iter().filter_map(read).any(|document| document.recognised));
            sums.members += u64::from(rows[0].part(layers) == Part::Member);
            sums.passages += u64::from(rows[0].part(layers) == Part::Passage);
            for row in rows {
                sums.no_text += u64::from(row.status(layers) == Status::ExcludedNoText);
                if has_text && usize::from(row.layer) == text {
                    sums.text_bytes += row.size_bytes(layers);
                    sums.text_documents += u64::from(matches!(row.what, What::Document(_)));
                }
                if row.layer == 0 && row.counts_as_text(layers) {
                    sums.text_file_bytes += row.size_bytes(layers);
                }
                if row.layer == 0 {
                    sums.add(row, layers);
                }
            }
        }
        for (_, (root, ..)) in unread(publication) {
            all[usize::from(*root)].unreadable += 1;
        }
        all
    }

    fn add(&mut self, row: &DocumentRow<'_>, layers: &[LayerResult]) {
        self.bytes += row.size_bytes(layers);
        if let What::Document(place) = row.what {
            let frozen = &layers[0].frozen;
            let content = frozen.documents[place as usize].content;
            self.chunks += frozen.contents[content.0 as usize].chunk_count;
        }
    }
}
