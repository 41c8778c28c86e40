//! Documents whose lines end with CR LF: their bytes are compared with LF in its place.
//!
//! Two copies of a text, one from a system that ends lines with CR LF and one from a system that ends them with LF, have next to no chunk in common. So
//! a document of at most [`CRLF_BYTES_MAX`] bytes, each LF of which follows a CR and each CR of which is followed by an LF, is
//! chunked as if it had LF alone. Its digest is [another one](ContentDigest::of_crlf) than that of the document with LF: equal digests still mean
//! equal bytes. The first LF must be within the first 4096 bytes, and no byte may be NUL: nothing else is kept in memory.

use std::io::{self, Cursor, ErrorKind, Read};

use crate::chunk::{Content, ContentDigest};
use crate::sparse::ReadSparse;

/// Most bytes of a document that is compared with LF in place of CR LF. It is in memory as a whole.
pub const CRLF_BYTES_MAX: u64 = 16 << 20;

/// The bytes in which the first line must end.
const HEAD_BYTES: usize = 4096;

/// Puts LF in place of CR LF, if all lines of a document end so, and returns the length that is left. Any other document stays as it
/// is.
pub fn crlf_to_lf(document: &mut [u8]) -> Option<usize> {
    if document.len() as u64 > CRLF_BYTES_MAX || !begins_with_crlf(&document[..document.len().min(HEAD_BYTES)]) {
        return None;
    }
    let all_end_so = document.split_inclusive(|byte| *byte == b'\n').all(|line| {
        let text = match line {
            [text @ .., b'\r', b'\n'] => text,
            [.., b'\n'] => return false,
            text => text,
        };
        !text.iter().any(|byte| matches!(byte, b'\r' | 0))
    });
    if !all_end_so {
        return None;
    }
    let mut left = 0;
    for place in 0..document.len() {
        let byte = document[place];
        document[left] = byte;
        left += usize::from(byte != b'\r');
    }
    Some(left)
}

fn begins_with_crlf(head: &[u8]) -> bool {
    let first = head.iter().position(|byte| *byte == b'\n');
    first.is_some_and(|first| head[..first].ends_with(b"\r"))
}

impl ContentDigest {
    /// The digest of the document with CR LF, of that of the same document with LF, and the other way round: the last bit is another one. So both
    /// are next to each other among all digests in their order.
    #[must_use]
    pub fn of_crlf(self) -> ContentDigest {
        let ContentDigest([rest @ .., last]) = self;
        let mut digest = [last ^ 1; 16];
        digest[..15].copy_from_slice(&rest);
        ContentDigest(digest)
    }

    /// A name for the lines of a document, whichever way they end. It is no digest of either form.
    pub fn of_lines(self) -> [u8; 16] {
        let ContentDigest(mut name) = self;
        name[15] = (name[15] | 1) ^ 2;
        name
    }
}

/// Reads the bytes of a document as they are compared: with LF, if all its lines end with CR LF.
pub struct LineReader<R> {
    start: Cursor<Vec<u8>>,
    rest: R,
    crlf_count: u64,
}

impl<R: Read> LineReader<R> {
    /// Begins to read. Of a document that may end its lines with CR LF, it reads [`CRLF_BYTES_MAX`] bytes and one more.
    ///
    /// # Errors
    /// If the document cannot be read.
    pub fn new(mut document: R) -> io::Result<LineReader<R>> {
        let mut start = vec![0; HEAD_BYTES];
        let mut filled = 0;
        while filled < start.len() {
            match document.read(&mut start[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        start.truncate(filled);
        let mut crlf_count = 0;
        if begins_with_crlf(&start) {
            let more_max = CRLF_BYTES_MAX + 1 - filled as u64;
            document.by_ref().take(more_max).read_to_end(&mut start)?;
            if let Some(left) = crlf_to_lf(&mut start) {
                crlf_count = (start.len() - left) as u64;
                start.truncate(left);
            }
        }
        Ok(LineReader { start: Cursor::new(start), rest: document, crlf_count })
    }

    /// The content of the document, of what was made of the bytes that were read; the document itself; and its length in bytes.
    pub fn finish(self, read: Content) -> (Content, R, u64) {
        let size_bytes = read.size_bytes + self.crlf_count;
        (Content { digest: self.digest(read.digest), ..read }, self.rest, size_bytes)
    }

    /// The digest of the document, of that of the bytes that were read.
    pub fn digest(&self, of_read: ContentDigest) -> ContentDigest {
        if self.crlf_count > 0 { of_read.of_crlf() } else { of_read }
    }

    fn is_at_rest(&self) -> bool {
        self.start.position() == self.start.get_ref().len() as u64
    }
}

impl<R: Read> Read for LineReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_at_rest() { self.rest.read(buffer) } else { self.start.read(buffer) }
    }
}

impl<R: ReadSparse> ReadSparse for LineReader<R> {
    fn zeros_ahead(&mut self) -> io::Result<u64> {
        if self.is_at_rest() { self.rest.zeros_ahead() } else { Ok(0) }
    }

    fn skip_zeros(&mut self, bytes: u64) -> io::Result<()> {
        self.rest.skip_zeros(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Key, Method, View};

    fn folded(document: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = document.to_vec();
        let left = crlf_to_lf(&mut bytes);
        match left {
            Some(left) => bytes.truncate(left),
            None => assert_eq!(bytes, document),
        }
        left.map(|_| bytes)
    }

    fn content(document: &[u8]) -> Content {
        let mut reader = LineReader::new(document).unwrap();
        let mut fingerprinter = Method::tttd(View::Raw, 80).unwrap().fingerprinter(&Key::none());
        let read = fingerprinter.read(&mut reader, |_| Ok(())).unwrap();
        let (content, _, size_bytes) = reader.finish(read);
        assert_eq!(size_bytes, document.len() as u64);
        content
    }

    #[test]
    fn only_documents_all_of_whose_lines_end_with_crlf_change() {
        for (document, expected) in [
            (&b"a\r\nb\r\n"[..], Some(&b"a\nb\n"[..])),
            (b"a\r\nb", Some(b"a\nb")),
            (b"\r\n", Some(b"\n")),
            (b"a\r\n\r\nb", Some(b"a\n\nb")),
            (b"a\nb\r\n", None),
            (b"a\r\nb\n", None),
            (b"a\r\nb\rc", None),
            (b"a\r\nb\r", None),
            (b"a\r\r\nb", None),
            (b"a\r\n\0", None),
            (b"a\rb", None),
            (b"a", None),
            (b"", None),
        ] {
            assert_eq!(folded(document).as_deref(), expected, "{document:?}");
        }
    }

    #[test]
    fn a_first_line_that_is_too_long_and_a_document_that_is_too_large_stay() {
        let line = |length: usize| [vec![b'a'; length], b"\r\n".to_vec()].concat();
        assert!(folded(&line(HEAD_BYTES - 2)).is_some());
        assert!(folded(&line(HEAD_BYTES - 1)).is_none());
        let most = usize::try_from(CRLF_BYTES_MAX).unwrap();
        let lines = |length: usize| b"a\r\n".iter().cycle().take(length).copied().collect::<Vec<u8>>();
        assert!(folded(&lines(most / 3 * 3)).is_some());
        assert!(folded(&lines(most / 3 * 3 + 3)).is_none());
        for length in [most / 3 * 3, most / 3 * 3 + 3] {
            let document = lines(length);
            let is_folded = content(&document).size_bytes < length as u64;
            assert_eq!(is_folded, length <= most, "{length}");
        }
    }

    proptest! {
        #[test]
        fn a_document_has_the_chunks_of_its_lf_form_and_a_digest_of_its_own(lines: Vec<String>, ends: bool) {
            let clean: Vec<String> = lines.iter().map(|line| line.replace(['\r', '\n', '\0'], "")).collect();
            let with = |end: &str| {
                let end_of_last = if ends { end } else { "" };
                format!("{}{end_of_last}", clean.join(end)).into_bytes()
            };
            let (of_lf, of_crlf) = (content(&with("\n")), content(&with("\r\n")));
            let expected = match with("\n").contains(&b'\n') {
                true => Content { digest: of_lf.digest.of_crlf(), ..of_lf.clone() },
                false => of_lf.clone(),
            };
            prop_assume!(with("\r\n").iter().position(|byte| *byte == b'\n').is_none_or(|first| first < HEAD_BYTES));
            prop_assert_eq!(of_crlf, expected);
        }

        #[test]
        fn what_is_read_does_not_depend_on_the_pieces(bytes in prop::collection::vec(prop::sample::select(&b"a\r\n"[..]), 0..60), piece in 1_usize..9) {
            struct Pieces<'a>(&'a [u8], usize);
            impl Read for Pieces<'_> {
                fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                    let count = self.1.min(buffer.len());
                    self.0.read(&mut buffer[..count])
                }
            }
            let mut read = Vec::new();
            LineReader::new(Pieces(&bytes, piece)).unwrap().read_to_end(&mut read).unwrap();
            prop_assert_eq!(&read, &folded(&bytes).unwrap_or_else(|| bytes.clone()));
        }
    }
}
