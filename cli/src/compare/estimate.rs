//! `compare --estimate`: how much two folders have in common, from a sample, before everything is read.
//!
//! The bytes of a side, in the order of their paths, are cut into as many equal stretches as places are wanted, and one place is
//! drawn by chance from each. A place counts as common if a window of 32 bytes around it is also in the document at the same path of the
//! other side (if there is none, in one of the same name), which is the exact measure of reports, or if a document there has the same content as its own. Both can be seen by reading the
//! document of the place, the one at its path, and those of its size: no other document can have its content. The mean number of places in common is the share of the
//! bytes, and it varies no more than if all places were drawn from everything, since neighbours are alike: the interval of Clopper
//! and Pearson, which is for that, is on the safe side, however the sizes of documents are spread.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cognate_export::human::{bytes, count, percent};
use cognate_fingerprint::{
    ContentDigest, EXACT_WINDOW_BYTES, Fingerprinter, Key, Method, SplitMix64, binomial_interval, window_hashes,
};
use cognate_proto::selection::{Facts, Selection};
use serde_json::{Value, json};

/// Of a name that more documents have than this, none is read: it says nothing about what is in them.
const NAMESAKES_MAX: usize = 8;
/// Bytes of a document in memory at a time.
const BLOCK_BYTES: usize = 1 << 20;
/// The same folders give the same answer.
const SEED: u64 = 1;

/// The documents of a side that a scan would read.
pub(super) struct Side {
    pub(super) name: String,
    root: PathBuf,
    documents: Vec<Document>,
    by_path: HashMap<PathBuf, usize>,
    by_name: HashMap<OsString, Vec<usize>>,
    by_size: HashMap<u64, Vec<usize>>,
    size_bytes: u64,
}

struct Document {
    path: PathBuf,
    size_bytes: u64,
}

/// An estimate of the share of one side that the other has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Estimate {
    pub(super) places: u64,
    pub(super) common: u64,
    /// Places in documents that could not be read: they count as not common.
    pub(super) unread: u64,
    /// From 0 to 1.
    pub(super) interval: [f64; 2],
}

/// What was read for an estimate.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Read {
    pub(super) documents: u64,
    pub(super) bytes: u64,
}

impl Side {
    /// Lists the documents of a folder that the options choose; the folders of `omitted` are no part of it.
    ///
    /// # Errors
    /// Fails if the folder cannot be listed; folders below it that cannot are left out.
    pub(super) fn open(name: String, root: &Path, selection: &Selection, omitted: &Path) -> io::Result<Side> {
        let mut side = Side {
            name,
            root: root.to_owned(),
            documents: Vec::new(),
            by_path: HashMap::new(),
            by_name: HashMap::new(),
            by_size: HashMap::new(),
            size_bytes: 0,
        };
        let omitted = omitted.canonicalize().ok();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let entries = match std::fs::read_dir(root.join(&folder)) {
                Err(error) if folder.as_os_str().is_empty() => return Err(error),
                Err(_) => continue,
                Ok(entries) => entries,
            };
            let mut names: Vec<_> = entries.filter_map(Result::ok).collect();
            // The order of a disk is not that of another.
            names.sort_by_key(std::fs::DirEntry::file_name);
            for entry in names {
                let path = folder.join(entry.file_name());
                let as_bytes = path.as_os_str().as_encoded_bytes();
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    let is_omitted = omitted.is_some() && entry.path().canonicalize().ok() == omitted;
                    if !is_omitted && !selection.excludes_folder(as_bytes) {
                        folders.push(path);
                    }
                } else if kind.is_file()
                    && let Ok(metadata) = entry.metadata()
                    && selection.selects(&Facts { path: as_bytes, size_bytes: Some(metadata.len()) })
                {
                    side.add(path, metadata.len());
                }
            }
        }
        Ok(side)
    }

    fn add(&mut self, path: PathBuf, size_bytes: u64) {
        // Empty documents have nothing in common with anything.
        if size_bytes == 0 {
            return;
        }
        let number = self.documents.len();
        self.by_path.insert(path.clone(), number);
        let name = path.file_name().unwrap_or_default().to_owned();
        self.by_name.entry(name).or_default().push(number);
        self.by_size.entry(size_bytes).or_default().push(number);
        self.size_bytes += size_bytes;
        self.documents.push(Document { path, size_bytes });
    }

    /// The document at a path; if there is none, those of the same name.
    fn at_or_named(&self, path: &Path) -> Vec<usize> {
        if let Some(at_its_path) = self.by_path.get(path) {
            return vec![*at_its_path];
        }
        let named = path.file_name().and_then(|name| self.by_name.get(name));
        named.filter(|named| named.len() <= NAMESAKES_MAX).cloned().unwrap_or_default()
    }

    fn open_document(&self, number: usize) -> io::Result<File> {
        File::open(self.root.join(&self.documents[number].path))
    }
}

/// Reads documents, each once: of most, only the digest stays in memory.
struct Reader<'a> {
    fingerprinter: Fingerprinter,
    sides: [&'a Side; 2],
    digests: HashMap<(usize, usize), Option<ContentDigest>>,
    read: Read,
}

impl Reader<'_> {
    /// The digest of a document; nothing if it cannot be read.
    fn digest(&mut self, side: usize, number: usize) -> Option<ContentDigest> {
        if let Some(digest) = self.digests.get(&(side, number)) {
            return *digest;
        }
        let read = self.sides[side].open_document(number);
        let content = read.and_then(|mut file| self.fingerprinter.read(&mut file, |_| Ok(()))).ok();
        self.read.documents += 1;
        self.read.bytes += content.as_ref().map_or(0, |content| content.size_bytes);
        let digest = content.map(|content| content.digest);
        self.digests.insert((side, number), digest);
        digest
    }

    /// How many of these places of a document the other side has; nothing if it cannot be read.
    fn common(&mut self, side: usize, number: usize, offsets: &[u64]) -> Option<u64> {
        let (own, other) = (self.sides[side], self.sides[1 - side]);
        let Document { path, size_bytes } = &own.documents[number];
        let digest = self.digest(side, number)?;
        let likely = other.at_or_named(path);
        let of_its_size = other.by_size.get(size_bytes).into_iter().flatten().copied();
        let like = likely.iter().copied().filter(|place| other.documents[*place].size_bytes == *size_bytes);
        if like.chain(of_its_size).any(|place| self.digest(1 - side, place) == Some(digest)) {
            return Some(offsets.len() as u64);
        }
        let mut windows = Windows::around(&own.open_document(number).ok()?, *size_bytes, offsets).ok()?;
        for place in likely {
            // A document that cannot be read counts as common with none.
            let found = other.open_document(place).and_then(|mut file| windows.find(&mut file));
            self.read.bytes += found.unwrap_or(0);
        }
        Some(windows.found.into_iter().filter(|found| *found).count() as u64)
    }
}

/// The windows around places of a document, which are looked for in others.
struct Windows {
    /// The hash of each, its bytes, and the number of the place; by hash.
    all: Vec<(u64, [u8; EXACT_WINDOW_BYTES], usize)>,
    /// For the first bits of a hash, whether there is such a window: nearly all windows of other documents are none.
    may_be: Vec<bool>,
    /// The places of which a window was found.
    found: Vec<bool>,
}

const FIRST_BITS: u32 = 14;

fn first_bits(hash: u64) -> usize {
    usize::try_from(hash >> (64 - FIRST_BITS)).expect("few bits")
}

impl Windows {
    /// Those around places of a document of this size.
    fn around(file: &File, size_bytes: u64, offsets: &[u64]) -> io::Result<Windows> {
        let width = EXACT_WINDOW_BYTES as u64;
        let mut windows =
            Windows { all: Vec::new(), may_be: vec![false; 1 << FIRST_BITS], found: vec![false; offsets.len()] };
        for (number, offset) in offsets.iter().enumerate() {
            let (start, end) = (offset.saturating_sub(width - 1), (offset + width).min(size_bytes));
            let mut bytes = vec![0; usize::try_from(end - start).expect("two windows")];
            file.read_exact_at(&mut bytes, start)?;
            for (window, hash) in bytes.array_windows().zip(window_hashes(&bytes, EXACT_WINDOW_BYTES)) {
                windows.all.push((hash, *window, number));
                windows.may_be[first_bits(hash)] = true;
            }
        }
        windows.all.sort_unstable();
        Ok(windows)
    }

    /// Looks for them in a document, and tells how many bytes it has.
    fn find(&mut self, file: &mut File) -> io::Result<u64> {
        let (mut block, mut size_bytes) = (Vec::with_capacity(2 * BLOCK_BYTES), 0);
        loop {
            let begun = block.len();
            let read = file.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
            size_bytes += read as u64;
            for (start, hash) in window_hashes(&block, EXACT_WINDOW_BYTES).enumerate() {
                if self.may_be[first_bits(hash)] {
                    self.see(hash, &block[start..start + EXACT_WINDOW_BYTES]);
                }
            }
            if read == 0 {
                return Ok(size_bytes);
            }
            // A window may begin in one block and end in the next.
            block.drain(..(begun + read).saturating_sub(EXACT_WINDOW_BYTES - 1));
        }
    }

    fn see(&mut self, hash: u64, bytes: &[u8]) {
        let first = self.all.partition_point(|(known, ..)| *known < hash);
        for (_, window, number) in self.all[first..].iter().take_while(|(known, ..)| *known == hash) {
            self.found[*number] |= window == bytes;
        }
    }
}

/// Draws places of a side, and sees which of them the other has.
fn estimate(reader: &mut Reader<'_>, side: usize, places: u64, seed: u64) -> Option<Estimate> {
    let documents = &reader.sides[side].documents;
    let all = reader.sides[side].size_bytes;
    if all == 0 {
        return None;
    }
    let mut rng = SplitMix64::new(seed);
    // The drawn places of each document: it is read once for all of them.
    let mut drawn: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    let mut ends = Vec::with_capacity(documents.len());
    let mut end = 0;
    for document in documents {
        end += document.size_bytes;
        ends.push(end);
    }
    let begin = |number: u64| u64::try_from(u128::from(all) * u128::from(number) / u128::from(places)).unwrap_or(all);
    for number in 0..places {
        let (from, to) = (begin(number), begin(number + 1));
        let place = (from + below(&mut rng, (to - from).max(1))).min(all - 1);
        let number = ends.partition_point(|end| *end <= place);
        drawn.entry(number).or_default().push(place - (ends[number] - documents[number].size_bytes));
    }
    let (mut common, mut unread) = (0, 0);
    for (number, offsets) in drawn {
        match reader.common(side, number, &offsets) {
            None => unread += offsets.len() as u64,
            Some(found) => common += found,
        }
    }
    Some(Estimate { places, common, unread, interval: binomial_interval(common, places) })
}

/// A number below `end`, each with the same probability.
fn below(rng: &mut SplitMix64, end: u64) -> u64 {
    // What is above the last multiple is drawn again.
    let last = u64::MAX - u64::MAX % end;
    loop {
        let number = rng.next();
        if number < last {
            return number % end;
        }
    }
}

/// The estimates of two sides: of the first at the second, of the second at the first; and what was read.
pub(super) fn of(sides: [&Side; 2], method: Method, key: &Key, places: u64) -> ([Option<Estimate>; 2], Read) {
    let fingerprinter = method.fingerprinter(key);
    let mut reader = Reader { fingerprinter, sides, digests: HashMap::new(), read: Read::default() };
    let both = [0, 1].map(|side| estimate(&mut reader, side, places, SEED + side as u64));
    (both, reader.read)
}

const MEANING: &str = "bytes in runs of 32 or more that are also in the document at the same path of the other side, or else of the same name, or in a \
     document that has the same content anywhere there. Of documents that were renamed and changed nothing counts: the comparison finds about as much, or more.";

/// The estimates for people.
pub(super) fn text(sides: [&Side; 2], estimates: [Option<Estimate>; 2], read: Read, began: Instant) -> String {
    let mut lines = Vec::new();
    let names = [0, 1].map(|side| (sides[side], sides[1 - side], estimates[side]));
    for (own, other, estimate) in names {
        let Some(Estimate { places, common, interval: [low, high], unread }) = estimate else {
            lines.push(format!("Estimate  {} has no bytes", own.name));
            continue;
        };
        lines.push(format!(
            "Estimate  {} of {} is also at {}; with 95 % confidence between {} and {} ({} to {} of {})",
            percent(common, places),
            own.name,
            other.name,
            share(low),
            share(high),
            bytes(part(low, own.size_bytes)),
            bytes(part(high, own.size_bytes)),
            bytes(own.size_bytes),
        ));
        if unread > 0 {
            lines.push(format!(
                "          {} places of it are in documents that could not be read: they count as not common",
                count(unread)
            ));
        }
    }
    let places = estimates.iter().flatten().map(|estimate| estimate.places).max().unwrap_or(0);
    let (documents, size): (usize, u64) =
        sides.iter().fold((0, 0), |(documents, size), side| (documents + side.documents.len(), size + side.size_bytes));
    lines.push(format!("Counted   {MEANING}"));
    lines.push(format!(
        "Drawn     {} places of each side by chance; {} of {} documents were read in {:.1} s, {} (both sides have {})",
        count(places),
        count(read.documents),
        count(documents as u64),
        began.elapsed().as_secs_f64(),
        bytes(read.bytes),
        bytes(size),
    ));
    lines.push(String::new());
    lines.join("\n")
}

/// The estimates for programs.
pub(super) fn json(sides: [&Side; 2], estimates: [Option<Estimate>; 2], read: Read) -> Value {
    let row = |side: usize| {
        let (own, other) = (sides[side], sides[1 - side]);
        let estimate = estimates[side];
        json!({
            "of": own.name,
            "at": other.name,
            "bytes": own.size_bytes,
            "documents": own.documents.len(),
            "places": estimate.map(|estimate| estimate.places),
            "common": estimate.map(|estimate| estimate.common),
            "unread": estimate.map(|estimate| estimate.unread),
            "interval": estimate.map(|estimate| estimate.interval.map(|end| (end * 10_000.0).round() / 10_000.0)),
        })
    };
    json!({
        "schema": "cognate.estimate/1",
        "meaning": MEANING,
        "estimates": [row(0), row(1)],
        "read_documents": read.documents,
        "read_bytes": read.bytes,
    })
}

fn share(ratio: f64) -> String {
    percent(part(ratio, 10_000), 10_000)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a number of bytes, for people"
)]
fn part(ratio: f64, all: u64) -> u64 {
    (ratio * all as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{View, WindowIndex};

    use super::*;

    /// The documents of this repository, and what became of them: every third is the same, others are changed, moved, gone.
    fn trees() -> (tempfile::TempDir, [Side; 2]) {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let folder = tempfile::tempdir().unwrap();
        let all = Side::open("docs".to_owned(), &docs, &Selection::all(), folder.path()).unwrap();
        for (number, document) in all.documents.iter().enumerate() {
            let bytes = std::fs::read(docs.join(&document.path)).unwrap();
            let to = |path: PathBuf, bytes: &[u8]| {
                let path = folder.path().join("new").join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, bytes).unwrap();
            };
            let changed = || {
                [&bytes[..bytes.len() / 3], b"another text".repeat(40).as_slice(), &bytes[bytes.len() / 2..]].concat()
            };
            match number % 6 {
                0 | 3 => to(document.path.clone(), &bytes),
                1 => to(document.path.clone(), &changed()),
                2 => to(Path::new("moved").join(&document.path), &bytes),
                4 => to(PathBuf::from(format!("renamed/{number}")), &changed()),
                _ => {}
            }
        }
        let new = Side::open("new".to_owned(), &folder.path().join("new"), &Selection::all(), folder.path()).unwrap();
        (folder, [all, new])
    }

    fn method() -> Method {
        Method::tttd(View::Raw, 1000).unwrap()
    }

    /// The bytes of a side that the other has, by comparing whole documents.
    fn exactly_common(own: &Side, other: &Side) -> u64 {
        let read = |side: &Side, number: usize| std::fs::read(side.root.join(&side.documents[number].path)).unwrap();
        let contents: Vec<Vec<u8>> = (0..other.documents.len()).map(|number| read(other, number)).collect();
        let common = |number: usize| {
            let bytes = read(own, number);
            if contents.contains(&bytes) {
                return bytes.len();
            }
            let likely: Vec<&[u8]> = other
                .at_or_named(&own.documents[number].path)
                .into_iter()
                .map(|place| contents[place].as_slice())
                .collect();
            // No window goes from one document to another: between them is what none has.
            let between = [0_u8, 1].repeat(EXACT_WINDOW_BYTES);
            WindowIndex::of(&likely.join(between.as_slice()), EXACT_WINDOW_BYTES).shared_runs(&bytes).bytes()
        };
        (0..own.documents.len()).map(|number| common(number) as u64).sum()
    }

    #[test]
    fn the_interval_holds_the_true_share_in_95_of_100_draws() {
        let (_folder, [old, new]) = trees();
        let mut reader = Reader {
            fingerprinter: method().fingerprinter(&Key::none()),
            sides: [&old, &new],
            digests: HashMap::new(),
            read: Read::default(),
        };
        for side in [0, 1] {
            let exact = exactly_common(reader.sides[side], reader.sides[1 - side]);
            #[expect(clippy::cast_precision_loss, reason = "the share of a few megabytes")]
            let truth = exact as f64 / reader.sides[side].size_bytes as f64;
            assert!((0.2..0.9).contains(&truth), "{truth}: the trees differ in part");
            let holds = |seed: &u64| {
                let [low, high] = estimate(&mut reader, side, 120, 1000 + seed).unwrap().interval;
                assert!(high - low < 0.2, "{low} to {high} says little");
                (low..=high).contains(&truth)
            };
            let held = (0..100).filter(holds).count();
            assert!(held >= 95, "the true share {truth} was in {held} of 100 intervals, seeds from 1000 on");
        }
    }

    #[test]
    fn equal_folders_are_common_and_others_are_not() {
        let (_folder, [old, _]) = trees();
        let same = of([&old, &old], method(), &Key::none(), 50).0[0].unwrap();
        assert_eq!((same.common, same.places, same.interval[1]), (50, 50, 1.0));
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("a"), "nothing of it").unwrap();
        let other = Side::open("other".to_owned(), other.path(), &Selection::all(), other.path()).unwrap();
        let (both, read) = of([&old, &other], method(), &Key::none(), 50);
        assert_eq!((both[0].unwrap().common, both[1].unwrap().common), (0, 0));
        assert!(read.bytes < old.size_bytes, "{read:?}");
        let empty = tempfile::tempdir().unwrap();
        let empty = Side::open("empty".to_owned(), empty.path(), &Selection::all(), Path::new("/nowhere")).unwrap();
        assert_eq!(of([&empty, &old], method(), &Key::none(), 50).0[0], None);
    }
}
