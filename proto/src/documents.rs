//! The documents of an index by their paths, in little memory, as both ends hold them.
//!
//! Most rows are in blocks, ascending by path: of each path a block has only what the path before it does not begin with. A row in a
//! block takes some forty bytes; in a tree with allocated paths it would take two hundred. What was changed lately is in such a tree, and
//! is merged into the blocks once there is much of it. Many blocks are one piece of memory, a page: an allocator that keeps large pieces on
//! a disk can keep these there.

mod pages;

use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;
use std::ops::Bound;

use cognate_fingerprint::ContentDigest;

use self::pages::{BlockRows, Blocks, Page, Pages, Row, find, is_before};
use crate::batch::{DocumentRow, DocumentState};
use crate::path::DocumentPath;

/// Rows in the tree from which on they are merged into the blocks, next to an eighth of those there.
const RECENT_ROWS_MIN: usize = if cfg!(test) { 8 } else { 1 << 16 };
/// However many rows the blocks have, the tree has no more than so many: they take two hundred bytes each.
const RECENT_ROWS_MAX: usize = 1 << 18;
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
    /// Ascending by their first paths; none is empty.
    pages: Vec<Page>,
    /// Rows that are not in the blocks, or are others there.
    recent: BTreeMap<DocumentPath, Recent>,
    len: usize,
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
            None => find(&self.pages, path).map(|place| place.row.document),
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
        let place = find(&self.pages, path)?;
        self.pages[place.page].see(place.flags);
        Some(place.row.document)
    }

    /// The paths that were not seen, ascending.
    pub fn unseen(&self) -> impl Iterator<Item = DocumentPath> {
        self.rows().filter(|row| !row.is_seen).map(|row| row.path)
    }

    /// None of them counts as seen from now on.
    pub fn forget_seen(&mut self) {
        self.recent.values_mut().for_each(|recent| recent.is_seen = false);
        self.pages.iter_mut().for_each(Page::forget_seen);
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

    /// Takes what was changed lately into the blocks: nothing more is to be changed.
    pub fn settle(&mut self) {
        self.merge();
    }

    /// The rows by ascending path.
    pub fn iter(&self) -> impl Iterator<Item = (DocumentPath, IndexedDocument)> {
        self.iter_from(None)
    }

    /// The rows of a path and of those after it, ascending; all of them, if there is none.
    pub fn iter_from<'a>(
        &'a self,
        from: Option<&'a DocumentPath>,
    ) -> impl Iterator<Item = (DocumentPath, IndexedDocument)> + use<'a> {
        let rows = self.rows_from(from).skip_while(move |row| from.is_some_and(|from| row.path < *from));
        rows.map(|row| (row.path, row.document))
    }

    /// About the bytes of memory of so many documents, whose paths have so many bytes together.
    pub fn memory_bytes(len: u64, path_bytes: u64) -> u64 {
        len * 40 + path_bytes / 4
    }

    fn rows(&self) -> Rows<'_> {
        self.rows_from(None)
    }

    /// The rows from the beginning of the block in which a path would be: some may be before it. Of changed rows, those from the path on.
    fn rows_from(&self, from: Option<&DocumentPath>) -> Rows<'_> {
        let blocks = Blocks::from(&self.pages, from);
        let recent = (from.map_or(Bound::Unbounded, Bound::Included), Bound::Unbounded);
        let recent = self.recent.range::<DocumentPath, _>(recent).peekable();
        Rows { blocks, rows: BlockRows::default(), next: None, recent }
    }

    fn put(&mut self, path: DocumentPath, document: Option<IndexedDocument>) -> Option<IndexedDocument> {
        let before = match self.recent.entry(path) {
            btree_map::Entry::Occupied(mut recent) => {
                return std::mem::replace(&mut recent.get_mut().document, document);
            }
            btree_map::Entry::Vacant(vacant) => {
                let before = find(&self.pages, vacant.key()).map(|place| place.row);
                vacant.insert(Recent { document, is_seen: before.as_ref().is_some_and(|row| row.is_seen) });
                before.map(|row| row.document)
            }
        };
        if self.recent.len() >= (RECENT_ROWS_MIN + self.len / 8).min(RECENT_ROWS_MAX) {
            self.merge();
        }
        before
    }

    /// Takes the rows of the tree into the blocks. Pages and blocks with none of their paths stay as they are.
    fn merge(&mut self) {
        let mut recent = std::mem::take(&mut self.recent).into_iter().peekable();
        let mut later = std::mem::take(&mut self.pages).into_iter().peekable();
        let mut pages = Pages::default();
        loop {
            let page = later.next();
            let end = later.peek().map(|next| next.first_of(0));
            let mut of_page = std::iter::from_fn(|| recent.next_if(|(path, _)| is_before(path, end))).peekable();
            match page {
                Some(page) if of_page.peek().is_none() && pages.can_end() => pages.keep(page),
                Some(page) => pages.merge(&page, &mut of_page),
                None => pages.put(None, of_page),
            }
            if later.peek().is_none() && recent.peek().is_none() {
                break;
            }
        }
        self.pages = pages.finish();
    }
}

/// All rows by ascending path.
struct Rows<'a> {
    blocks: Blocks<'a>,
    rows: BlockRows<'a>,
    /// The next row of the blocks.
    next: Option<Row>,
    recent: Peekable<btree_map::Range<'a, DocumentPath, Recent>>,
}

impl Rows<'_> {
    fn next_of_blocks(&mut self) -> Option<Row> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(row);
            }
            self.rows = self.blocks.next()?;
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
            documents.settle();
            prop_assert_eq!(documents.recent.len(), 0);
            prop_assert_eq!(documents.iter().collect::<Vec<_>>(), tree.clone().into_iter().collect::<Vec<_>>());
            for name in ["a", "b", "aa", "a/b", "b/b/b/b", "ab/a", "0", "c"] {
                let path = path(name);
                prop_assert_eq!(documents.contains(&path), tree.contains_key(&path));
                let after: Vec<_> = tree.range(&path..).map(|(path, document)| (path.clone(), *document)).collect();
                prop_assert_eq!(documents.iter_from(Some(&path)).collect::<Vec<_>>(), after);
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
        let bytes: usize = documents.pages.iter().map(Page::memory_bytes).sum();
        assert!(bytes < 43 * 20_000, "{bytes}");
        let count = documents.pages.len();
        assert!(count < bytes / (pages::PAGE_BYTES / 4), "no page has but a few blocks: {count}");
        assert_eq!(documents.get(&name(777)).unwrap().modified, 1_700_000_777);
        assert!(documents.get(&path("library/folder-007/document-000777.tx")).is_none());
        assert_eq!(documents.see(&name(3)), Some(row(3)));
        assert_eq!(documents.unseen().count(), 19_999);
        documents.forget_seen();
        assert_eq!(documents.unseen().count(), 20_000);
    }
}
