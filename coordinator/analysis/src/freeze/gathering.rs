//! The documents and contents of a frozen set, gathered from one index after the other.
//!
//! An index of a site takes more memory than what is compared of it, so only one of them is in memory at a time. Contents are gathered in the
//! order in which the indexes have them, and then sorted by their digests: everything is read and written from one end to the other, so
//! that lists with no room in memory are no slower than the disk reads on.

use std::collections::{BTreeSet, HashMap};

use cognate_fingerprint::ContentDigest;
use cognate_proto::batch::DocumentState;
use cognate_proto::documents::IndexedDocument;
use cognate_proto::path::DocumentPath;
use cognate_similarity::{ContentIndex, ContentMap};
use cognate_storage::{Index, IndexedContent};

use super::samples::{SamplePlace, WindowSamples};
use super::{BareDocument, FrozenContent, FrozenDocument, Paths, index32};
use crate::part::{Choice, Part};
use crate::versions::Versions;

/// The number of an ordinal whose content no selected document has.
const ABSENT: u32 = u32::MAX;

/// The documents and contents that were gathered so far.
pub(super) struct Gathering<'a> {
    choice: &'a Choice<'a>,
    has_chunks: bool,
    versions: &'a Versions,
    /// The contents that selected documents have, once for each root.
    contents: Vec<GatheredContent>,
    /// Of each root, the number of its ordinals.
    ordinals: Vec<u32>,
    /// With contents by their ordinals.
    found: GatheredDocuments,
}

/// A content of a root.
struct GatheredContent {
    content: FrozenContent,
    sample: SamplePlace,
    ordinal: u32,
    root: u16,
}

/// The path of a document in the index of a root, and the part of a file that it is.
struct DocumentPart {
    root: u16,
    part: Part,
    path: DocumentPath,
}

/// The documents and contents of all roots.
#[derive(Default)]
pub(super) struct GatheredDocuments {
    pub(super) documents: Vec<FrozenDocument>,
    pub(super) paths: Paths,
    pub(super) contents: Vec<FrozenContent>,
    pub(super) samples: WindowSamples,
    pub(super) unread: Vec<(u16, DocumentPath, DocumentState)>,
    pub(super) bare: Vec<BareDocument>,
    pub(super) messages: Vec<(u32, [u8; 16])>,
    pub(super) renamed: HashMap<ContentDigest, ContentDigest>,
    /// Contents that two sites describe by different chunks.
    pub(super) disputed: BTreeSet<ContentDigest>,
}

impl<'a> Gathering<'a> {
    pub(super) fn new(choice: &'a Choice<'a>, has_chunks: bool, versions: &'a Versions) -> Gathering<'a> {
        let (contents, ordinals) = (Vec::new(), Vec::new());
        Gathering { choice, has_chunks, versions, contents, ordinals, found: GatheredDocuments::default() }
    }

    /// Takes in the selected documents of the next root, with their contents.
    pub(super) fn take(&mut self, root: u16, index: &Index) {
        // Room that is not used takes no memory, but growing by half would.
        self.contents.reserve(index.contents.len());
        self.found.documents.reserve(index.documents.len());
        let mut is_taken = vec![false; index.ordinals() as usize];
        let mut lookup = index.contents.lookup();
        for (path, document) in index.documents.iter() {
            let content = document.content.and_then(|digest| Some((digest, lookup.get(&digest)?)));
            if !self.choice.takes(root, index, &path, content.map(|(_, content)| content.size_bytes)) {
                continue;
            }
            let part = self.choice.part(index, &path);
            if document.content.is_none() {
                self.found.take_without_content(DocumentPart { root, part, path }, &document);
            } else if let Some((digest, content)) = content {
                if !std::mem::replace(&mut is_taken[content.ordinal as usize], true) {
                    self.take_content(root, digest, content);
                }
                self.found.take_document(DocumentPart { root, part, path }, &document, content.ordinal);
            }
        }
        self.ordinals.push(index.ordinals());
    }

    /// Takes in a content, as an index has it.
    fn take_content(&mut self, root: u16, at_site: ContentDigest, content: &IndexedContent) {
        let digest = self.versions.digest(at_site, content);
        if digest != at_site {
            self.found.renamed.insert(digest, at_site);
        }
        let (ordinal, sample) = (content.ordinal, self.found.samples.put(&content.sample));
        let content = FrozenContent::of(digest, content, self.has_chunks);
        self.contents.push(GatheredContent { content, sample, ordinal, root });
    }

    /// Numbers the contents in the order of their digests. Of each root, the map from ordinals to these numbers.
    pub(super) fn finish(self) -> (GatheredDocuments, Vec<Ordinals>) {
        let Gathering { mut contents, ordinals, mut found, .. } = self;
        contents.sort_unstable_by_key(|one| (one.content.digest, one.root));
        let mut ordinals: Vec<Vec<u32>> = ordinals.into_iter().map(|count| vec![ABSENT; count as usize]).collect();
        let mut samples: Vec<SamplePlace> = Vec::new();
        for GatheredContent { content, sample, ordinal, root } in contents {
            match found.contents.last().zip(samples.last_mut()) {
                Some((first, of_first)) if first.digest == content.digest => {
                    // Of several sites that have a content, some may send no samples.
                    if of_first.is_empty() {
                        *of_first = sample;
                    }
                    if first.chunks_digest != content.chunks_digest {
                        found.disputed.insert(content.digest);
                    }
                }
                _ => {
                    found.contents.push(content);
                    samples.push(sample);
                }
            }
            ordinals[usize::from(root)][ordinal as usize] = index32(found.contents.len() - 1);
        }
        found.samples.number(samples);
        for document in &mut found.documents {
            document.content = ContentIndex(ordinals[usize::from(document.root)][document.content.0 as usize]);
        }
        (found, ordinals.into_iter().map(Ordinals).collect())
    }
}

impl GatheredDocuments {
    fn take_document(&mut self, of: DocumentPart, document: &IndexedDocument, ordinal: u32) {
        let DocumentPart { root, part, path } = of;
        if let Some(hash) = document.message_id_hash {
            self.messages.push((index32(self.documents.len()), hash));
        }
        if document.state == DocumentState::ReadInPart {
            self.unread.push((root, path.clone(), document.state));
        }
        self.documents.push(FrozenDocument {
            root,
            path: self.paths.add(&path),
            content: ContentIndex(ordinal),
            modified: document.modified,
            changing: document.state == DocumentState::Changing,
            recognised: document.state == DocumentState::Recognised,
            in_part: document.state == DocumentState::ReadInPart,
            part,
            control: false,
        });
    }

    fn take_without_content(&mut self, of: DocumentPart, document: &IndexedDocument) {
        let DocumentPart { root, part, path } = of;
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
