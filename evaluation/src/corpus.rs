//! The documents of an experiment: the files of a folder in the order of their paths, or generated ones.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use cognate_view::{Candidate, Kind, Normaliser, Reason, Text};

use crate::document::Document;
use crate::error::Error;
use crate::rng::mixed;
use crate::setting::Setting;
use crate::synthetic::Generator;

/// The documents that an experiment selects.
#[derive(Clone, Copy)]
pub(crate) struct Selection {
    /// The least size of a document in bytes.
    pub(crate) bytes_min: usize,
    /// The greatest size of a document in bytes.
    pub(crate) bytes_max: usize,
    /// The greatest number of documents, about; they are chosen by their names.
    pub(crate) documents_max: usize,
    /// The greatest number of bytes in all documents, about; they are chosen by their names.
    pub(crate) total_bytes_max: usize,
    /// True if the documents are the text that a reader sees, false if they are the bytes of the files.
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

/// Reads the documents that an experiment selects. Without a corpus it generates `count` documents of about `mean_bytes` each.
pub(crate) fn load(
    setting: &Setting<'_>,
    selection: &Selection,
    count: usize,
    mean_bytes: usize,
) -> Result<Vec<Document>, Error> {
    let Some(corpus) = setting.corpus else {
        let mut documents = Generator::new(setting.seed).collection(count, mean_bytes);
        if selection.text {
            documents.iter_mut().for_each(|document| document.bytes = text_of(&document.bytes).unwrap_or_default());
        }
        return Ok(documents);
    };
    let mut entries = entries(corpus)?;
    // A file may be larger than its text.
    let slack = if selection.text { 20 } else { 1 };
    entries
        .retain(|entry| (selection.bytes_min..=selection.bytes_max.saturating_mul(slack)).contains(&entry.size_bytes));
    let total: usize = entries.iter().map(|entry| entry.size_bytes).sum();
    let every = entries
        .len()
        .div_ceil(selection.documents_max.max(1))
        .max(total.div_ceil(selection.total_bytes_max.max(1)))
        .max(1);
    // The choice is by name, so that versions of a document in several folders are taken together or not at all.
    entries.retain(|entry| name_number(&entry.path).is_multiple_of(every as u64));
    let chosen = entries;
    let mut documents = Vec::with_capacity(chosen.len());
    for (number, entry) in chosen.iter().enumerate() {
        if number % 256 == 0 {
            setting.step("reading", number, chosen.len())?;
        }
        let bytes = fs::read(&entry.path).map_err(Error::io("read", &entry.path))?;
        let bytes = if selection.text { text_of(&bytes) } else { Some(bytes) };
        let Some(bytes) = bytes.filter(|bytes| (selection.bytes_min..=selection.bytes_max).contains(&bytes.len()))
        else {
            continue;
        };
        let path = entry.path.strip_prefix(corpus).unwrap_or(&entry.path);
        documents.push(Document { path: path.to_string_lossy().into_owned(), bytes });
    }
    Ok(documents)
}

/// A pseudo-random number that depends only on the file's name.
pub(crate) fn name_number(path: &Path) -> u64 {
    let name = path.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
    mixed(name.iter().fold(0, |number, byte| mixed(number ^ u64::from(*byte))))
}

/// The text that a reader sees of a document; `None` if it is of a kind without text.
pub(crate) fn text_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut source = Cursor::new(bytes);
    let kind = Kind::detect(&mut source).ok()?;
    let mut read = ReadText::default();
    cognate_view::extract(kind, &mut source, &mut read).ok()?;
    read.normaliser.finish(&mut read.text);
    Some(read.text.into_bytes())
}

/// The text of an office file, which a comparison takes in place of its bytes; `None` if it is no office file or has no text.
pub(crate) fn office_text(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_office =
        Candidate::of(bytes) == Candidate::Document && Kind::detect(&mut Cursor::new(bytes)).is_ok_and(Kind::is_office);
    is_office.then(|| text_of(bytes)).flatten().filter(|text| !text.is_empty())
}

#[derive(Default)]
struct ReadText {
    normaliser: Normaliser,
    text: String,
}

impl Text for ReadText {
    fn push(&mut self, text: &str) -> Result<(), Reason> {
        self.normaliser.push(text, &mut self.text);
        Ok(())
    }

    fn end_paragraph(&mut self) -> Result<(), Reason> {
        self.normaliser.end_paragraph(&mut self.text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_page_is_what_a_reader_sees() {
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
        let setting = Setting {
            corpus: Some(folder.path()),
            pairs: &[],
            office_set: false,
            full: false,
            seed: 1,
            progress: &progress,
        };
        let selection =
            Selection { bytes_min: 20, bytes_max: 1000, documents_max: 60, total_bytes_max: 1 << 20, text: false };
        let paths: Vec<String> =
            load(&setting, &selection, 0, 0).unwrap().into_iter().map(|found| found.path).collect();
        let (a, b) = paths.split_at(paths.len() / 2);
        assert!((15..50).contains(&a.len()), "{}", a.len());
        assert!(a.iter().zip(b).all(|(a, b)| a[1..] == b[1..] && &a[2..] >= "010"), "{paths:?}");
    }

    #[test]
    fn a_selection_by_size_and_total_is_kept_to_and_no_corpus_gives_generated_documents() {
        let folder = tempfile::tempdir().unwrap();
        (0..100)
            .for_each(|number| fs::write(folder.path().join(format!("{number}")), vec![b'a'; 10 * number]).unwrap());
        let progress = |_: &str, _, _| true;
        let mut setting = Setting {
            corpus: Some(folder.path()),
            pairs: &[],
            office_set: false,
            full: false,
            seed: 1,
            progress: &progress,
        };
        let all = usize::MAX;
        let select = |setting: &Setting<'_>, bytes_min, bytes_max, documents_max, total_bytes_max| {
            let selection = Selection { bytes_min, bytes_max, documents_max, total_bytes_max, text: false };
            load(setting, &selection, 7, 2000).unwrap()
        };
        assert_eq!(select(&setting, 0, all, all, all).len(), 100);
        assert_eq!(select(&setting, 100, 199, all, all).len(), 10);
        assert_eq!(select(&setting, 5000, all, all, all).len(), 0);
        let thinned = select(&setting, 0, all, all, 10_000);
        assert!((1..100).contains(&thinned.len()), "{}", thinned.len());
        setting.corpus = None;
        assert_eq!(select(&setting, 0, all, all, all).len(), 7);
    }

    #[test]
    fn links_are_left_out_and_paths_are_in_order() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        for name in ["c", "a", "b/z", "b/a"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("link")).unwrap();
        let found = entries(folder.path()).unwrap();
        let names: Vec<_> =
            found.iter().map(|entry| entry.path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a", "b/a", "b/z", "c"]);
        assert!(matches!(entries(&folder.path().join("none")), Err(Error::Io { .. })));
    }
}
