//! Writes the sets of the same bytes, packed.

use cognate_result_file::{Insert, PackedSet, PackedSets};

use super::sets::content_of;
use super::{Publication, Rows, Writer, content_index};

impl Writer {
    /// The sets of the same bytes in their order.
    pub(super) fn packed_sets(&self, publication: &Publication<'_>, rows: &Rows<'_>) -> rusqlite::Result<()> {
        let Rows { documents, sets, clusters, .. } = rows;
        if publication.scan.spec.layers[0].method.view().is_text() {
            return Ok(());
        }
        let layer = &publication.layers[0];
        let loose_from = sets.of_contents();
        let cluster = |layer: usize, content: usize| clusters[layer].number_of(content).map(|number| number as u64);
        let mut blocks = BlockRows { insert: self.insert()?, first: 0, block: Vec::new() };
        for (number, content) in sets.listed(0) {
            let of_content = &layer.frozen.contents[content];
            let mut set = PackedSet::new(number as u64, of_content.digest.0, of_content.size_bytes);
            set.clusters.extend(cluster(0, content));
            for document in layer.findings.copies.of_content(content_index(content)) {
                let row = documents.place(0, *document) as usize;
                let other = documents.other(row);
                for row in [Some(row), other].into_iter().flatten().map(|row| &documents.rows[row]) {
                    let is_recognised = row.document(publication.layers).is_some_and(|document| document.recognised);
                    set.says_more |= is_recognised || row.message(publication.layers).is_some();
                }
                if let Some((other, text)) =
                    other.and_then(|other| Some((other, content_of(publication, documents, other)?)))
                {
                    let view = usize::from(documents.rows[other].layer);
                    set.clusters.extend(cluster(view, text));
                    set.sets.extend(sets.of_content(view, text).map(|number| number as u64));
                }
                set.sets.extend(sets.loose_set(documents.first(row)).map(|loose| (loose_from + loose) as u64));
                let document = &layer.frozen.documents[*document as usize];
                set.push(document.root.into(), document.modified, layer.frozen.path(document));
            }
            for numbers in [&mut set.clusters, &mut set.sets] {
                numbers.sort_unstable();
                numbers.dedup();
            }
            blocks.add(&set)?;
        }
        blocks.finish()
    }
}

struct BlockRows<'a> {
    insert: Insert<'a, PackedSets>,
    first: u64,
    block: Vec<u8>,
}

impl BlockRows<'_> {
    fn add(&mut self, set: &PackedSet) -> rusqlite::Result<()> {
        if self.block.is_empty() {
            self.first = set.number;
        }
        set.pack(&mut self.block);
        if PackedSet::ends_block(&self.block) { self.finish() } else { Ok(()) }
    }

    fn finish(&mut self) -> rusqlite::Result<()> {
        if !self.block.is_empty() {
            self.insert.add(&PackedSets { first: self.first, block: std::mem::take(&mut self.block) })?;
        }
        Ok(())
    }
}
