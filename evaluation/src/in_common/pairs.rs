//! The pairs that are drawn from two folders.

use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus::{entries, office_text, text_of};
use crate::error::Error;
use crate::rng::{Rng, mixed};

/// Tries to find an unrelated document of one kind before a document is left out.
const TRIES: usize = 20;

/// Two documents to compare.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// The path of the first below its folder.
    pub(super) path: String,
    /// True if both are office files with text, which speaks for them.
    pub(super) by_text: bool,
    files: [PathBuf; 2],
}

impl Pair {
    /// The bytes or the text of both, as a comparison takes them.
    pub(super) fn read(&self) -> Result<[Vec<u8>; 2], Error> {
        let read = |path: &Path| -> Result<Vec<u8>, Error> {
            let bytes = fs::read(path).map_err(Error::io("read", path))?;
            Ok(if self.by_text { text_of(&bytes).unwrap_or_default() } else { bytes })
        };
        Ok([read(&self.files[0])?, read(&self.files[1])?])
    }
}

/// At most `count` pairs of documents with one path and different bytes, both within the sizes, drawn by the seed.
pub(super) fn related(
    a: &Path,
    b: &Path,
    (least, most): (usize, usize),
    count: usize,
    seed: u64,
) -> Result<Vec<Pair>, Error> {
    let mut candidates = Vec::new();
    for entry in entries(a)?.into_iter().filter(|entry| (least..=most).contains(&entry.size_bytes)) {
        let Ok(path) = entry.path.strip_prefix(a).map(Path::to_owned) else { continue };
        let other = b.join(&path);
        let Ok(found) = fs::symlink_metadata(&other) else { continue };
        if found.is_file() && (least as u64..=most as u64).contains(&found.len()) {
            let order = path.as_os_str().as_encoded_bytes().iter().fold(seed, |h, byte| mixed(h ^ u64::from(*byte)));
            candidates.push((order, path, [entry.path, other]));
        }
    }
    candidates.sort_unstable();
    let mut drawn = Vec::new();
    for (_, path, files) in candidates {
        let pair = Pair { path: path.to_string_lossy().into_owned(), by_text: false, files };
        let [first, second] = pair.read()?;
        if first != second {
            let by_text = [&first, &second].into_iter().all(|bytes| office_text(bytes).is_some());
            drawn.push(Pair { by_text, ..pair });
        }
        if drawn.len() == count {
            break;
        }
    }
    Ok(drawn)
}

/// For each pair its first document and the second one of another pair of the same kind, but of another name.
pub(super) fn unrelated(pairs: &[Pair], seed: u64) -> Vec<Pair> {
    let mut rng = Rng::of(seed, 15);
    let mut all = Vec::new();
    for pair in pairs {
        let other = (0..TRIES).map(|_| &pairs[rng.below(pairs.len())]).find(|other| {
            let (this, that) = (Path::new(&pair.path), Path::new(&other.path));
            this.extension() == that.extension() && this.file_name() != that.file_name()
        });
        all.extend(other.map(|other| Pair {
            path: pair.path.clone(),
            by_text: pair.by_text,
            files: [pair.files[0].clone(), other.files[1].clone()],
        }));
    }
    all
}
