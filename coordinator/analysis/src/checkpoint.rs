//! The output of an analysis in the scan's folder: for the steps after it, and for the next scan of the same kind.
//!
//! | file | what | needed |
//! |---|---|---|
//! | `links-0` | links, in order: all of most clusters, those that stand out of very dense ones | to publish, and by the next scan |
//! | `analysis-0` | clusters, overlap, statistics | to publish, and by the next scan |
//! | `contents-0` | digest, digest of the chunks, payload and home of every content, in order | by the next scan |
//!
//! The number is that of the layer. All are bound to what was frozen and asked: a file that was made from anything else is
//! refused. They are stored for the latest published scan of a kind alone; a missing or damaged one is made again by an analysis from nothing.

use std::path::{Path, PathBuf};

use cognate_fingerprint::ContentDigest;
use cognate_proto::v1;
use cognate_similarity::{
    Analysis, Binding, CheckedReader, CheckedWriter, ContentIndex, LinkFile, LinkWriter, StreamKind, Thresholds,
};

use crate::error::Error;
use crate::subject::{Subject, index};
use cognate_storage::store::ScanRow;

const CONTENTS: StreamKind = StreamKind { magic: *b"CGNATCON", version: 1 };
const DIGEST_BYTES: usize = size_of::<ContentDigest>();
const CHUNKS_DIGEST_BYTES: usize = 16;
const CONTENT_BYTES: usize = DIGEST_BYTES + CHUNKS_DIGEST_BYTES + 8 + 4;
/// The home of a content that is under several labels, or none.
const NO_HOME: u32 = u32::MAX;
/// In place of the home of a content for which text speaks: it has no links.
const SPOKEN_FOR: u32 = u32::MAX - 1;
/// The files, in the order in which they are removed: without links the others are of no use.
const FILES: [&str; 3] = ["links", "analysis", "contents"];

/// The files of one layer of a scan.
pub(crate) struct Checkpoint {
    /// In the order of [`FILES`].
    paths: [PathBuf; 3],
    binding: Binding,
}

impl Checkpoint {
    pub(crate) fn new(folder: &Path, layer: usize, binding: Binding) -> Checkpoint {
        Checkpoint { paths: paths(folder, layer), binding }
    }

    pub(crate) fn binding(&self) -> &Binding {
        &self.binding
    }

    pub(crate) fn links(&self) -> Result<LinkFile, Error> {
        Ok(LinkFile::open(&self.paths[0], &self.binding)?)
    }

    pub(crate) fn link_writer(&self) -> Result<LinkWriter, Error> {
        Ok(LinkWriter::create(&self.paths[0], &self.binding)?)
    }

    pub(crate) fn analysis(&self) -> Result<Analysis, Error> {
        Ok(Analysis::read(&self.paths[1], &self.binding)?)
    }

    /// Writes the data that later steps and scans need next to the links, so that it survives a loss of power.
    pub(crate) fn write(&self, subject: &Subject<'_>, analysis: &Analysis) -> Result<(), Error> {
        let mut contents = CheckedWriter::create(&self.paths[2], CONTENTS, &self.binding)?;
        let mut row = Vec::with_capacity(CONTENT_BYTES);
        for (number, content) in subject.frozen.contents.iter().enumerate() {
            row.clear();
            row.extend_from_slice(&content.digest.0);
            row.extend_from_slice(&content.chunks_digest);
            row.extend_from_slice(&content.payload_bytes.to_le_bytes());
            row.extend_from_slice(&home(subject, number).to_le_bytes());
            contents.write(&row)?;
        }
        contents.finish(true)?;
        Ok(analysis.write(&self.paths[1], &self.binding, true)?)
    }

    /// For each content of this scan its number in a later one of the same kind; `None` where it is gone, or where its
    /// links may have changed because its chunks, its payload or its home have.
    pub(crate) fn numbers_in(&self, later: &Subject<'_>) -> Result<Vec<Option<ContentIndex>>, Error> {
        let mut file = CheckedReader::open(&self.paths[2], CONTENTS, &self.binding)?;
        let count = file.bytes() / CONTENT_BYTES as u64;
        let mut numbers = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        let contents = &later.frozen.contents;
        let (mut next, mut row) = (0, [0; CONTENT_BYTES]);
        for _ in 0..count {
            file.read_exact(&mut row)?;
            let (digest, rest) = row.split_at(DIGEST_BYTES);
            let (chunks_digest, rest) = rest.split_at(CHUNKS_DIGEST_BYTES);
            let (payload_bytes, then) = rest.split_at(8);
            let digest = ContentDigest(digest.try_into().expect("it has the length of a digest"));
            let payload_bytes = u64::from_le_bytes(payload_bytes.try_into().expect("a long word has 8 bytes"));
            let then = u32::from_le_bytes(then.try_into().expect("a word has 4 bytes"));
            // Both are in the order of digests.
            while contents.get(next).is_some_and(|content| content.digest < digest) {
                next += 1;
            }
            let stays = contents.get(next).is_some_and(|content| {
                (content.digest, content.chunks_digest.as_slice()) == (digest, chunks_digest)
                    && content.payload_bytes == payload_bytes
                    && home(later, next) == then
            });
            numbers.push(stays.then(|| index(next)));
        }
        Ok(numbers)
    }
}

/// The label by which the holders of a content affect its links.
fn home(subject: &Subject<'_>, content: usize) -> u32 {
    if subject.frozen.contents[content].spoken_for {
        return SPOKEN_FOR;
    }
    if !subject.across_only {
        return NO_HOME;
    }
    subject.home(content).map_or(NO_HOME, u32::from)
}

fn paths(folder: &Path, layer: usize) -> [PathBuf; 3] {
    FILES.map(|name| folder.join(format!("{name}-{layer}")))
}

/// Removes the files of a layer of a scan that later ones no longer need.
pub(crate) fn remove(folder: &Path, layer: usize) -> Result<(), Error> {
    paths(folder, layer).iter().try_for_each(|path| match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::state(path)(error)),
        _ => Ok(()),
    })
}

/// The digest of all that an analysis follows from.
pub(crate) fn binding(subject: &Subject<'_>, kind: &[u8]) -> Binding {
    let mut hasher = blake3::Hasher::new_derive_key("cognate analysis v1");
    hasher.update(kind);
    for (number, content) in subject.frozen.contents.iter().enumerate() {
        hasher.update(&content.digest.0);
        hasher.update(&content.chunks_digest);
        hasher.update(&content.payload_bytes.to_le_bytes());
        if content.spoken_for {
            hasher.update(&SPOKEN_FOR.to_le_bytes());
        }
        let copies = subject.copies.of_content(index(number));
        hasher.update(&(copies.len() as u64).to_le_bytes());
        for place in copies {
            hasher.update(&subject.frozen.root_of(*place).to_le_bytes());
        }
    }
    for place in &subject.frozen.controls {
        hasher.update(&u64::from(*place).to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Properties that layers of two scans must share so that one may begin with the other's output: roots, methods, thresholds
/// and whatever else decides what a link is.
pub(crate) fn kind(row: &ScanRow, layer: usize, thresholds: &Thresholds, across_only: bool) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key("cognate analysis kind v1");
    let mut feed = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    let Thresholds { min_shared_bytes, min_containment } = thresholds;
    feed(&min_shared_bytes.to_le_bytes());
    feed(min_containment.to_string().as_bytes());
    feed(&[u8::from(across_only)]);
    let mut roots: Vec<_> = row.frozen_of(layer).collect();
    roots.sort_by(|a, b| (&a.site, &a.repository).cmp(&(&b.site, &b.repository)));
    for root in roots {
        feed(root.party.as_bytes());
        feed(root.site.as_bytes());
        feed(root.repository.as_bytes());
        feed(&root.method_id);
        feed(&root.scope);
    }
    feed(row.layer(layer).templates_digest.as_bytes());
    let selection = v1::SelectionSpec::from(&row.options().selection());
    feed(&prost::Message::encode_to_vec(&selection));
    hasher.finalize().as_bytes().to_vec()
}
