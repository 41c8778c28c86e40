//! The documents of all layers: one row for each document in each view, those of one document side by side.

use std::ops::Range;

use cognate_similarity::Relation;

use super::Publication;
use crate::alignment::Alignment;
use crate::findings::Status;
use crate::freeze::{BareDocument, FrozenContent, FrozenDocument};
use crate::layer_result::LayerResult;
use crate::part::Part;
use crate::ratio::Fraction;
use crate::undecided::UndecidedReason;

/// The document elsewhere that a document is best compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecidedPartner {
    /// Its row.
    pub(super) row: u32,
    /// The bytes of the document that both have, under the view of its row.
    pub(super) shared_bytes: u64,
    /// Relation of the document to it; `None`: they are the same.
    pub(super) relation: Option<Relation>,
    /// The share of the document outside of frames that it has; `None`: no frame is part of their link.
    pub(super) outside: Option<Fraction>,
}

/// All rows, by root, path and layer; their places are their numbers.
pub(super) struct DocumentRows<'a> {
    pub(super) rows: Vec<DocumentRow<'a>>,
    /// Of each layer, the rows of its documents.
    places: Vec<Vec<u32>>,
    /// Of two repositories, for the first row of each document that of the document at its place.
    counterparts: Vec<Option<u32>>,
    /// For each pair of folders of the alignment, the documents that it matches.
    pub(super) matched: Vec<u64>,
    roots: usize,
}

/// A document under one view.
#[derive(Clone, Copy)]
pub(super) struct DocumentRow<'a> {
    pub(super) root: u16,
    pub(super) layer: u8,
    pub(super) path: &'a [u8],
    pub(super) what: What<'a>,
}

/// A document under one view.
#[derive(Clone, Copy)]
pub(super) enum What<'a> {
    /// It has a content: its place among the layer's documents.
    Document(u32),
    /// It holds no text itself.
    Bare(&'a BareDocument),
}

impl<'a> DocumentRows<'a> {
    pub(super) fn of(publication: &Publication<'a>) -> DocumentRows<'a> {
        let mut rows = Vec::new();
        for (layer, LayerResult { frozen, .. }) in (0..).zip(publication.layers) {
            let read = frozen.documents.iter().zip(0..).map(|(document, place)| DocumentRow {
                root: document.root,
                layer,
                path: frozen.path(document),
                what: What::Document(place),
            });
            rows.extend(read);
            let bare = frozen.bare.iter();
            rows.extend(bare.map(|bare| DocumentRow {
                root: bare.root,
                layer,
                path: frozen.paths.get(bare.path),
                what: What::Bare(bare),
            }));
        }
        // Each list is in order: what there is to do is to merge them.
        rows.sort_by(|a, b| (a.root, a.path, a.layer).cmp(&(b.root, b.path, b.layer)));
        let mut places: Vec<Vec<u32>> =
            publication.layers.iter().map(|layer| vec![0; layer.frozen.documents.len()]).collect();
        for (row, number) in rows.iter().zip(0..) {
            if let What::Document(place) = row.what {
                places[usize::from(row.layer)][place as usize] = number;
            }
        }
        let (roots, count) = (publication.roots().roots.len(), rows.len());
        let mut rows = DocumentRows { rows, places, counterparts: vec![None; count], matched: Vec::new(), roots };
        if roots == 2 {
            rows.match_documents(publication.alignment());
        }
        rows
    }

    /// Finds the document at the place of each.
    fn match_documents(&mut self, alignment: &Alignment) {
        let firsts: Vec<usize> = self.documents().map(|rows| rows.start).collect();
        let second = firsts.partition_point(|first| self.rows[*first].root == 0);
        let paths: Vec<&[u8]> = firsts.iter().map(|first| self.rows[*first].path).collect();
        self.matched = vec![0; alignment.pairs().len()];
        for (a, found) in alignment.matched([&paths[..second], &paths[second..]]).into_iter().enumerate() {
            let Some((b, pair)) = found else { continue };
            let (a, b) = (firsts[a], firsts[second + b as usize]);
            self.counterparts[a] = u32::try_from(b).ok();
            self.counterparts[b] = u32::try_from(a).ok();
            pair.into_iter().for_each(|pair| self.matched[pair as usize] += 1);
        }
    }

    /// The first row of a document.
    pub(super) fn first(&self, row: usize) -> usize {
        self.other(row).map_or(row, |other| other.min(row))
    }

    /// The first row of the document at the place of that of a row.
    pub(super) fn counterpart(&self, row: usize) -> Option<usize> {
        self.counterparts[self.first(row)].map(|counterpart| counterpart as usize)
    }

    /// True if the documents of two rows are at one place in two repositories: by the alignment of two, and else by their paths.
    pub(super) fn is_one_place(&self, a: usize, b: usize) -> bool {
        if self.roots == 2 {
            return self.counterpart(a) == Some(self.first(b));
        }
        let (a, b) = (&self.rows[a], &self.rows[b]);
        a.root != b.root && a.path == b.path
    }

    /// The row of a layer's document.
    pub(super) fn place(&self, layer: usize, document: u32) -> u32 {
        self.places[layer][document as usize]
    }

    /// The rows of each document.
    pub(super) fn documents(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut begun = 0;
        self.rows.chunk_by(|a, b| (a.root, a.path) == (b.root, b.path)).map(move |rows| {
            let first = begun;
            begun += rows.len();
            first..begun
        })
    }

    /// The other row of the same document, where it has two.
    pub(super) fn other(&self, row: usize) -> Option<usize> {
        let is_same = |other: &usize| {
            let (row, other) = (&self.rows[row], self.rows.get(*other));
            other.is_some_and(|other| (other.root, other.path) == (row.root, row.path))
        };
        let other = if self.rows[row].layer == 0 { row.checked_add(1) } else { row.checked_sub(1) };
        other.filter(is_same)
    }
}

impl DocumentRows<'_> {
    /// True if this row is of the view that speaks for its document: that of text where it speaks and there is some, else the
    /// first that the document has.
    pub(super) fn speaks(&self, row: usize, layers: &[LayerResult]) -> bool {
        let has_content = |row: usize| matches!(self.rows[row].what, What::Document(_));
        match self.other(row) {
            Some(other) if self.rows[row].layer == 0 => !(self.rows[row].is_spoken_for(layers) && has_content(other)),
            Some(other) => self.rows[other].is_spoken_for(layers) || !has_content(other),
            None => true,
        }
    }
}

impl DocumentRows<'_> {
    /// The one row of a document that speaks for it and has a content; its first, if it has no content.
    pub(super) fn speaking(&self, mut rows: Range<usize>, layers: &[LayerResult]) -> usize {
        let first = rows.start;
        let speaks = |row: &usize| matches!(self.rows[*row].what, What::Document(_)) && self.speaks(*row, layers);
        rows.rfind(speaks).unwrap_or(first)
    }

    /// The best partner of a document under the view of a row.
    pub(super) fn partner(&self, row: usize, layers: &[LayerResult]) -> Option<DecidedPartner> {
        let DocumentRow { layer, what: What::Document(place), .. } = self.rows[row] else { return None };
        let partner = layers[usize::from(layer)].findings.of_links.partners.of_document(place as usize)?;
        Some(DecidedPartner {
            row: self.place(layer.into(), partner.document),
            shared_bytes: partner.shared_bytes,
            relation: partner.relation,
            outside: partner.outside,
        })
    }

    /// True if, under the view of a row, a document has no partner, and shares standard text with a document elsewhere.
    pub(super) fn has_standard_text_alone(&self, row: usize, layers: &[LayerResult]) -> bool {
        let DocumentRow { layer, what: What::Document(place), .. } = self.rows[row] else { return false };
        layers[usize::from(layer)].findings.of_links.partners.has_standard_text_alone(place as usize)
    }

    /// The reason why the view of a row does not decide that a document has nothing in common with others.
    pub(super) fn undecided(&self, row: usize, layers: &[LayerResult]) -> Option<UndecidedReason> {
        let of_row = &self.rows[row];
        let layer = &layers[usize::from(of_row.layer)];
        match of_row.is_spoken_for(layers) {
            // Its bytes were not compared, since its text should have been.
            true => self.speaks(row, layers).then_some(UndecidedReason::TextNotRead),
            // What of its text was not read may be elsewhere.
            false if of_row.document(layers)?.in_part => Some(UndecidedReason::TextNotRead),
            false => layer.undecided(of_row.document(layers)?.content.0 as usize),
        }
    }
}

impl DocumentRow<'_> {
    /// True if, as bytes, the document is identical to others or shares nothing with them.
    fn is_spoken_for(&self, layers: &[LayerResult]) -> bool {
        self.content(layers).is_some_and(|content| content.spoken_for)
    }

    /// The document, where it has a content.
    pub(super) fn document<'l>(&self, layers: &'l [LayerResult]) -> Option<&'l FrozenDocument> {
        let What::Document(place) = self.what else { return None };
        Some(&layers[usize::from(self.layer)].frozen.documents[place as usize])
    }

    fn content<'l>(&self, layers: &'l [LayerResult]) -> Option<&'l FrozenContent> {
        let content = self.document(layers)?.content;
        Some(&layers[usize::from(self.layer)].frozen.contents[content.0 as usize])
    }

    /// Status of the document in this view.
    pub(super) fn status(&self, layers: &[LayerResult]) -> Status {
        match self.what {
            What::Document(place) => {
                let LayerResult { frozen, findings, .. } = &layers[usize::from(self.layer)];
                findings.of_links.status[frozen.documents[place as usize].content.0 as usize]
            }
            What::Bare(bare) if bare.is_container => Status::ExcludedContainer,
            What::Bare(_) => Status::ExcludedNoText,
        }
    }

    /// The part of a file that the document is.
    pub(super) fn part(&self, layers: &[LayerResult]) -> Part {
        match self.what {
            What::Document(place) => layers[usize::from(self.layer)].frozen.documents[place as usize].part,
            What::Bare(bare) => bare.part,
        }
    }

    /// True if the document counts in the layer of text, and not in this one.
    pub(super) fn counts_as_text(&self, layers: &[LayerResult]) -> bool {
        self.content(layers).is_some_and(|content| content.counts_as_text)
    }

    /// Number of bytes that it has under this view.
    pub(super) fn size_bytes(&self, layers: &[LayerResult]) -> u64 {
        self.content(layers).map_or(0, |content| content.size_bytes)
    }

    /// The time of its last modification; 0 where it has no content under this view.
    pub(super) fn modified(&self, layers: &[LayerResult]) -> i64 {
        self.document(layers).map_or(0, |document| document.modified)
    }

    /// The EDRM Message ID Hash of a message.
    pub(super) fn message(&self, layers: &[LayerResult]) -> Option<[u8; 16]> {
        match self.what {
            What::Document(place) => {
                let messages = &layers[usize::from(self.layer)].frozen.messages;
                let found = messages.binary_search_by_key(&place, |(place, _)| *place);
                found.ok().map(|found| messages[found].1)
            }
            What::Bare(bare) => bare.message_id_hash,
        }
    }
}

/// True if the document of a row is a control.
pub(super) fn is_control(row: u32, documents: &DocumentRows<'_>, layers: &[LayerResult]) -> bool {
    documents.rows[row as usize].document(layers).is_some_and(|document| document.control)
}

/// Status of a document over all views: the first that applies. An exclusion by one view does not count if the
/// other view includes it.
pub(super) fn status_of(statuses: impl Iterator<Item = Status> + Clone) -> Status {
    let compared = statuses.clone().filter(|status| !status.is_excluded()).min();
    // Every document has a row.
    compared.or_else(|| statuses.clone().next()).unwrap_or(Status::Unique)
}
