//! The identical sets of the same bytes in few large rows: a plan compares the copies of all sets, and a report lists them; reading them
//! document by document takes several times as long.

/// A block is finished when it has this many bytes.
const BLOCK_BYTES: usize = 64 * 1024;
/// No set of a result has more documents, clusters or sets than fit in a frozen scan.
const COUNT_MAX: u64 = u32::MAX as u64;

/// An identical set, with what else verdicts on its documents can be about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PackedSet {
    /// Its number in the result.
    pub number: u64,
    /// The digest of its content.
    pub digest: [u8; 16],
    /// The size of each document.
    pub size_bytes: u64,
    /// The clusters, under any view, that its documents are in, ascending.
    pub clusters: Vec<u64>,
    /// The other sets, of the same text or message, that its documents are in, ascending.
    pub sets: Vec<u64>,
    /// True if a list says more of one of its documents than is packed: it is a message, or its text was recognised.
    pub says_more: bool,
    /// Its documents, by site, repository and path.
    pub documents: Vec<PackedDocument>,
    /// The bytes of all paths.
    paths: Vec<u8>,
}

/// A document of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackedDocument {
    /// Its repository.
    pub root: u64,
    /// Time of the last modification, in seconds since 1970.
    pub modified: i64,
    path: (usize, usize),
}

/// A block ends in the middle of a set, or has a number that is too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a block of identical sets is damaged")]
pub struct Damaged;

impl PackedSet {
    /// A set without documents.
    pub fn new(number: u64, digest: [u8; 16], size_bytes: u64) -> PackedSet {
        PackedSet { number, digest, size_bytes, ..PackedSet::default() }
    }

    /// Adds a document.
    pub fn push(&mut self, root: u64, modified: i64, path: &[u8]) {
        let begin = self.paths.len();
        self.paths.extend_from_slice(path);
        self.documents.push(PackedDocument { root, modified, path: (begin, self.paths.len()) });
    }

    /// The path of one of its documents.
    pub fn path(&self, document: &PackedDocument) -> &[u8] {
        &self.paths[document.path.0..document.path.1]
    }

    /// Appends the set to a block.
    pub fn pack(&self, block: &mut Vec<u8>) {
        put(block, self.number);
        block.extend_from_slice(&self.digest);
        put(block, self.size_bytes);
        for numbers in [&self.clusters, &self.sets] {
            put(block, numbers.len() as u64);
            numbers.iter().for_each(|number| put(block, *number));
        }
        put(block, (self.documents.len() as u64) << 1 | u64::from(self.says_more));
        for document in &self.documents {
            put(block, document.root);
            put(block, (document.modified.cast_unsigned() << 1) ^ (document.modified >> 63).cast_unsigned());
            let path = self.path(document);
            put(block, path.len() as u64);
            block.extend_from_slice(path);
        }
    }

    /// True if a block that ends here is large enough.
    pub fn ends_block(block: &[u8]) -> bool {
        block.len() >= BLOCK_BYTES
    }

    /// Reads the next set of a block in the place of this one; false at the end.
    ///
    /// # Errors
    /// Fails if the block is damaged.
    pub fn unpack(&mut self, block: &mut &[u8]) -> Result<bool, Damaged> {
        if block.is_empty() {
            return Ok(false);
        }
        self.number = take(block)?;
        let (digest, rest) = block.split_first_chunk().ok_or(Damaged)?;
        (self.digest, *block) = (*digest, rest);
        self.size_bytes = take(block)?;
        for numbers in [&mut self.clusters, &mut self.sets] {
            numbers.clear();
            for _ in 0..count(block)? {
                numbers.push(take(block)?);
            }
        }
        self.documents.clear();
        self.paths.clear();
        let documents = take(block)?;
        self.says_more = documents & 1 == 1;
        for _ in 0..fits(documents >> 1, block)? {
            let (root, modified) = (take(block)?, take(block)?);
            let length = usize::try_from(take(block)?).map_err(|_| Damaged)?;
            let (path, rest) = block.split_at_checked(length).ok_or(Damaged)?;
            *block = rest;
            self.push(root, (modified >> 1).cast_signed() ^ -(modified & 1).cast_signed(), path);
        }
        Ok(true)
    }
}

/// Seven bits a byte, the lowest first.
fn put(block: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        block.push(u8::try_from(number & 0x7f).expect("seven bits") | 0x80);
        number >>= 7;
    }
    block.push(u8::try_from(number).expect("seven bits"));
}

fn take(block: &mut &[u8]) -> Result<u64, Damaged> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = block.split_first().ok_or(Damaged)?;
        *block = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Damaged)
}

/// Reads the number of items that follow.
fn count(block: &mut &[u8]) -> Result<u64, Damaged> {
    let count = take(block)?;
    fits(count, block)
}

/// A number of items that follow. Each item has at least one byte, so a damaged number reserves no memory.
fn fits(count: u64, block: &[u8]) -> Result<u64, Damaged> {
    if count > COUNT_MAX || count > block.len() as u64 { Err(Damaged) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets() -> Vec<PackedSet> {
        let mut one = PackedSet::new(3, [7; 16], 1 << 40);
        (one.clusters, one.sets) = (vec![0, 300], vec![u64::from(u32::MAX)]);
        one.push(0, 1_700_000_000, b"a/b.txt");
        one.push(65_535, i64::MIN, b"");
        one.push(1, i64::MAX, b"\xff\x00");
        let mut two = PackedSet::new(4, [0; 16], 0);
        two.push(2, -1, "ä/ü".as_bytes());
        two.says_more = true;
        vec![one, two]
    }

    #[test]
    fn what_is_packed_is_unpacked_and_every_cut_is_noticed() {
        let mut block = Vec::new();
        sets().iter().for_each(|set| set.pack(&mut block));
        let mut set = PackedSet::default();
        let mut rest = block.as_slice();
        let mut found = Vec::new();
        while set.unpack(&mut rest).unwrap() {
            found.push(set.clone());
        }
        assert_eq!(found, sets());
        assert_eq!(found[0].path(&found[0].documents[2]), b"\xff\x00");
        let first = {
            let mut first = Vec::new();
            sets()[0].pack(&mut first);
            first.len()
        };
        for length in (1..block.len()).filter(|length| *length != first) {
            let mut rest = &block[..length];
            let all = std::iter::from_fn(|| match set.unpack(&mut rest) {
                Ok(true) => Some(Ok(())),
                Ok(false) => None,
                Err(damaged) => Some(Err(damaged)),
            });
            assert!(all.take(3).any(|one| one.is_err()), "cut at {length}");
        }
    }
}
