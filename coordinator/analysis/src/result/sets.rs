//! The identical sets that a result lists: documents of the same bytes, then those of the same text, then the loose ones, whose documents have
//! different contents: those of the same lines with other line ends, and, where messages are matched, those that are the same message.

use std::collections::{BTreeMap, HashMap};

use cognate_fingerprint::View;
use cognate_result_file::{IdenticalSet, Insert};
use cognate_similarity::ContentIndex;
use data_encoding::HEXLOWER;

use super::document_rows::{DocumentRows, What};
use super::group::{Group, Places};
use super::{Publication, Writer, content_index};
use crate::layer_result::LayerResult;

/// The sets, numbered in the order in which they are listed.
pub(super) struct Sets {
    /// Of each layer and content its set, if it has one that is listed.
    numbers: Vec<Vec<Option<usize>>>,
    /// Sums of each layer.
    pub(super) sums: Vec<IdenticalSums>,
    pub(super) loose: Vec<LooseSet>,
    /// The loose set that a document belongs to, by its first row.
    loose_of: HashMap<usize, usize>,
}

impl Writer {
    /// Writes what lists say of each set.
    pub(super) fn sets(
        &self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        sets: &Sets,
        places: &Places,
    ) -> rusqlite::Result<()> {
        let mut rows = SetRows { insert: self.insert()?, publication, places, next: 0 };
        for (number, layer) in publication.layers.iter().enumerate() {
            let LayerResult { frozen, findings, .. } = layer;
            let is_text = publication.scan.spec.layers[number].method.view().is_text();
            let tier = if is_text { "same text" } else { "same bytes" };
            for (_, content) in sets.listed(number) {
                let copies = findings.copies.of_content(content_index(content));
                let size_bytes = frozen.contents[content].size_bytes;
                let documents = copies.iter().map(|document| {
                    let document = &frozen.documents[*document as usize];
                    (document.root, frozen.path(document), size_bytes, document.modified)
                });
                rows.write(&frozen.contents[content].digest.0, tier, documents)?;
            }
        }
        let mut loose: Vec<Vec<usize>> = vec![Vec::new(); sets.loose.len()];
        for rows in documents.documents() {
            sets.loose_set(rows.start).into_iter().for_each(|set| loose[set].push(rows.start));
        }
        for (set, first_rows) in sets.loose.iter().zip(loose) {
            let documents = first_rows.iter().map(|number| {
                let row = &documents.rows[*number];
                let (size_bytes, modified) = (row.size_bytes(publication.layers), row.modified(publication.layers));
                (row.root, row.path, size_bytes, modified)
            });
            rows.write(&set.name, if set.same_lines { "same lines" } else { "same message" }, documents)?;
        }
        Ok(())
    }
}

/// The rows of sets, numbered as they come.
struct SetRows<'a> {
    insert: Insert<'a, IdenticalSet>,
    publication: &'a Publication<'a>,
    places: &'a Places,
    next: i64,
}

impl SetRows<'_> {
    /// A set of these documents: repository, path, size and time of each, in their order.
    fn write<'d>(
        &mut self,
        name: &[u8],
        tier: &'static str,
        documents: impl Iterator<Item = (u16, &'d [u8], u64, i64)>,
    ) -> rusqlite::Result<()> {
        let mut group = Group::default();
        let mut members: u128 = 0;
        let mut first: Option<(u16, &[u8], u64)> = None;
        for (root, path, size_bytes, modified) in documents {
            group.add(root, size_bytes, modified);
            members = members.wrapping_add(self.places.hash(root, path));
            if first.is_none_or(|(known, ..)| self.places.of_root(root) < self.places.of_root(known)) {
                first = Some((root, path, size_bytes));
            }
        }
        let Some((root, path, size_bytes)) = first else { return Ok(()) };
        let summed = group.summed(self.publication, self.places);
        self.insert.add(&IdenticalSet {
            id: self.next,
            name: HEXLOWER.encode(name),
            members_digest: HEXLOWER.encode(&members.to_be_bytes()),
            tier: tier.into(),
            size_bytes,
            redundant_bytes: group.document_bytes.saturating_sub(size_bytes),
            documents: summed.documents,
            sites: summed.sites,
            site_count: summed.site_count,
            crosses: summed.crosses,
            first_modified: summed.first_modified,
            last_modified: summed.last_modified,
            root: root.into(),
            path: path.to_owned(),
        })?;
        self.next += 1;
        Ok(())
    }
}

/// Sums over the identical sets of a layer.
#[derive(Clone, Copy, Default)]
pub(super) struct IdenticalSums {
    pub(super) sets: u64,
    pub(super) in_place: u64,
    pub(super) wasted_bytes: u64,
    pub(super) hard_link_bytes: u64,
}

/// Documents that are the same though their contents differ.
pub(super) struct LooseSet {
    /// The EDRM Message ID Hash, or what the digests of the same lines have in common.
    pub(super) name: [u8; 16],
    /// The same lines; else the same message.
    pub(super) same_lines: bool,
    pub(super) documents: u64,
    pub(super) in_place: bool,
}

impl Sets {
    pub(super) fn of(publication: &Publication<'_>, documents: &DocumentRows<'_>) -> Sets {
        let mut sets = Sets { numbers: Vec::new(), sums: Vec::new(), loose: Vec::new(), loose_of: HashMap::new() };
        let mut next = 0;
        for layer in 0..publication.layers.len() {
            let mut numbers = vec![None; publication.layers[layer].frozen.contents.len()];
            let mut sums = IdenticalSums::default();
            for (wasted_bytes, content) in wasting_most_first(publication, layer) {
                if layer > 0 && sets.says_nothing_new(publication, documents, layer, content) {
                    continue;
                }
                numbers[content] = Some(next);
                next += 1;
                sums.sets += 1;
                sums.in_place +=
                    u64::from(is_in_place(layer, &publication.layers[layer], content_index(content), documents));
                sums.wasted_bytes = sums.wasted_bytes.saturating_add(wasted_bytes);
            }
            let frozen = &publication.layers[layer].frozen;
            let options = &publication.scan.spec.options;
            // Across sites alone, the names of a file at one site are often no set: then nothing is known of those in sets.
            if !options.across_only && !publication.scan.spec.layers[layer].method.view().is_text() {
                // Whoever takes away such a name wins nothing.
                let of_roots = frozen.roots.iter().map(|root| root.summary.hard_link_bytes);
                sums.hard_link_bytes = of_roots.fold(0, u64::saturating_add).min(sums.wasted_bytes);
                sums.wasted_bytes -= sums.hard_link_bytes;
            }
            sets.numbers.push(numbers);
            sets.sums.push(sums);
        }
        if publication.scan.spec.layers[0].method.view() == View::Raw {
            sets.take_lines(publication, documents);
        }
        if publication.scan.spec.options.match_message_ids {
            sets.take_messages(publication, documents);
        }
        sets
    }

    /// The set of a layer's content, where it is listed.
    pub(super) fn of_content(&self, layer: usize, content: usize) -> Option<usize> {
        self.numbers[layer][content]
    }

    /// The sets of a layer's contents in their order, each with its content.
    pub(super) fn listed(&self, layer: usize) -> Vec<(usize, usize)> {
        let numbered = self.numbers[layer].iter().enumerate();
        let mut listed: Vec<_> = numbered.filter_map(|(content, set)| Some(((*set)?, content))).collect();
        listed.sort_unstable();
        listed
    }

    /// Number of the sets of contents: the loose ones follow.
    pub(super) fn of_contents(&self) -> usize {
        self.numbers.iter().flatten().flatten().count()
    }

    /// The loose set of a document, by its first row.
    pub(super) fn loose_set(&self, first_row: usize) -> Option<usize> {
        self.loose_of.get(&first_row).copied()
    }

    /// True if all documents of a text are one set of the same bytes, which is listed.
    fn says_nothing_new(
        &self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        layer: usize,
        content: usize,
    ) -> bool {
        let copies = publication.layers[layer].findings.copies.of_content(content_index(content));
        let mut bytes = copies.iter().map(|document| {
            let row = documents.place(layer, *document) as usize;
            documents.other(row).and_then(|other| content_of(publication, documents, other))
        });
        let Some(Some(first)) = bytes.next() else { return false };
        self.numbers[0][first].is_some() && bytes.all(|other| other == Some(first))
    }

    /// Finds documents with the same lines of which some end with CR LF and some with LF: their digests are next to each other.
    fn take_lines(&mut self, publication: &Publication<'_>, documents: &DocumentRows<'_>) {
        let LayerResult { frozen, findings, .. } = &publication.layers[0];
        let mut found: BTreeMap<[u8; 16], Vec<usize>> = BTreeMap::new();
        for (first, pair) in frozen.contents.windows(2).enumerate() {
            if pair[0].digest.of_crlf() != pair[1].digest {
                continue;
            }
            let documents_of = |content: usize| findings.copies.of_content(content_index(content)).iter();
            let rows = documents_of(first).chain(documents_of(first + 1));
            let rows = rows.map(|document| documents.first(documents.place(0, *document) as usize));
            let mut rows: Vec<usize> = rows.collect();
            rows.sort_unstable();
            found.insert(pair[0].digest.of_lines(), rows);
        }
        self.take_loose(publication, documents, true, found);
    }

    /// Finds messages that several documents are. Documents that a listed set already has together are not listed again.
    fn take_messages(&mut self, publication: &Publication<'_>, documents: &DocumentRows<'_>) {
        let mut found: BTreeMap<[u8; 16], Vec<usize>> = BTreeMap::new();
        for rows in documents.documents().filter(|rows| !self.loose_of.contains_key(&rows.start)) {
            let hash = rows.clone().find_map(|row| documents.rows[row].message(publication.layers));
            hash.into_iter().for_each(|hash| found.entry(hash).or_default().push(rows.start));
        }
        found.retain(|_, rows| {
            let mut sets = rows.iter().map(|row| self.sets_of(publication, documents, *row));
            let first = sets.next().unwrap_or_default();
            let common = sets.fold(first, |common, other| {
                [common[0].filter(|_| common[0] == other[0]), common[1].filter(|_| common[1] == other[1])]
            });
            common == [None; 2]
        });
        self.take_loose(publication, documents, false, found);
    }

    /// Takes sets by their names, each as the first rows of its documents.
    fn take_loose(
        &mut self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        same_lines: bool,
        mut found: BTreeMap<[u8; 16], Vec<usize>>,
    ) {
        found.retain(|_, rows| rows.len() > 1 && publication.crosses(rows.iter().map(|row| documents.rows[*row].root)));
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(name, rows)| (std::cmp::Reverse(rows.len()), *name));
        for (name, rows) in found {
            self.loose_of.extend(rows.iter().map(|row| (*row, self.loose.len())));
            let in_place = rows.windows(2).all(|pair| documents.is_one_place(pair[0], pair[1]));
            self.loose.push(LooseSet { name, same_lines, documents: rows.len() as u64, in_place });
        }
    }

    /// The listed sets that a document belongs to by its contents, in the order of its rows.
    fn sets_of(
        &self,
        publication: &Publication<'_>,
        documents: &DocumentRows<'_>,
        first_row: usize,
    ) -> [Option<usize>; 2] {
        let set = |row: usize| {
            let content = content_of(publication, documents, row)?;
            self.of_content(documents.rows[row].layer.into(), content)
        };
        match (documents.rows[first_row].layer, publication.layers.len()) {
            // A member of an archive has text alone.
            (1, 2) => [None, set(first_row)],
            _ => [set(first_row), documents.other(first_row).and_then(set)],
        }
    }
}

pub(super) fn content_of(publication: &Publication<'_>, documents: &DocumentRows<'_>, row: usize) -> Option<usize> {
    let row = &documents.rows[row];
    match row.what {
        What::Document(place) => {
            let documents = &publication.layers[usize::from(row.layer)].frozen.documents;
            Some(documents[place as usize].content.0 as usize)
        }
        What::Bare(_) => None,
    }
}

/// The contents of a layer that form identical sets, those whose copies waste most bytes first.
fn wasting_most_first(publication: &Publication<'_>, layer: usize) -> Vec<(u64, usize)> {
    let LayerResult { frozen, findings, .. } = &publication.layers[layer];
    let mut sets: Vec<(u64, usize)> = (0..frozen.contents.len())
        .filter(|content| findings.of_links.identical[*content])
        .map(|content| {
            let copies = findings.copies.of_content(content_index(content)).len() as u64;
            (frozen.contents[content].size_bytes.saturating_mul(copies - 1), content)
        })
        .collect();
    sets.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    sets
}

/// True if the documents of a content are one at the same place in each of several repositories.
pub(super) fn is_in_place(
    number: usize,
    layer: &LayerResult,
    content: ContentIndex,
    documents: &DocumentRows<'_>,
) -> bool {
    let copies = layer.findings.copies.of_content(content);
    // Documents are ordered by root, so that two of one root are adjacent.
    let each_its_own = |pair: &[u32]| {
        let [a, b] = [0, 1].map(|one| documents.place(number, pair[one]) as usize);
        documents.is_one_place(a, b)
    };
    copies.len() > 1 && copies.windows(2).all(each_its_own)
}
