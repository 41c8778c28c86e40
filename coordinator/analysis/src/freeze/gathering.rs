//! The documents and contents of a frozen set, gathered from one index after the other.
//!
//! An index of a site takes more memory than what is compared of it, so only one of them is in memory at a time. Contents have
//! the numbers in which they came until all have come.

use std::collections::{BTreeSet, HashMap};

use cognate_fingerprint::ContentDigest;
use cognate_proto::batch::DocumentState;
use cognate_proto::documents::IndexedDocument;
use cognate_proto::path::DocumentPath;
use cognate_similarity::{ContentIndex, ContentMap};
use cognate_storage::{Index, IndexedContent};

use super::{BareDocument, FrozenContent, FrozenDocument, Paths, index32};
use crate::part::{Choice, Part};
use crate::versions::Versions;

/// The number of an ordinal whose content no selected document has.
const ABSENT: u32 = u32::MAX;

/// The documents and contents that were gathered so far, and their numbers.
pub(super) struct Gathering<'a> {
    choice: &'a Choice<'a>,
    has_chunks: bool,
    versions: &'a Versions,
    numbers: HashMap<ContentDigest, u32>,
    /// Of each root, the content of each ordinal.
    ordinals: Vec<Vec<u32>>,
    pub(super) found: Gathered,
}

/// The documents and contents of all roots.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) documents: Vec<FrozenDocument>,
    pub(super) paths: Paths,
    pub(super) contents: Vec<FrozenContent>,
    pub(super) unread: Vec<(u16, DocumentPath, DocumentState)>,
    pub(super) bare: Vec<BareDocument>,
    pub(super) messages: Vec<(u32, [u8; 16])>,
    pub(super) renamed: HashMap<ContentDigest, ContentDigest>,
    /// Contents that two sites describe by different chunks.
    pub(super) disputed: BTreeSet<ContentDigest>,
}

impl<'a> Gathering<'a> {
    pub(super) fn new(choice: &'a Choice<'a>, has_chunks: bool, versions: &'a Versions) -> Gathering<'a> {
        let (numbers, ordinals) = (HashMap::new(), Vec::new());
        Gathering { choice, has_chunks, versions, numbers, ordinals, found: Gathered::default() }
    }

    /// Takes in the selected documents of the next root, with their contents.
    pub(super) fn take(&mut self, root: u16, index: &Index) {
        // Room that is not used takes no memory, but growing by half would.
        self.numbers.reserve(index.contents.len());
        self.found.contents.reserve(index.contents.len());
        self.found.documents.reserve(index.documents.len());
        let mut ordinals = vec![ABSENT; index.ordinals() as usize];
        for (path, document) in index.documents.iter() {
            let content = document.content.and_then(|digest| Some((digest, index.contents.get(&digest)?)));
            if !self.choice.takes((root, index, &path), content.map(|(_, content)| content.size_bytes)) {
                continue;
            }
            let part = self.choice.part(index, &path);
            if document.content.is_none() {
                self.found.take_without_content((root, part, path), &document);
            } else if let Some((digest, content)) = content {
                let number = self.number(digest, content);
                ordinals[content.ordinal as usize] = number;
                self.found.take_document((root, part, path), &document, number);
            }
        }
        self.ordinals.push(ordinals);
    }

    /// The number of a content, as an index has it.
    fn number(&mut self, at_site: ContentDigest, content: &IndexedContent) -> u32 {
        let digest = self.versions.digest(at_site, content);
        if digest != at_site {
            self.found.renamed.insert(digest, at_site);
        }
        let contents = &mut self.found.contents;
        let number = *self.numbers.entry(digest).or_insert_with(|| {
            contents.push(FrozenContent::of(digest, content, self.has_chunks));
            index32(contents.len() - 1)
        });
        let first = &mut contents[number as usize];
        // Of several sites that have a content, some may send no sketches.
        if first.sketch.is_empty() {
            first.sketch = content.sketch;
        }
        if first.chunks_digest != content.chunks_digest {
            self.found.disputed.insert(digest);
        }
        number
    }

    /// Numbers the contents in the order of their digests. Of each root, the map from ordinals to these numbers.
    pub(super) fn finish(self) -> (Gathered, Vec<Ordinals>) {
        let Gathering { numbers, ordinals, mut found, .. } = self;
        drop(numbers);
        let mut order: Vec<u32> = (0..index32(found.contents.len())).collect();
        order.sort_unstable_by_key(|number| found.contents[*number as usize].digest);
        let mut number_of = vec![0; order.len()];
        for (number, before) in (0..).zip(&order) {
            number_of[*before as usize] = number;
        }
        drop(order);
        for document in &mut found.documents {
            document.content = ContentIndex(number_of[document.content.0 as usize]);
        }
        let renumbered = |mut ordinals: Vec<u32>| {
            ordinals.iter_mut().filter(|number| **number != ABSENT).for_each(|n| *n = number_of[*n as usize]);
            Ordinals(ordinals)
        };
        let ordinals = ordinals.into_iter().map(renumbered).collect();
        found.contents.sort_unstable_by_key(|content| content.digest);
        (found, ordinals)
    }
}

impl Gathered {
    fn take_document(
        &mut self,
        (root, part, path): (u16, Part, DocumentPath),
        document: &IndexedDocument,
        number: u32,
    ) {
        if let Some(hash) = document.message_id_hash {
            self.messages.push((index32(self.documents.len()), hash));
        }
        self.documents.push(FrozenDocument {
            root,
            path: self.paths.add(&path),
            content: ContentIndex(number),
            modified: document.modified,
            changing: document.state == DocumentState::Changing,
            recognised: document.state == DocumentState::Recognised,
            part,
            control: false,
        });
    }

    fn take_without_content(&mut self, (root, part, path): (u16, Part, DocumentPath), document: &IndexedDocument) {
        let is_container = match document.state {
            DocumentState::Container => true,
            DocumentState::NoText => false,
            state => return self.unread.push((root, path, state)),
        };
        let (message_id_hash, path) = (document.message_id_hash, self.paths.add(&path));
        self.bare.push(BareDocument { root, path, is_container, part, message_id_hash });
    }
}

/// The content of each ordinal of a root.
pub(super) struct Ordinals(Vec<u32>);

impl Ordinals {
    /// The map by which the runs of the root are read, for `ordinals` of them: a content that is `taken` already is counted through
    /// another root.
    pub(super) fn map(self, ordinals: u32, taken: &mut [bool]) -> ContentMap {
        let mut own = self.0;
        own.resize(own.len().max(ordinals as usize), ABSENT);
        let counted = |number: u32| {
            let is_counted = number != ABSENT && !std::mem::replace(&mut taken[number as usize], true);
            is_counted.then_some(ContentIndex(number))
        };
        own.into_iter().map(counted).collect()
    }
}
