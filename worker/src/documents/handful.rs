//! Short documents that were read and wait to be fingerprinted together: the few chunks of one leave most lanes of a processor empty.

use std::io::{self, ErrorKind, Read};

use cognate_fingerprint::{Content, Fingerprinter, crlf_to_lf};

use super::outcome::Chunks;
use super::spool::Spool;
use crate::records::lists::Lists;

/// At most so many bytes has a document that waits. The chunks of a longer one fill the lanes by themselves.
const DOCUMENT_BYTES_MAX: usize = 16 << 10;
/// At most so many bytes have all of them, and stay in a near cache.
const BYTES_MAX: usize = 256 << 10;

/// Short documents, one after the other.
pub(crate) struct Handful {
    bytes: Box<[u8]>,
    /// The place where each ends, and true if its lines ended with CR LF.
    ends: Vec<(usize, bool)>,
}

impl Handful {
    pub(crate) fn new() -> Handful {
        Handful { bytes: vec![0; BYTES_MAX].into(), ends: Vec::new() }
    }

    /// True if a document of this length may wait.
    pub(super) fn has_room(&self, size_bytes: u64) -> bool {
        let room_bytes = DOCUMENT_BYTES_MAX.min(self.bytes.len() - self.filled());
        size_bytes <= room_bytes as u64
    }

    /// Reads a document, which [may wait](Handful::has_room), up to this length, and returns its bytes. After an error nothing
    /// of it is left.
    pub(super) fn read(&mut self, document: &mut impl Read, size_bytes: u64) -> io::Result<&[u8]> {
        let start = self.filled();
        let mut end = start;
        let room = usize::try_from(size_bytes).expect("there is room for it");
        while end < start + room {
            match document.read(&mut self.bytes[end..start + room]) {
                Ok(0) => break,
                Ok(count) => end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.ends.push((end, false));
        Ok(&self.bytes[start..end])
    }

    /// Puts LF in place of CR LF in the document that was read last, if all its lines end so.
    pub(super) fn compare_with_lf(&mut self) {
        let Some((end, _)) = self.ends.pop() else { return };
        let start = self.filled();
        let left = crlf_to_lf(&mut self.bytes[start..end]);
        self.ends.push((left.map_or(end, |left| start + left), left.is_some()));
    }

    /// Forgets the document that was read last.
    pub(super) fn forget_last(&mut self) {
        self.ends.pop();
    }

    /// Fingerprints all documents, in the order in which they were read, and forgets them. `each` receives the content of each and its chunks,
    /// with the list file that holds them, if there is one.
    ///
    /// # Errors
    /// If the site's own records cannot be written.
    pub(super) fn fingerprint(
        &mut self,
        fingerprinter: &mut Fingerprinter,
        lists: &Lists,
        mut each: impl FnMut(Content, Chunks, Option<u64>),
    ) -> io::Result<()> {
        let starts = [0].into_iter().chain(self.ends.iter().map(|(end, _)| *end));
        let documents: Vec<&[u8]> = starts.zip(&self.ends).map(|(start, (end, _))| &self.bytes[start..*end]).collect();
        for ((mut content, chunks), (_, had_crlf)) in fingerprinter.slices(&documents).iter().zip(&self.ends) {
            if *had_crlf {
                content.digest = content.digest.of_crlf();
            }
            let mut spool = Spool::new(lists);
            chunks.iter().try_for_each(|chunk| spool.push(chunk))?;
            each(content, spool.end_list()?, spool.finish()?);
        }
        self.ends.clear();
        Ok(())
    }

    fn filled(&self) -> usize {
        self.ends.last().map_or(0, |(end, _)| *end)
    }
}
