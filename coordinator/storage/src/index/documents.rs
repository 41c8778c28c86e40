//! The documents of an index by their paths, in little memory.
//!
//! Most rows are in blocks, ascending by path: of each path a block has only what the path before it does not begin with. A row in a
//! block takes some forty bytes; in a tree with allocated paths it would take two hundred. What was changed lately is in such a tree, and
//! is merged into the blocks once there is much of it.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::iter::Peekable;

use cognate_fingerprint::ContentDigest;
use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;

use super::IndexedDocument;

/// Rows of a block: whoever looks for one reads half of them.
const BLOCK_ROWS: usize = 16;
/// Rows in the tree from which on they are merged into the blocks, next to an eighth of those there.
const RECENT_ROWS_MIN: usize = if cfg!(test) { 8 } else { 1 << 16 };

/// Set if a row has a content, or a message id hash; the lower bits are the state.
const HAS_CONTENT: u8 = 0x80;
const HAS_MESSAGE: u8 = 0x40;
const STATE_BITS: u8 = 0x3f;

/// The documents of an index, ascending by their paths.
#[derive(Default)]
pub struct Documents {
    /// Ascending by their first paths.
    blocks: Vec<Block>,
    /// Rows that are not in the blocks, or are others there; nothing: the document was removed.
    recent: BTreeMap<DocumentPath, Option<IndexedDocument>>,
    len: usize,
}

/// Some rows that follow each other.
struct Block {
    first: DocumentPath,
    rows: Box<[u8]>,
}

impl Documents {
    /// Their number.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The row of a path.
    pub fn get(&self, path: &DocumentPath) -> Option<IndexedDocument> {
        match self.recent.get(path) {
            Some(recent) => *recent,
            None => self.get_in_blocks(path),
        }
    }

    /// True if a document has this path.
    pub fn contains(&self, path: &DocumentPath) -> bool {
        self.get(path).is_some()
    }

    /// Puts a row in place of that of the same path, which is returned.
    pub fn insert(&mut self, path: DocumentPath, document: IndexedDocument) -> Option<IndexedDocument> {
        let before = self.put(path, Some(document));
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes the row of a path.
    pub fn remove(&mut self, path: &DocumentPath) -> Option<IndexedDocument> {
        let before = self.get(path)?;
        self.put(path.clone(), None);
        self.len -= 1;
        Some(before)
    }

    /// The rows by ascending path.
    pub fn iter(&self) -> Rows<'_> {
        Rows {
            blocks: self.blocks.iter(),
            rows: BlockRows::default(),
            next: None,
            recent: self.recent.iter().peekable(),
        }
    }

    /// About the bytes of memory of so many documents, whose paths have so many bytes together.
    pub(super) fn memory_bytes(len: u64, path_bytes: u64) -> u64 {
        len * 40 + path_bytes / 4
    }

    fn put(&mut self, path: DocumentPath, document: Option<IndexedDocument>) -> Option<IndexedDocument> {
        use btree_map::Entry;
        let before = match self.recent.entry(path) {
            Entry::Occupied(mut recent) => return recent.insert(document),
            Entry::Vacant(vacant) => {
                let before = get_in_blocks(&self.blocks, vacant.key());
                vacant.insert(document);
                before
            }
        };
        if self.recent.len() >= RECENT_ROWS_MIN + self.len / 8 {
            self.merge();
        }
        before
    }

    fn get_in_blocks(&self, path: &DocumentPath) -> Option<IndexedDocument> {
        get_in_blocks(&self.blocks, path)
    }

    /// Takes the rows of the tree into the blocks. Blocks with none of their paths stay as they are.
    fn merge(&mut self) {
        let mut recent = std::mem::take(&mut self.recent).into_iter().peekable();
        let blocks = std::mem::take(&mut self.blocks);
        let mut merged = Vec::with_capacity(blocks.len() + recent.len() / BLOCK_ROWS + 1);
        let mut later = blocks.into_iter().peekable();
        let mut changed = Vec::new();
        loop {
            let block = later.next();
            let end = later.peek().map(|next| &next.first);
            let is_here = |(path, _): &(DocumentPath, Option<IndexedDocument>)| end.is_none_or(|end| path < end);
            changed.clear();
            changed.extend(std::iter::from_fn(|| recent.next_if(is_here)));
            match block {
                Some(block) if changed.is_empty() => merged.push(block),
                block => put_blocks(&mut merged, block.as_ref(), &mut changed),
            }
            if later.peek().is_none() && recent.peek().is_none() {
                break;
            }
        }
        self.blocks = merged;
    }
}

impl<'a> IntoIterator for &'a Documents {
    type Item = (DocumentPath, IndexedDocument);
    type IntoIter = Rows<'a>;

    fn into_iter(self) -> Rows<'a> {
        self.iter()
    }
}

/// Writes the rows of a block, with those that were changed, in blocks.
fn put_blocks(
    merged: &mut Vec<Block>,
    block: Option<&Block>,
    changed: &mut Vec<(DocumentPath, Option<IndexedDocument>)>,
) {
    let mut rows = Vec::with_capacity(changed.len() + BLOCK_ROWS);
    let mut own = block.map(Block::rows).unwrap_or_default().peekable();
    for (path, document) in changed.drain(..) {
        rows.extend(std::iter::from_fn(|| own.next_if(|(before, _)| *before < path)));
        own.next_if(|(same, _)| *same == path);
        rows.extend(document.map(|document| (path, document)));
    }
    rows.extend(own);
    let blocks = rows.len().div_ceil(BLOCK_ROWS).max(1);
    // Of about the same size: a block of one row would be written again soon.
    merged.extend(rows.chunks(rows.len().div_ceil(blocks).max(1)).map(Block::of));
}

fn get_in_blocks(blocks: &[Block], path: &DocumentPath) -> Option<IndexedDocument> {
    let block = blocks.partition_point(|block| block.first <= *path).checked_sub(1)?;
    let mut rows = blocks[block].rows();
    while rows.advance() {
        if rows.path == path.as_bytes() {
            return Some(rows.document());
        }
        if rows.path.as_slice() > path.as_bytes() {
            return None;
        }
        rows.document();
    }
    None
}

impl Block {
    /// At least one row.
    fn of(rows: &[(DocumentPath, IndexedDocument)]) -> Block {
        let first = rows[0].0.clone();
        let (mut bytes, mut before) = (Vec::with_capacity(rows.len() * 48), first.as_bytes());
        for (path, document) in rows {
            let own = path.as_bytes();
            let shared = own.iter().zip(before).take_while(|(a, b)| a == b).count();
            put_number(&mut bytes, shared as u64);
            put_number(&mut bytes, (own.len() - shared) as u64);
            bytes.extend_from_slice(&own[shared..]);
            put_document(&mut bytes, document);
            before = own;
        }
        Block { first, rows: bytes.into_boxed_slice() }
    }

    fn rows(&self) -> BlockRows<'_> {
        BlockRows { rest: &self.rows, path: self.first.as_bytes().to_vec() }
    }
}

fn put_document(bytes: &mut Vec<u8>, document: &IndexedDocument) {
    let IndexedDocument { state, content, modified, message_id_hash } = document;
    let state = u8::try_from(i32::from(*state)).expect("there are few states");
    debug_assert!(state <= STATE_BITS);
    let content_flag = if content.is_some() { HAS_CONTENT } else { 0 };
    bytes.push(state | content_flag | if message_id_hash.is_some() { HAS_MESSAGE } else { 0 });
    // Times before 1970 are odd, so that those near to it are short.
    put_number(bytes, (modified << 1 ^ modified >> 63).cast_unsigned());
    content.iter().for_each(|digest| bytes.extend_from_slice(&digest.0));
    message_id_hash.iter().for_each(|hash| bytes.extend_from_slice(hash));
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// The rows of a block, one after the other: after [`advance`](BlockRows::advance), `path` is that of the row that
/// [`document`](BlockRows::document) reads.
#[derive(Default)]
struct BlockRows<'a> {
    rest: &'a [u8],
    path: Vec<u8>,
}

impl BlockRows<'_> {
    fn advance(&mut self) -> bool {
        if self.rest.is_empty() {
            return false;
        }
        let (shared, own) = (self.length(), self.length());
        self.path.truncate(shared);
        let (own, rest) = self.rest.split_at(own);
        self.path.extend_from_slice(own);
        self.rest = rest;
        true
    }

    fn document(&mut self) -> IndexedDocument {
        let flags = self.rest[0];
        self.rest = &self.rest[1..];
        let modified = self.number();
        let state = DocumentState::try_from(i32::from(flags & STATE_BITS)).expect("the state that was written");
        let content = (flags & HAS_CONTENT != 0).then(|| ContentDigest(self.sixteen()));
        let message_id_hash = (flags & HAS_MESSAGE != 0).then(|| self.sixteen());
        IndexedDocument {
            state,
            content,
            modified: (modified >> 1).cast_signed() ^ -((modified & 1).cast_signed()),
            message_id_hash,
        }
    }

    fn sixteen(&mut self) -> [u8; 16] {
        let (sixteen, rest) = self.rest.split_first_chunk().expect("the bytes that were written");
        self.rest = rest;
        *sixteen
    }

    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.rest[0];
            self.rest = &self.rest[1..];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }

    fn length(&mut self) -> usize {
        usize::try_from(self.number()).expect("a path fits in memory")
    }
}

impl Iterator for BlockRows<'_> {
    type Item = (DocumentPath, IndexedDocument);

    fn next(&mut self) -> Option<(DocumentPath, IndexedDocument)> {
        self.advance().then(|| (DocumentPath::new(&self.path).expect("it was one before"), self.document()))
    }
}

/// The rows of an index by ascending path.
pub struct Rows<'a> {
    blocks: std::slice::Iter<'a, Block>,
    rows: BlockRows<'a>,
    /// The next row of the blocks.
    next: Option<(DocumentPath, IndexedDocument)>,
    recent: Peekable<btree_map::Iter<'a, DocumentPath, Option<IndexedDocument>>>,
}

impl Rows<'_> {
    fn next_of_blocks(&mut self) -> Option<(DocumentPath, IndexedDocument)> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(row);
            }
            self.rows = self.blocks.next()?.rows();
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = (DocumentPath, IndexedDocument);

    fn next(&mut self) -> Option<(DocumentPath, IndexedDocument)> {
        loop {
            if self.next.is_none() {
                self.next = self.next_of_blocks();
            }
            let Some((path, document)) = self.recent.peek() else { return self.next.take() };
            match &self.next {
                Some((before, _)) if before < *path => return self.next.take(),
                Some((same, _)) if same == *path => self.next = None,
                _ => {}
            }
            let recent = document.map(|document| ((*path).clone(), document));
            self.recent.next();
            if recent.is_some() {
                return recent;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(name: &str) -> DocumentPath {
        DocumentPath::new(name.as_bytes()).unwrap()
    }

    fn document() -> impl Strategy<Value = IndexedDocument> {
        let state =
            prop::sample::select(vec![DocumentState::Read, DocumentState::Container, DocumentState::Unreadable]);
        (state, any::<Option<[u8; 16]>>(), any::<i64>(), any::<Option<[u8; 16]>>()).prop_map(
            |(state, content, modified, message_id_hash)| IndexedDocument {
                state,
                content: content.map(ContentDigest),
                modified,
                message_id_hash,
            },
        )
    }

    fn shown(rows: impl Iterator<Item = (DocumentPath, IndexedDocument)>) -> Vec<String> {
        rows.map(|row| format!("{row:?}")).collect()
    }

    proptest! {
        /// Few names, so that rows are replaced and removed, and many that begin alike.
        #[test]
        fn they_are_what_a_tree_would_be_after_any_changes(
            changes in prop::collection::vec(("[ab]{1,2}(/[ab]{1,2}){0,3}", prop::option::weighted(0.7, document())), 0..400),
        ) {
            let (mut documents, mut tree) = (Documents::default(), BTreeMap::new());
            for (name, change) in changes {
                let path = path(&name);
                let (before, expected) = match change {
                    Some(document) => (documents.insert(path.clone(), document), tree.insert(path.clone(), document)),
                    None => (documents.remove(&path), tree.remove(&path)),
                };
                prop_assert_eq!(format!("{before:?}"), format!("{expected:?}"));
                prop_assert_eq!(documents.len(), tree.len());
                prop_assert_eq!(format!("{:?}", documents.get(&path)), format!("{:?}", tree.get(&path)));
            }
            prop_assert_eq!(shown(documents.iter()), shown(tree.clone().into_iter()));
            for name in ["a", "b", "aa", "a/b", "b/b/b/b", "ab/a"] {
                prop_assert_eq!(documents.contains(&path(name)), tree.contains_key(&path(name)));
            }
        }
    }

    #[test]
    fn rows_in_blocks_take_a_fifth_of_the_memory_and_come_back_in_order() {
        let mut documents = Documents::default();
        let row = |number: u64| IndexedDocument {
            state: DocumentState::Read,
            content: Some(ContentDigest([7; 16])),
            modified: 1_700_000_000 + number.cast_signed(),
            message_id_hash: None,
        };
        let name = |number: u64| path(&format!("library/folder-{:03}/document-{number:06}.txt", number / 100));
        let count = 20_000;
        // In an order that is far from that of the paths.
        for number in (0..count).map(|number| number * 7919 % count) {
            assert!(documents.insert(name(number), row(number)).is_none());
        }
        assert_eq!(documents.len(), 20_000);
        let found: Vec<DocumentPath> = documents.iter().map(|(path, _)| path).collect();
        assert_eq!(found, (0..count).map(name).collect::<Vec<_>>());
        documents.merge();
        let bytes: usize =
            documents.blocks.iter().map(|block| block.rows.len() + block.first.as_bytes().len() + 64).sum();
        assert!(bytes < 45 * 20_000, "{bytes}");
        assert_eq!(documents.get(&name(777)).unwrap().modified, 1_700_000_777);
        assert!(documents.get(&path("library/folder-007/document-000777.tx")).is_none());
    }
}
