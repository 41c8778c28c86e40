//! The documents of an experiment: the files of a folder in the order of their paths, or what was made instead.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use cognate_view::{Kind, Normaliser, Reason, Text};

use crate::dice::mixed;
use crate::error::Error;
use crate::experiment::Setting;
use crate::synthetic::Synthetic;

/// A document in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Document {
    /// Its path below the corpus.
    pub(crate) path: String,
    /// Its bytes, or its text.
    pub(crate) bytes: Vec<u8>,
}

/// Which documents an experiment wants.
#[derive(Clone, Copy)]
pub(crate) struct Want {
    /// Only documents of at least so many bytes…
    pub(crate) bytes_min: usize,
    /// … and at most so many.
    pub(crate) bytes_max: usize,
    /// About so many documents: one in so many of the corpus, chosen by their names.
    pub(crate) documents_max: usize,
    /// About so many bytes together, chosen the same way.
    pub(crate) total_bytes_max: usize,
    /// What a reader sees, not the bytes of the file.
    pub(crate) text: bool,
}

/// A file of a corpus.
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) size_bytes: usize,
}

/// The files below a folder, in the order of their paths; links and special files are left out.
pub(crate) fn entries(corpus: &Path) -> Result<Vec<Entry>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![corpus.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::io("read the folder", &folder))? {
            let entry = entry.map_err(Error::io("read the folder", &folder))?;
            let kind = entry.file_type().map_err(Error::io("read", &entry.path()))?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let length = entry.metadata().map_err(Error::io("read", &entry.path()))?.len();
                found.push(Entry { path: entry.path(), size_bytes: usize::try_from(length).unwrap_or(usize::MAX) });
            }
        }
    }
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Reads the documents that an experiment wants; without a corpus makes `made` of them, of about `mean_bytes` each.
pub(crate) fn load(setting: &Setting<'_>, want: &Want, made: usize, mean_bytes: usize) -> Result<Vec<Document>, Error> {
    let Some(corpus) = setting.corpus else {
        let mut documents = Synthetic::new(setting.seed).collection(made, mean_bytes);
        if want.text {
            documents.iter_mut().for_each(|document| document.bytes = text_of(&document.bytes).unwrap_or_default());
        }
        return Ok(documents);
    };
    let mut entries = entries(corpus)?;
    // Before its text is known, a document may be larger than what it becomes.
    let slack = if want.text { 20 } else { 1 };
    entries.retain(|entry| (want.bytes_min..=want.bytes_max.saturating_mul(slack)).contains(&entry.size_bytes));
    let total: usize = entries.iter().map(|entry| entry.size_bytes).sum();
    let every =
        entries.len().div_ceil(want.documents_max.max(1)).max(total.div_ceil(want.total_bytes_max.max(1))).max(1);
    // By name, so that versions of a document in several folders are taken together or not at all.
    entries.retain(|entry| name_number(&entry.path).is_multiple_of(every as u64));
    let chosen = entries;
    let mut documents = Vec::with_capacity(chosen.len());
    for (number, entry) in chosen.iter().enumerate() {
        if number % 256 == 0 {
            setting.step("reading", number, chosen.len())?;
        }
        let bytes = fs::read(&entry.path).map_err(Error::io("read", &entry.path))?;
        let bytes = if want.text { text_of(&bytes) } else { Some(bytes) };
        let Some(bytes) = bytes.filter(|bytes| (want.bytes_min..=want.bytes_max).contains(&bytes.len())) else {
            continue;
        };
        let path = entry.path.strip_prefix(corpus).unwrap_or(&entry.path);
        documents.push(Document { path: path.to_string_lossy().into_owned(), bytes });
    }
    Ok(documents)
}

/// A number that files of the same name have in common, and that says nothing else.
pub(crate) fn name_number(path: &Path) -> u64 {
    let name = path.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
    mixed(name.iter().fold(0, |number, byte| mixed(number ^ u64::from(*byte))))
}

/// What a reader sees of a document; nothing where it is of a kind that has no text.
pub(crate) fn text_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut source = Cursor::new(bytes);
    let kind = Kind::detect(&mut source).ok()?;
    let mut seen = Seen::default();
    cognate_view::extract(kind, &mut source, &mut seen).ok()?;
    seen.normaliser.finish(&mut seen.text);
    Some(seen.text.into_bytes())
}

#[derive(Default)]
struct Seen {
    normaliser: Normaliser,
    text: String,
}

impl Text for Seen {
    fn push(&mut self, text: &str) -> Result<(), Reason> {
        self.normaliser.push(text, &mut self.text);
        Ok(())
    }

    fn end_paragraph(&mut self) -> Result<(), Reason> {
        self.normaliser.end_paragraph(&mut self.text);
        Ok(())
    }
}

/// How long documents are together.
pub(crate) fn total_bytes(documents: &[Document]) -> usize {
    documents.iter().map(|document| document.bytes.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_what_a_reader_sees() {
        let text = text_of(b"<html><body><p>a  rose</p><script>x</script></body></html>").unwrap();
        assert_eq!(text, b"a rose");
        assert_eq!(text_of(&[0x89, b'P', b'N', b'G', 0, 0, 0, 1]), None);
    }

    #[test]
    fn a_corpus_is_thinned_by_name_so_that_versions_stay_together() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["a", "b"] {
            fs::create_dir(folder.path().join(version)).unwrap();
            for number in 0..200 {
                fs::write(folder.path().join(format!("{version}/{number:03}")), vec![b'a'; 10 + number]).unwrap();
            }
        }
        let progress = |_: &str, _, _| true;
        let setting = Setting { corpus: Some(folder.path()), full: false, seed: 1, progress: &progress };
        let want = Want { bytes_min: 20, bytes_max: 1000, documents_max: 60, total_bytes_max: 1 << 20, text: false };
        let paths: Vec<String> = load(&setting, &want, 0, 0).unwrap().into_iter().map(|found| found.path).collect();
        let (a, b) = paths.split_at(paths.len() / 2);
        assert!((15..50).contains(&a.len()), "{}", a.len());
        assert!(a.iter().zip(b).all(|(a, b)| a[1..] == b[1..] && &a[2..] >= "010"), "{paths:?}");
    }
}
