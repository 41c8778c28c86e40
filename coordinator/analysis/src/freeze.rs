//! The frozen set: the documents and contents that a scan is about, numbered so that the numbers say nothing of the order
//! in which they came.

mod gathering;
mod paths;
mod samples;

use std::collections::HashMap;

use cognate_fingerprint::{ContentDigest, Method, Tag, View};
use cognate_proto::batch::DocumentState;
use cognate_proto::name::{PartyName, RepositoryName, SiteName};
use cognate_proto::path::DocumentPath;
use cognate_proto::selection::{Facts, Selection, SelectionRule};
use cognate_proto::v1::SyncSummary;
use cognate_similarity::{ContentIndex, RunInput, RunShards};

use self::gathering::{GatheredDocuments, Gathering, Ordinals};
pub(crate) use self::paths::{PathPlace, Paths};
pub(crate) use self::samples::WindowSamples;
use crate::error::Error;
use crate::part::{Choice, Part};
use crate::versions::Versions;
use cognate_storage::indexes::Indexes;
use cognate_storage::store::{FrozenRow, IndexId, ScanRow};
use cognate_storage::{Index, IndexedContent};

/// All that is compared. Documents are ordered by (site, repository, path); contents by digest.
pub(crate) struct FrozenSet {
    pub(crate) roots: Vec<FrozenRoot>,
    pub(crate) documents: Vec<FrozenDocument>,
    /// The paths of `documents` and `bare`.
    pub(crate) paths: Paths,
    /// Of each root, the place of its first document.
    pub(crate) firsts: Vec<u32>,
    /// The places of the documents that are controls, ascending.
    pub(crate) controls: Vec<u32>,
    pub(crate) contents: Vec<FrozenContent>,
    /// The window samples of the contents.
    pub(crate) samples: WindowSamples,
    pub(crate) unread: Vec<(u16, DocumentPath, DocumentState)>,
    /// Under a text view, documents that hold no text themselves.
    pub(crate) bare: Vec<BareDocument>,
    /// The EDRM Message ID Hashes of messages, by their places among `documents`.
    pub(crate) messages: Vec<(u32, [u8; 16])>,
    pub(crate) shards: RunShards,
    /// The tags of templates that occur, ascending.
    pub(crate) set_aside: Vec<IgnoredTag>,
    /// Of the contents with another digest than at their sites, that one ([`Versions`]).
    pub(crate) renamed: HashMap<ContentDigest, ContentDigest>,
}

/// A tag of a template, and where it occurs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IgnoredTag {
    pub(crate) tag: Tag,
    /// Documents that have it, every copy counted.
    pub(crate) documents: u64,
    pub(crate) length_bytes: u32,
    pub(crate) why: IgnoreReason,
}

/// The reason why a tag is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IgnoreReason {
    /// Somebody marked it.
    Template,
    /// It would make too many pairs.
    Crowd,
}

/// One repository of one site.
pub(crate) struct FrozenRoot {
    pub(crate) party: PartyName,
    pub(crate) site: SiteName,
    pub(crate) repository: RepositoryName,
    pub(crate) summary: SyncSummary,
    /// The site and the party by number: roots of one site share one.
    pub(crate) site_number: u16,
    pub(crate) party_number: u16,
    pub(crate) evidence: Evidence,
    /// Contents of which other sites sent other chunks under the same digest: most of them, or any where there are no most.
    pub(crate) contradicted: u64,
}

/// By what both sides know that an index is what its site sent.
#[derive(Clone, Copy, Default)]
pub(crate) struct Evidence {
    /// Chosen at random by the site when it began the index.
    pub(crate) epoch: u64,
    /// The batches that were analysed, what their bodies came to, and the chain over them, as in the site's ledger.
    pub(crate) batches: u64,
    pub(crate) body_bytes: u64,
    pub(crate) head: [u8; 32],
    /// The root that both sides arrived at.
    pub(crate) root: [u8; 32],
}

impl Evidence {
    fn take(&mut self, index: &Index) {
        self.batches = index.sequence();
        self.body_bytes = index.body_bytes();
        self.head = index.head();
        self.root = index.root().to_bytes();
    }
}

/// A document that was read.
#[derive(Clone, Copy)]
pub(crate) struct FrozenDocument {
    pub(crate) root: u16,
    pub(crate) path: PathPlace,
    pub(crate) content: ContentIndex,
    pub(crate) modified: i64,
    pub(crate) changing: bool,
    /// True if some of its text was recognised in pictures of pages.
    pub(crate) recognised: bool,
    /// True if not all of its text was read.
    pub(crate) in_part: bool,
    pub(crate) part: Part,
    /// True if it is a control.
    pub(crate) control: bool,
}

/// A document of a text view that holds no text itself, which is no error.
pub(crate) struct BareDocument {
    pub(crate) root: u16,
    pub(crate) path: PathPlace,
    /// True if its members are compared instead; else documents of its kind have no text.
    pub(crate) is_container: bool,
    pub(crate) part: Part,
    pub(crate) message_id_hash: Option<[u8; 16]>,
}

/// Data that documents with the same bytes share.
#[derive(Clone, Copy)]
pub(crate) struct FrozenContent {
    pub(crate) digest: ContentDigest,
    /// The digest of its chunks.
    pub(crate) chunks_digest: [u8; 16],
    pub(crate) size_bytes: u64,
    /// Size less the bytes of template chunks.
    pub(crate) payload_bytes: u64,
    /// Weight of its features, templates apart: the payload if they are chunks.
    pub(crate) weight: u64,
    /// Bytes of chunks that are within it again and again, as zeros are: no weight of them is counted.
    pub(crate) repeated_bytes: u64,
    pub(crate) chunk_count: u64,
    /// True if the layer of text speaks for its documents: as bytes they are identical to others, or share nothing with them.
    pub(crate) spoken_for: bool,
    /// True if its documents count in the layer of text and not in this one: each document counts once.
    pub(crate) counts_as_text: bool,
}

impl FrozenContent {
    fn of(digest: ContentDigest, content: &IndexedContent, has_chunks: bool) -> FrozenContent {
        let weight = content.weight - content.repeated_bytes;
        FrozenContent {
            digest,
            chunks_digest: content.chunks_digest,
            size_bytes: content.size_bytes,
            payload_bytes: if has_chunks { weight } else { content.size_bytes },
            weight,
            repeated_bytes: content.repeated_bytes,
            chunk_count: content.chunk_count,
            spoken_for: false,
            counts_as_text: false,
        }
    }
}

/// The other layer of a scan over bytes and text.
#[derive(Clone, Copy)]
pub(crate) enum OtherLayer<'a> {
    /// There is none.
    None,
    /// The frozen set of the bytes of the same documents: this is the layer of text.
    Bytes(&'a FrozenSet),
    /// The number of the layer of text, and its view: this is the one of bytes.
    Text(usize, View),
}

/// The indexes of a layer of a frozen scan, and the documents of them that are compared.
pub(crate) struct FreezeRequest<'a> {
    pub(crate) indexes: &'a Indexes,
    pub(crate) row: &'a ScanRow,
    /// The number of the layer in the row.
    pub(crate) layer: usize,
    pub(crate) method: &'a Method,
    pub(crate) selection: &'a Selection,
    pub(crate) other_layer: OtherLayer<'a>,
}

impl FrozenSet {
    /// True if no document was found at all, read or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.bare.is_empty() && self.unread.is_empty()
    }

    /// True if two of the repositories are of one site.
    pub(crate) fn has_site_with_two_repositories(&self) -> bool {
        let mut sites: Vec<u16> = self.roots.iter().map(|root| root.site_number).collect();
        sites.sort_unstable();
        sites.windows(2).any(|two| two[0] == two[1])
    }

    /// True if two contents have the same lines, one with CR LF and one with LF.
    pub(crate) fn have_same_lines(&self, a: ContentIndex, b: ContentIndex) -> bool {
        let [a, b] = [a, b].map(|content| self.contents[content.0 as usize].digest);
        a.of_crlf() == b
    }

    /// The root of the document at a place. It is found without the document, which is far from that of the content before.
    pub(crate) fn root_of(&self, place: u32) -> u16 {
        let roots = self.firsts.partition_point(|first| *first <= place);
        u16::try_from(roots - 1).expect("the first root begins with the first document")
    }

    /// True if the document at a place is a control, which is known without the document as well.
    pub(crate) fn is_control(&self, place: u32) -> bool {
        self.controls.binary_search(&place).is_ok()
    }

    /// The path of a document.
    pub(crate) fn path(&self, document: &FrozenDocument) -> &[u8] {
        self.paths.get(document.path)
    }

    /// The path of the document at a place.
    pub(crate) fn path_at(&self, place: u32) -> &[u8] {
        self.path(&self.documents[place as usize])
    }

    /// The digest under which the sites know a content.
    pub(crate) fn digest_at_site(&self, content: &FrozenContent) -> ContentDigest {
        self.renamed.get(&content.digest).copied().unwrap_or(content.digest)
    }

    /// The files of a raw layer, read or not: repository and path.
    fn files(&self) -> impl Iterator<Item = (u16, &[u8])> {
        let read = self.documents.iter().map(|document| (document.root, self.path(document)));
        read.chain(self.unread.iter().map(|(root, path, _)| (*root, path.as_bytes())))
    }

    /// Puts the indexes of a layer of a frozen scan together, one in memory at a time.
    pub(crate) fn build(request: &FreezeRequest<'_>) -> Result<FrozenSet, Error> {
        let FreezeRequest { indexes, row, layer, method, selection, other_layer } = *request;
        let mut rows: Vec<&FrozenRow> = row.frozen_of(layer).collect();
        rows.sort_by(|a, b| (&a.site, &a.repository).cmp(&(&b.site, &b.repository)));
        let mut roots = roots(indexes, &rows)?;
        let bytes = match other_layer {
            OtherLayer::Bytes(bytes) => Some(bytes.files()),
            OtherLayer::None | OtherLayer::Text(..) => None,
        };
        let choice = Choice::new(method.view(), selection, bytes);
        let has_chunks = method.capabilities().has_chunks();
        let (mut versions, mut are_decided) = (Versions::default(), false);
        let (found, ordinals) = loop {
            let mut gathering = Gathering::new(&choice, has_chunks, &versions);
            for (root, number) in roots.iter_mut().zip(0..) {
                let row = rows[usize::from(number)];
                let index = indexes.load(IndexId(row.index), row.sequence)?;
                root.evidence.take(&index);
                gathering.take(number, &index);
                indexes.unload(IndexId(row.index));
            }
            let (mut found, ordinals) = gathering.finish();
            let disputed = std::mem::take(&mut found.disputed);
            if disputed.is_empty() || are_decided {
                break (found, ordinals);
            }
            // It is rare that sites contradict each other: then all documents are gathered once more.
            drop((found, ordinals));
            let sites: Vec<u16> = roots.iter().map(|root| root.site_number).collect();
            let load = |root: usize| Ok::<_, Error>(indexes.load(IndexId(rows[root].index), rows[root].sequence)?);
            (versions, are_decided) = (Versions::of(&disputed, &sites, load)?, true);
        };
        for (root, contradicted) in roots.iter_mut().zip(&versions.contradicted) {
            root.contradicted = *contradicted;
        }
        let GatheredDocuments { documents, paths, contents, samples, unread, bare, messages, renamed, .. } = found;
        let mut frozen = FrozenSet {
            roots,
            firsts: firsts(&documents, index32(rows.len())),
            controls: Vec::new(),
            documents,
            paths,
            contents,
            samples,
            unread,
            bare,
            messages,
            shards: RunShards::new(Vec::new()),
            set_aside: Vec::new(),
            renamed,
        };
        if let OtherLayer::Text(layer, view) = other_layer {
            frozen.leave_to_text(indexes, row, layer, view)?;
        }
        frozen.take_runs(indexes, &rows, ordinals)?;
        Ok(frozen)
    }

    /// Marks the documents that are controls.
    pub(crate) fn set_controls(&mut self, patterns: &[String]) -> Result<(), Error> {
        if patterns.is_empty() {
            return Ok(());
        }
        let rule = SelectionRule { include: patterns.to_vec(), ..SelectionRule::default() };
        let planted = Selection::new(rule).map_err(|error| Error::Invalid(format!("`control`: {error}")))?;
        for (document, place) in self.documents.iter_mut().zip(0..) {
            document.control = planted.selects(&Facts::of_path(self.paths.get(document.path)));
            self.controls.extend(document.control.then_some(place));
        }
        Ok(())
    }

    /// Leaves the documents for which text speaks to the layer of text: what programs pack around the words, or mark them up
    /// with, relates documents that have nothing to say to each other.
    fn leave_to_text(&mut self, indexes: &Indexes, row: &ScanRow, layer: usize, view: View) -> Result<(), Error> {
        for text in row.frozen_of(layer) {
            let index = indexes.load(IndexId(text.index), text.sequence)?;
            let is_root = |root: &FrozenRoot| {
                (root.site.as_str(), root.repository.as_str()) == (text.site.as_str(), text.repository.as_str())
            };
            let place = self.roots.iter().position(is_root);
            // Documents are in the order of roots.
            let of_root = place.map_or(&[][..], |place| {
                let first = |root: usize| self.documents.partition_point(|document| usize::from(document.root) < root);
                &self.documents[first(place)..first(place + 1)]
            });
            // Both are in the order of paths.
            let mut texts = index.documents.iter().peekable();
            for document in of_root {
                let own = self.paths.get(document.path);
                while texts.next_if(|(path, _)| path.as_bytes() < own).is_some() {}
                let text = texts.peek().filter(|(path, _)| path.as_bytes() == own);
                let state = text.map(|(_, text)| text.state);
                let content = &mut self.contents[document.content.0 as usize];
                content.spoken_for |= state.is_some_and(|state| is_for_text(view, state));
                content.counts_as_text |= view == View::Office && state.is_some_and(DocumentState::is_read_as_text);
            }
            indexes.unload(IndexId(text.index));
        }
        Ok(())
    }

    /// Opens the runs. A content that several indexes have is counted through the first of them alone; one for which text
    /// speaks is counted through none.
    fn take_runs(&mut self, indexes: &Indexes, rows: &[&FrozenRow], ordinals: Vec<Ordinals>) -> Result<(), Error> {
        let mut taken: Vec<bool> = self.contents.iter().map(|content| content.spoken_for).collect();
        for (row, own) in rows.iter().zip(ordinals) {
            let (runs, ordinals) = indexes.runs(IndexId(row.index), row.sequence)?;
            let map = own.map(ordinals, &mut taken);
            self.shards.runs.extend(runs.into_iter().map(|run| RunInput { run, contents: map.clone() }));
        }
        Ok(())
    }
}

/// True if a document in this state under the view of text shares nothing with others as bytes: its text speaks for it, or
/// is refused, or there is none. Of office files alone, every reason to have no text is one.
fn is_for_text(view: View, state: DocumentState) -> bool {
    use DocumentState::{
        CompressedTooStrongly, Crashed, Damaged, Encrypted, NoTextFound, NotRecognised, OutOfMemory, PagesArePictures,
        ReadAsText, ReadInPart, Recognised, RecognitionTimedOut, TextKept, TimedOut, TooDeep, TooLarge, TooManyMembers,
        TooManyPages, Unsupported,
    };
    match state {
        ReadAsText | ReadInPart | Recognised | NoTextFound | TextKept | Encrypted | Unsupported => true,
        PagesArePictures | NotRecognised | RecognitionTimedOut | TooManyPages => true,
        CompressedTooStrongly | Crashed | Damaged | OutOfMemory | TimedOut | TooDeep | TooLarge | TooManyMembers => {
            view == View::Office
        }
        _ => false,
    }
}

/// For each root, the place of its first document, or of the one that would follow.
pub(crate) fn firsts(documents: &[FrozenDocument], roots: u32) -> Vec<u32> {
    (0..roots).map(|root| index32(documents.partition_point(|document| u32::from(document.root) < root))).collect()
}

fn index32(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 documents")
}

/// The roots, whose evidence is not taken yet.
fn roots(indexes: &Indexes, rows: &[&FrozenRow]) -> Result<Vec<FrozenRoot>, Error> {
    let (mut sites, mut parties) = (Vec::new(), Vec::new());
    rows.iter().for_each(|row| {
        sites.push(row.site.clone());
        parties.push(row.party.clone());
    });
    for names in [&mut sites, &mut parties] {
        names.sort();
        names.dedup();
    }
    let place = |names: &[String], name: &String| {
        let place = names.binary_search(name).expect("every name is in the list");
        u16::try_from(place).expect("sites are few")
    };
    let invalid = |error: cognate_proto::name::NameError| Error::Invalid(error.to_string());
    let root = |row: &&FrozenRow| {
        Ok(FrozenRoot {
            site_number: place(&sites, &row.site),
            party_number: place(&parties, &row.party),
            party: row.party.parse().map_err(invalid)?,
            site: row.site.parse().map_err(invalid)?,
            repository: row.repository.parse().map_err(invalid)?,
            summary: row.summary.clone().unwrap_or_default(),
            contradicted: 0,
            evidence: Evidence { epoch: indexes.epoch(IndexId(row.index))?, ..Evidence::default() },
        })
    };
    rows.iter().map(root).collect()
}
