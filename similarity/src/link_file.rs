//! The links of an analysis in a file, by (a, b): [`crate::checked`] with 16 bytes a link (a, b, shared bytes).

use std::path::{Path, PathBuf};

use crate::checked::{Binding, CheckedReader, CheckedWriter, StreamKind};
use crate::error::Error;
use crate::link::Link;

const KIND: StreamKind = StreamKind { magic: *b"CGNATLNK", version: 1 };

/// Writes links to a file.
#[derive(Debug)]
pub struct LinkWriter {
    file: CheckedWriter,
    bytes: Vec<u8>,
    last: Option<Link>,
    links: u64,
}

impl LinkWriter {
    /// Begins a file; `binding` is a digest of everything that the links follow from.
    ///
    /// # Errors
    ///
    /// If the file cannot be made.
    pub fn create(path: &Path, binding: &Binding) -> Result<LinkWriter, Error> {
        let file = CheckedWriter::create(path, KIND, binding)?;
        Ok(LinkWriter { file, bytes: Vec::new(), last: None, links: 0 })
    }

    /// Adds links, which come by (a, b).
    ///
    /// # Errors
    ///
    /// If the disk does not take them.
    pub fn push(&mut self, links: &[Link]) -> Result<(), Error> {
        debug_assert!(self.last.iter().chain(links).is_sorted(), "links come in order");
        self.last = links.last().copied().or(self.last);
        self.links += links.len() as u64;
        self.bytes.resize(links.len() * Link::BYTES, 0);
        self.bytes.chunks_exact_mut(Link::BYTES).zip(links).for_each(|(bytes, link)| link.encode(bytes));
        self.file.write(&self.bytes)
    }

    /// Number of links added so far.
    pub fn count(&self) -> u64 {
        self.links
    }

    /// Puts the file in its place and returns the number of its links; with `sync`, the file is on the disk then.
    ///
    /// # Errors
    ///
    /// If the disk does not take it.
    pub fn finish(self, sync: bool) -> Result<u64, Error> {
        self.file.finish(sync)?;
        Ok(self.links)
    }
}

/// A file of links.
#[derive(Clone, Debug)]
pub struct LinkFile {
    path: PathBuf,
    binding: Binding,
    links: u64,
}

impl LinkFile {
    /// Opens a file, checking all but its blocks.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is damaged, or was made from other data.
    pub fn open(path: &Path, binding: &Binding) -> Result<LinkFile, Error> {
        let file = CheckedReader::open(path, KIND, binding)?;
        let bytes = Link::BYTES as u64;
        if file.bytes() % bytes != 0 {
            return Err(file.corrupt("it holds a part of a link"));
        }
        Ok(LinkFile { path: path.to_owned(), binding: *binding, links: file.bytes() / bytes })
    }

    /// Number of links.
    pub fn count(&self) -> u64 {
        self.links
    }

    /// Starts reading from the first link.
    ///
    /// # Errors
    ///
    /// As [`open`](LinkFile::open).
    pub fn read(&self) -> Result<LinkReader, Error> {
        Ok(LinkReader { file: CheckedReader::open(&self.path, KIND, &self.binding)?, links: Vec::new() })
    }

    /// Calls `visit` with every link; a block of them is in memory at a time.
    ///
    /// # Errors
    ///
    /// If the file is damaged or cannot be read.
    pub fn for_each(&self, mut visit: impl FnMut(&Link)) -> Result<(), Error> {
        let mut reader = self.read()?;
        while let Some(links) = reader.next_links()? {
            links.iter().for_each(&mut visit);
        }
        Ok(())
    }
}

/// The links of a file in order, a block in memory at a time.
#[derive(Debug)]
pub struct LinkReader {
    file: CheckedReader,
    links: Vec<Link>,
}

impl LinkReader {
    /// The next links; `None` after the last.
    ///
    /// # Errors
    ///
    /// If the file is damaged or cannot be read.
    pub fn next_links(&mut self) -> Result<Option<&[Link]>, Error> {
        let Some(block) = self.file.next_block()? else { return Ok(None) };
        self.links.clear();
        self.links.extend(block.chunks_exact(Link::BYTES).map(Link::decode));
        Ok(Some(&self.links))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posting::ContentIndex;

    #[test]
    fn links_come_back_from_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("links");
        let link = |n: u32| Link { a: ContentIndex(n / 3), b: ContentIndex(n + 1), shared_bytes: u64::from(n) << 30 };
        let links: Vec<Link> = (0..10_000).map(link).collect();
        let mut writer = LinkWriter::create(&path, &[1; 32]).unwrap();
        links.chunks(333).for_each(|links| writer.push(links).unwrap());
        assert_eq!(writer.finish(true).unwrap(), 10_000);
        let file = LinkFile::open(&path, &[1; 32]).unwrap();
        assert_eq!(file.count(), 10_000);
        let mut found = Vec::new();
        file.for_each(|link| found.push(*link)).unwrap();
        assert_eq!(found, links);
    }

    fn link(n: u32) -> Link {
        Link { a: ContentIndex(n), b: ContentIndex(n + 1), shared_bytes: u64::from(n) }
    }

    #[test]
    fn a_file_of_no_links_is_read_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("links");
        assert_eq!(LinkWriter::create(&path, &[1; 32]).unwrap().finish(false).unwrap(), 0);
        let file = LinkFile::open(&path, &[1; 32]).unwrap();
        assert_eq!(file.count(), 0);
        assert!(file.read().unwrap().next_links().unwrap().is_none());
    }

    #[test]
    fn a_file_of_another_binding_or_kind_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("links");
        let mut writer = LinkWriter::create(&path, &[1; 32]).unwrap();
        writer.push(&[link(1), link(2)]).unwrap();
        assert_eq!(writer.count(), 2);
        writer.finish(false).unwrap();
        assert!(LinkFile::open(&path, &[2; 32]).is_err());
        let other = folder.path().join("other");
        CheckedWriter::create(&other, StreamKind { magic: *b"CGNATANA", version: 1 }, &[1; 32])
            .unwrap()
            .finish(false)
            .unwrap();
        assert!(LinkFile::open(&other, &[1; 32]).unwrap_err().to_string().contains("another kind of file"));
        let half = folder.path().join("half");
        let mut writer = CheckedWriter::create(&half, KIND, &[1; 32]).unwrap();
        writer.write(&[0; Link::BYTES + 3]).unwrap();
        writer.finish(false).unwrap();
        assert!(LinkFile::open(&half, &[1; 32]).unwrap_err().to_string().contains("a part of a link"));
    }

    #[test]
    fn a_link_of_a_damaged_block_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("links");
        let mut writer = LinkWriter::create(&path, &[1; 32]).unwrap();
        (0..9000).for_each(|n| writer.push(&[link(n)]).unwrap());
        writer.finish(false).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[100_000] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let file = LinkFile::open(&path, &[1; 32]).unwrap();
        let mut shown = 0;
        assert!(file.for_each(|_| shown += 1).is_err());
        assert_eq!(shown, 4096, "the links of the first block");
    }
}
