//! Rows in blocks, and blocks in pages.

use std::iter::Peekable;

use cognate_fingerprint::ContentDigest;

use super::{IndexedDocument, Recent};
use crate::batch::DocumentState;
use crate::path::DocumentPath;

/// Rows of a block: whoever looks for one reads half of them.
const BLOCK_ROWS: usize = 16;
/// A page with so many bytes gets no more blocks.
pub(super) const PAGE_BYTES: usize = if cfg!(test) { 1 << 10 } else { 4 << 20 };

/// The flags of a row in a block.
const HAS_CONTENT: u8 = 1;
const HAS_MESSAGE: u8 = 2;
const IS_SEEN: u8 = 4;

/// Some blocks that follow each other, of some rows each that do.
#[derive(Default)]
pub(super) struct Page {
    rows: Vec<u8>,
    /// Where each block begins among the bytes of the rows. Its first path is there as a whole.
    begins: Vec<u32>,
}

/// A row with its path, and its mark.
pub(super) struct Row {
    pub(super) path: DocumentPath,
    pub(super) document: IndexedDocument,
    pub(super) is_seen: bool,
}

impl Page {
    /// The document of a row counts as seen, whose flags are at a place among the bytes.
    pub(super) fn see(&mut self, flags: usize) {
        self.rows[flags] |= IS_SEEN;
    }

    /// No document counts as seen.
    pub(super) fn forget_seen(&mut self) {
        let mut places = Vec::with_capacity(BLOCK_ROWS);
        for block in 0..self.begins.len() {
            let mut rows = self.block(block);
            places.extend(std::iter::from_fn(|| rows.next_row().map(|(flags, _)| flags)));
            places.drain(..).for_each(|flags| self.rows[flags] &= !IS_SEEN);
        }
    }

    /// The memory that it takes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.rows.capacity() + self.begins.capacity() * 4 + size_of::<Page>()
    }

    /// The place of the end of a block.
    fn end_of(&self, block: usize) -> usize {
        self.begins.get(block + 1).map_or(self.rows.len(), |begin| *begin as usize)
    }

    fn bytes_of(&self, block: usize) -> &[u8] {
        &self.rows[self.begins[block] as usize..self.end_of(block)]
    }

    /// The rows of a block.
    fn block(&self, block: usize) -> BlockRows<'_> {
        let next = self.begins[block] as usize;
        BlockRows { bytes: &self.rows[..self.end_of(block)], next, path: Vec::new() }
    }

    /// The first path of a block.
    pub(super) fn first_of(&self, block: usize) -> &[u8] {
        let mut rows = BlockRows { bytes: &self.rows, next: self.begins[block] as usize, path: Vec::new() };
        let (_, length) = (rows.length(), rows.length());
        &self.rows[rows.next..rows.next + length]
    }
}

/// Writes at least one row as a block.
fn put_block(rows: &[Row], bytes: &mut Vec<u8>) {
    let mut before: &[u8] = &[];
    for row in rows {
        let own = row.path.as_bytes();
        let shared = own.iter().zip(before).take_while(|(a, b)| a == b).count();
        put_number(bytes, shared as u64);
        put_number(bytes, (own.len() - shared) as u64);
        bytes.extend_from_slice(&own[shared..]);
        row.put_document(bytes);
        before = own;
    }
}

/// True if a path is before the first one of what follows.
pub(super) fn is_before(path: &DocumentPath, end: Option<&[u8]>) -> bool {
    end.is_none_or(|end| path.as_bytes() < end)
}

/// Pages that are written one after the other.
#[derive(Default)]
pub(super) struct Pages {
    whole: Vec<Page>,
    /// The one that is written.
    page: Page,
}

impl Pages {
    /// True if the page that is written is none, or may be followed by another: pages of a few blocks would become many.
    pub(super) fn can_end(&self) -> bool {
        self.page.begins.is_empty() || self.page.rows.len() >= PAGE_BYTES / 4
    }

    /// Ends the page that is written.
    fn end_page(&mut self) {
        let mut page = std::mem::take(&mut self.page);
        if !page.begins.is_empty() {
            page.rows.shrink_to_fit();
            page.begins.shrink_to_fit();
            self.whole.push(page);
        }
    }

    /// Takes a page over as it is.
    pub(super) fn keep(&mut self, page: Page) {
        self.end_page();
        self.whole.push(page);
    }

    /// Writes the blocks of a page, with the rows that were changed.
    pub(super) fn merge(&mut self, page: &Page, changed: &mut Peekable<impl Iterator<Item = (DocumentPath, Recent)>>) {
        for block in 0..page.begins.len() {
            let end = (block + 1 < page.begins.len()).then(|| page.first_of(block + 1));
            let mut of_block = std::iter::from_fn(|| changed.next_if(|(path, _)| is_before(path, end))).peekable();
            match of_block.peek() {
                None => self.copy(page.bytes_of(block)),
                Some(_) => self.put(Some(page.block(block)), of_block),
            }
        }
    }

    /// Writes the rows of a block, with those that were changed, in blocks.
    pub(super) fn put(&mut self, block: Option<BlockRows<'_>>, changed: impl Iterator<Item = (DocumentPath, Recent)>) {
        let mut rows: Vec<Row> = Vec::new();
        let mut own = block.unwrap_or_default().peekable();
        for (path, Recent { document, is_seen }) in changed {
            rows.extend(std::iter::from_fn(|| own.next_if(|before| before.path < path)));
            own.next_if(|same| same.path == path);
            rows.extend(document.map(|document| Row { path, document, is_seen }));
        }
        rows.extend(own);
        let blocks = rows.len().div_ceil(BLOCK_ROWS).max(1);
        // Of about the same size: a block of one row would be written again soon.
        let mut bytes = Vec::with_capacity(BLOCK_ROWS * 48);
        for rows in rows.chunks(rows.len().div_ceil(blocks).max(1)) {
            bytes.clear();
            put_block(rows, &mut bytes);
            self.copy(&bytes);
        }
    }

    /// Writes the bytes of a block.
    fn copy(&mut self, bytes: &[u8]) {
        if self.page.rows.len() >= PAGE_BYTES {
            self.end_page();
        }
        self.page.begins.push(u32::try_from(self.page.rows.len()).expect("a page is small"));
        self.page.rows.extend_from_slice(bytes);
    }

    pub(super) fn finish(mut self) -> Vec<Page> {
        self.end_page();
        self.whole
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
pub(super) struct BlockRows<'a> {
    /// The bytes of the page up to the end of the block.
    bytes: &'a [u8],
    /// The place of the next row among the bytes.
    next: usize,
    /// The path of the last row.
    path: Vec<u8>,
}

impl BlockRows<'_> {
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

/// All blocks, one after the other.
pub(super) struct Blocks<'a> {
    pages: std::slice::Iter<'a, Page>,
    page: Option<&'a Page>,
    /// The number of the next block of the page.
    next: usize,
}

impl<'a> Blocks<'a> {
    /// The blocks from that on in which a path would be; all of them, if there is none.
    pub(super) fn from(pages: &'a [Page], path: Option<&DocumentPath>) -> Blocks<'a> {
        match path.and_then(|path| place_of(pages, path.as_bytes())) {
            Some((page, block)) => Blocks { pages: pages[page + 1..].iter(), page: Some(&pages[page]), next: block },
            None => Blocks { pages: pages.iter(), page: None, next: 0 },
        }
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = BlockRows<'a>;

    fn next(&mut self) -> Option<BlockRows<'a>> {
        while self.page.is_none_or(|page| self.next == page.begins.len()) {
            (self.page, self.next) = (Some(self.pages.next()?), 0);
        }
        self.next += 1;
        self.page.map(|page| page.block(self.next - 1))
    }
}

/// A row of a block, and where it is.
pub(super) struct Place {
    pub(super) page: usize,
    /// The place of its flags in the bytes of the page.
    pub(super) flags: usize,
    pub(super) row: Row,
}

/// The page and the block in which a path would be; `None`: it would be before all.
fn place_of(pages: &[Page], path: &[u8]) -> Option<(usize, usize)> {
    let number = pages.partition_point(|page| page.first_of(0) <= path).checked_sub(1)?;
    let page = &pages[number];
    // The blocks are ascending, and so are the numbers of those that begin no later.
    let (mut block, mut after) = (0, page.begins.len());
    while block + 1 < after {
        let middle = usize::midpoint(block, after);
        if page.first_of(middle) <= path { block = middle } else { after = middle }
    }
    Some((number, block))
}

/// The row of a path.
pub(super) fn find(pages: &[Page], path: &DocumentPath) -> Option<Place> {
    let own = path.as_bytes();
    let (number, block) = place_of(pages, own)?;
    let page = &pages[number];
    let mut rows = page.block(block);
    while let Some((flags, document)) = rows.next_row() {
        if rows.path.as_slice() >= own {
            let is_same = rows.path == own;
            let is_seen = page.rows[flags] & IS_SEEN != 0;
            return is_same.then(|| Place { page: number, flags, row: Row { path: path.clone(), document, is_seen } });
        }
    }
    None
}
