//! The documents of an index by their paths, in little memory, as both ends hold them.
//!
//! Most rows are in blocks, ascending by path: of each path a block has only what the path before it does not begin with. A row in a
//! block takes some forty bytes; in a tree with allocated paths it would take two hundred. What was changed lately is in such a tree, and
//! is merged into the blocks once there is much of it.

use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;

use cognate_fingerprint::ContentDigest;

use crate::batch::{DocumentRow, DocumentState};
use crate::path::DocumentPath;

/// Rows of a block: whoever looks for one reads half of them.
const BLOCK_ROWS: usize = 16;
/// Rows in the tree from which on they are merged into the blocks, next to an eighth of those there.
const RECENT_ROWS_MIN: usize = if cfg!(test) { 8 } else { 1 << 16 };

/// The flags of a row in a block.
const HAS_CONTENT: u8 = 1;
const HAS_MESSAGE: u8 = 2;
const IS_SEEN: u8 = 4;

/// A document's row without its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexedDocument {
    /// The state of the document: read, or the reason why not.
    pub state: DocumentState,
    /// The digest of its content; none where it could not be read.
    pub content: Option<ContentDigest>,
    /// Time of the last modification; seconds since 1970, 0: the document was not read.
    pub modified: i64,
    /// Of a message, if its site sends it.
    pub message_id_hash: Option<[u8; 16]>,
}

impl IndexedDocument {
    /// The row with its path.
    #[must_use]
    pub fn with_path(self, path: DocumentPath) -> DocumentRow {
        let IndexedDocument { state, content, modified, message_id_hash } = self;
        DocumentRow { path, state, content, modified, message_id_hash }
    }
}

impl From<&DocumentRow> for IndexedDocument {
    fn from(row: &DocumentRow) -> IndexedDocument {
        let DocumentRow { state, content, modified, message_id_hash, .. } = *row;
        IndexedDocument { state, content, modified, message_id_hash }
    }
}

/// The documents of an index, ascending by their paths. Each is seen or not, as a sync needs it.
#[derive(Default)]
pub struct Documents {
    /// Ascending by their first paths.
    blocks: Vec<Block>,
    /// Rows that are not in the blocks, or are others there.
    recent: BTreeMap<DocumentPath, Recent>,
    len: usize,
}

/// Some rows that follow each other.
struct Block {
    first: DocumentPath,
    rows: Box<[u8]>,
}

/// A row that was changed lately.
#[derive(Clone, Copy, Default)]
struct Recent {
    /// Nothing: the document was removed.
    document: Option<IndexedDocument>,
    is_seen: bool,
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
            Some(recent) => recent.document,
            None => find(&self.blocks, path).map(|place| place.row.document),
        }
    }

    /// True if a document has this path.
    pub fn contains(&self, path: &DocumentPath) -> bool {
        self.get(path).is_some()
    }

    /// The row of a path, which counts as seen from now on.
    pub fn see(&mut self, path: &DocumentPath) -> Option<IndexedDocument> {
        if let Some(recent) = self.recent.get_mut(path) {
            recent.is_seen = true;
            return recent.document;
        }
        let place = find(&self.blocks, path)?;
        self.blocks[place.block].rows[place.flags] |= IS_SEEN;
        Some(place.row.document)
    }

    /// The paths that were not seen, ascending.
    pub fn unseen(&self) -> impl Iterator<Item = DocumentPath> {
        self.rows().filter(|row| !row.is_seen).map(|row| row.path)
    }

    /// None of them counts as seen from now on.
    pub fn forget_seen(&mut self) {
        self.recent.values_mut().for_each(|recent| recent.is_seen = false);
        for block in &mut self.blocks {
            let (mut places, mut rows) = (Vec::with_capacity(BLOCK_ROWS), BlockRows::of(block));
            while let Some((flags, _)) = rows.next_row() {
                places.push(flags);
            }
            places.into_iter().for_each(|flags| block.rows[flags] &= !IS_SEEN);
        }
    }

    /// Puts a row in place of that of the same path, which is returned. It is seen if that was.
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
    pub fn iter(&self) -> impl Iterator<Item = (DocumentPath, IndexedDocument)> {
        self.rows().map(|row| (row.path, row.document))
    }

    /// About the bytes of memory of so many documents, whose paths have so many bytes together.
    pub fn memory_bytes(len: u64, path_bytes: u64) -> u64 {
        len * 40 + path_bytes / 4
    }

    fn rows(&self) -> Rows<'_> {
        let (blocks, recent) = (self.blocks.iter(), self.recent.iter().peekable());
        Rows { blocks, rows: BlockRows::default(), next: None, recent }
    }

    fn put(&mut self, path: DocumentPath, document: Option<IndexedDocument>) -> Option<IndexedDocument> {
        let before = match self.recent.entry(path) {
            btree_map::Entry::Occupied(mut recent) => {
                return std::mem::replace(&mut recent.get_mut().document, document);
            }
            btree_map::Entry::Vacant(vacant) => {
                let before = find(&self.blocks, vacant.key()).map(|place| place.row);
                vacant.insert(Recent { document, is_seen: before.as_ref().is_some_and(|row| row.is_seen) });
                before.map(|row| row.document)
            }
        };
        if self.recent.len() >= RECENT_ROWS_MIN + self.len / 8 {
            self.merge();
        }
        before
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
            let is_here = |(path, _): &(DocumentPath, Recent)| end.is_none_or(|end| path < end);
            changed.extend(std::iter::from_fn(|| recent.next_if(is_here)));
            match block {
                Some(block) if changed.is_empty() => merged.push(block),
                block => put_blocks(&mut merged, block.as_ref(), changed.drain(..)),
            }
            if later.peek().is_none() && recent.peek().is_none() {
                break;
            }
        }
        self.blocks = merged;
    }
}

/// Writes the rows of a block, with those that were changed, in blocks.
fn put_blocks(merged: &mut Vec<Block>, block: Option<&Block>, changed: impl Iterator<Item = (DocumentPath, Recent)>) {
    let mut rows: Vec<Row> = Vec::new();
    let mut own = block.map(BlockRows::of).unwrap_or_default().peekable();
    for (path, Recent { document, is_seen }) in changed {
        rows.extend(std::iter::from_fn(|| own.next_if(|before| before.path < path)));
        own.next_if(|same| same.path == path);
        rows.extend(document.map(|document| Row { path, document, is_seen }));
    }
    rows.extend(own);
    let blocks = rows.len().div_ceil(BLOCK_ROWS).max(1);
    // Of about the same size: a block of one row would be written again soon.
    merged.extend(rows.chunks(rows.len().div_ceil(blocks).max(1)).map(Block::of));
}

/// A row of a block, and where it is.
struct Place {
    block: usize,
    /// The place of its flags in the bytes of the block.
    flags: usize,
    row: Row,
}

fn find(blocks: &[Block], path: &DocumentPath) -> Option<Place> {
    let block = blocks.partition_point(|block| block.first <= *path).checked_sub(1)?;
    let mut rows = BlockRows::of(&blocks[block]);
    while let Some((flags, document)) = rows.next_row() {
        if rows.path.as_slice() >= path.as_bytes() {
            let is_same = rows.path == path.as_bytes();
            let is_seen = blocks[block].rows[flags] & IS_SEEN != 0;
            return is_same.then(|| Place { block, flags, row: Row { path: path.clone(), document, is_seen } });
        }
    }
    None
}

struct Row {
    path: DocumentPath,
    document: IndexedDocument,
    is_seen: bool,
}

impl Block {
    /// At least one row.
    fn of(rows: &[Row]) -> Block {
        let first = rows[0].path.clone();
        let (mut bytes, mut before) = (Vec::with_capacity(rows.len() * 48), first.as_bytes());
        for row in rows {
            let own = row.path.as_bytes();
            let shared = own.iter().zip(before).take_while(|(a, b)| a == b).count();
            put_number(&mut bytes, shared as u64);
            put_number(&mut bytes, (own.len() - shared) as u64);
            bytes.extend_from_slice(&own[shared..]);
            row.put_document(&mut bytes);
            before = own;
        }
        Block { first, rows: bytes.into_boxed_slice() }
    }
}

impl Row {
    fn put_document(&self, bytes: &mut Vec<u8>) {
        let IndexedDocument { state, content, modified, message_id_hash } = &self.document;
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = [
            flag(content.is_some(), HAS_CONTENT),
            flag(message_id_hash.is_some(), HAS_MESSAGE),
            flag(self.is_seen, IS_SEEN),
        ];
        bytes.push(flags.iter().sum());
        bytes.push(u8::try_from(i32::from(*state)).expect("there are few states"));
        // Times before 1970 are odd, so that those near to it are short.
        put_number(bytes, (modified << 1 ^ modified >> 63).cast_unsigned());
        content.iter().for_each(|digest| bytes.extend_from_slice(&digest.0));
        message_id_hash.iter().for_each(|hash| bytes.extend_from_slice(hash));
    }
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// The rows of a block, one after the other.
#[derive(Default)]
struct BlockRows<'a> {
    bytes: &'a [u8],
    /// The place of the next row among the bytes.
    next: usize,
    /// The path of the last row.
    path: Vec<u8>,
}

impl<'a> BlockRows<'a> {
    fn of(block: &'a Block) -> BlockRows<'a> {
        BlockRows { bytes: &block.rows, next: 0, path: block.first.as_bytes().to_vec() }
    }

    /// The next row, whose path is then in `path`, and the place of its flags.
    fn next_row(&mut self) -> Option<(usize, IndexedDocument)> {
        if self.next == self.bytes.len() {
            return None;
        }
        let (shared, own) = (self.length(), self.length());
        self.path.truncate(shared);
        self.path.extend_from_slice(&self.bytes[self.next..self.next + own]);
        self.next += own;
        let place = self.next;
        let (flags, state) = (self.byte(), self.byte());
        let modified = self.number();
        let document = IndexedDocument {
            state: DocumentState::try_from(i32::from(state)).expect("the state that was written"),
            modified: (modified >> 1).cast_signed() ^ -((modified & 1).cast_signed()),
            content: (flags & HAS_CONTENT != 0).then(|| ContentDigest(self.sixteen())),
            message_id_hash: (flags & HAS_MESSAGE != 0).then(|| self.sixteen()),
        };
        Some((place, document))
    }

    fn byte(&mut self) -> u8 {
        self.next += 1;
        self.bytes[self.next - 1]
    }

    fn sixteen(&mut self) -> [u8; 16] {
        let sixteen = self.bytes[self.next..].first_chunk().expect("the bytes that were written");
        self.next += 16;
        *sixteen
    }

    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
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
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let (flags, document) = self.next_row()?;
        let path = DocumentPath::new(&self.path).expect("it was one before");
        Some(Row { path, document, is_seen: self.bytes[flags] & IS_SEEN != 0 })
    }
}

/// All rows by ascending path.
struct Rows<'a> {
    blocks: std::slice::Iter<'a, Block>,
    rows: BlockRows<'a>,
    /// The next row of the blocks.
    next: Option<Row>,
    recent: Peekable<btree_map::Iter<'a, DocumentPath, Recent>>,
}

impl Rows<'_> {
    fn next_of_blocks(&mut self) -> Option<Row> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(row);
            }
            self.rows = BlockRows::of(self.blocks.next()?);
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        loop {
            if self.next.is_none() {
                self.next = self.next_of_blocks();
            }
            let Some((path, Recent { document, is_seen })) = self.recent.peek() else { return self.next.take() };
            match &self.next {
                Some(before) if before.path < **path => return self.next.take(),
                Some(same) if same.path == **path => self.next = None,
                _ => {}
            }
            let recent = document.map(|document| Row { path: (*path).clone(), document, is_seen: *is_seen });
            self.recent.next();
            if recent.is_some() {
                return recent;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn path(name: &str) -> DocumentPath {
        DocumentPath::new(name.as_bytes()).unwrap()
    }

    #[derive(Clone, Debug)]
    enum Change {
        Insert(IndexedDocument),
        Remove,
        See,
        ForgetSeen,
    }

    fn change() -> impl Strategy<Value = Change> {
        let state =
            prop::sample::select(vec![DocumentState::Read, DocumentState::Container, DocumentState::TooManyPages]);
        let document = (state, any::<Option<[u8; 16]>>(), any::<i64>(), any::<Option<[u8; 16]>>()).prop_map(
            |(state, content, modified, message_id_hash)| IndexedDocument {
                state,
                content: content.map(ContentDigest),
                modified,
                message_id_hash,
            },
        );
        prop_oneof![
            6 => document.prop_map(Change::Insert),
            2 => Just(Change::Remove),
            2 => Just(Change::See),
            1 => Just(Change::ForgetSeen)
        ]
    }

    proptest! {
        /// Few names, so that rows are replaced and removed, and many that begin alike.
        #[test]
        fn they_are_what_a_tree_would_be_after_any_changes(
            changes in prop::collection::vec(("[ab]{1,2}(/[ab]{1,2}){0,3}", change()), 0..400),
        ) {
            let (mut documents, mut tree, mut seen) = (Documents::default(), BTreeMap::new(), BTreeSet::new());
            for (name, change) in changes {
                let path = path(&name);
                match change {
                    Change::Insert(document) => {
                        prop_assert_eq!(documents.insert(path.clone(), document), tree.insert(path.clone(), document));
                    }
                    Change::Remove => {
                        prop_assert_eq!(documents.remove(&path), tree.remove(&path));
                        // A row that comes back later may be seen or not: a sync sees what it inserts.
                        documents.see(&path);
                        seen.insert(path.clone());
                    }
                    Change::See => {
                        prop_assert_eq!(documents.see(&path), tree.get(&path).copied());
                        if tree.contains_key(&path) {
                            seen.insert(path.clone());
                        }
                    }
                    Change::ForgetSeen => {
                        documents.forget_seen();
                        seen.clear();
                    }
                }
                prop_assert_eq!(documents.len(), tree.len());
                prop_assert_eq!(documents.get(&path), tree.get(&path).copied());
                documents.see(&path);
                seen.insert(path);
            }
            prop_assert_eq!(documents.iter().collect::<Vec<_>>(), tree.clone().into_iter().collect::<Vec<_>>());
            let unseen: Vec<DocumentPath> = tree.keys().filter(|path| !seen.contains(*path)).cloned().collect();
            prop_assert_eq!(documents.unseen().collect::<Vec<_>>(), unseen);
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
        assert!(bytes < 46 * 20_000, "{bytes}");
        assert_eq!(documents.get(&name(777)).unwrap().modified, 1_700_000_777);
        assert!(documents.get(&path("library/folder-007/document-000777.tx")).is_none());
        assert_eq!(documents.see(&name(3)), Some(row(3)));
        assert_eq!(documents.unseen().count(), 19_999);
        documents.forget_seen();
        assert_eq!(documents.unseen().count(), 20_000);
    }
}
