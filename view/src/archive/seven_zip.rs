//! 7z, by the decoder of a crate: one block after the other, each with several files.

use std::io::{self, BufReader, Read};
use std::rc::Rc;

use sevenz_rust2::{Archive, BlockDecoder, Error, Password};

use crate::budget::{Budget, Counted, Metered, reason};
use crate::outcome::Reason;
use crate::source::Source;

use super::member::{MemberContent, VisitMember};

/// Visits the files of a 7z archive.
///
/// # Errors
/// The reason why it could not be read to its end; the visits before remain valid.
pub(crate) fn seven_zip(
    source: &mut dyn Source,
    budget: &Rc<Budget>,
    each: &mut VisitMember<'_>,
) -> Result<(), Reason> {
    let (source, compressed) = Counted::new(source);
    let mut source = BufReader::new(source);
    let none = Password::empty();
    let archive = Archive::read(&mut source, &none).map_err(reason_of)?;
    let mut result = Ok(());
    for block in 0..archive.blocks.len() {
        compressed.set(0);
        let decoder = BlockDecoder::new(1, block, &archive, &none, &mut source);
        let entries = decoder.entries().iter().filter(|entry| entry.has_stream());
        let names: Vec<String> = entries.map(|entry| entry.name().to_owned()).collect();
        let mut visited = 0;
        let mut visited_entry = Ok(());
        let unpacked = decoder.for_each_entries(&mut |entry, bytes| {
            if !entry.has_stream() {
                return Ok(true);
            }
            visited += 1;
            let bytes = Complete { inner: bytes, left: entry.size() };
            let mut bytes = Metered::new(bytes, budget, Rc::clone(&compressed));
            visited_entry = each(entry.name(), MemberContent::Bytes(&mut bytes, Some(entry.size())));
            // The next file comes after the rest of this one, which is within the limits as well.
            if visited_entry.is_ok() {
                io::copy(&mut bytes, &mut io::sink())?;
            }
            Ok(visited_entry.is_ok())
        });
        visited_entry?;
        if let Err(error) = unpacked {
            let reason = reason_of(error);
            // The files after the damage in the same block.
            for name in &names[visited..] {
                each(name, MemberContent::Closed(reason))?;
            }
            result = result.and(if reason == Reason::Encrypted && visited == 0 { Ok(()) } else { Err(reason) });
        }
    }
    for entry in archive.files.iter().filter(|entry| !entry.has_stream() && !entry.is_directory()) {
        if !entry.is_anti_item() {
            each(entry.name(), MemberContent::Bytes(&mut io::empty(), Some(0)))?;
        }
    }
    result
}

/// A file that ends before its size only with an error: the decoder lets a block end early.
struct Complete<'r> {
    inner: &'r mut dyn Read,
    left: u64,
}

impl Read for Complete<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if read == 0 && !buffer.is_empty() && self.left > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

fn reason_of(error: Error) -> Reason {
    match error {
        Error::Io(error, _) | Error::MaybeBadPassword(error) => reason(&error),
        Error::PasswordRequired => Reason::Encrypted,
        // AES is the one method that is left out on purpose.
        Error::UnsupportedCompressionMethod(name) if name.contains("AES") => Reason::Encrypted,
        Error::UnsupportedCompressionMethod(_) | Error::Unsupported(_) | Error::ExternalUnsupported => {
            Reason::Unsupported
        }
        Error::MaxMemLimited { .. } => Reason::OutOfMemory,
        _ => Reason::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::limits::Limits;

    type Visited = Vec<(String, Result<Vec<u8>, Reason>)>;

    /// An archive whose files are in one block, or each in a block of its own.
    fn archive(files: &[(&str, &[u8])], in_one: bool) -> Vec<u8> {
        let mut writer = sevenz_rust2::ArchiveWriter::new(Cursor::new(Vec::new())).unwrap();
        let entry = sevenz_rust2::ArchiveEntry::new_file;
        if in_one {
            let entries = files.iter().map(|(name, _)| entry(name)).collect();
            let contents: Vec<sevenz_rust2::SourceReader<&[u8]>> =
                files.iter().map(|(_, bytes)| (*bytes).into()).collect();
            writer.push_archive_entries(entries, contents).unwrap();
        } else {
            for (name, bytes) in files {
                writer.push_archive_entry(entry(name), Some(*bytes).filter(|bytes| !bytes.is_empty())).unwrap();
            }
        }
        writer.push_archive_entry::<&[u8]>(sevenz_rust2::ArchiveEntry::new_directory("folder"), None).unwrap();
        writer.finish().unwrap().into_inner()
    }

    fn visited(bytes: &[u8], stop_at: usize) -> (Visited, Result<(), Reason>) {
        let budget = Budget::new(&Limits::default(), bytes.len() as u64);
        let mut found = Vec::new();
        let result = seven_zip(&mut Cursor::new(bytes), &budget, &mut |name, content| {
            let content = match content {
                MemberContent::Bytes(bytes, _) => {
                    let mut all = Vec::new();
                    bytes.read_to_end(&mut all).map(|_| all).map_err(|error| reason(&error))
                }
                MemberContent::Closed(reason) => Err(reason),
            };
            found.push((name.to_owned(), content));
            if found.len() == stop_at { Err(Reason::TooMany) } else { Ok(()) }
        });
        (found, result)
    }

    const FILES: [(&str, &[u8]); 3] = [("a", b"first"), ("b/c", b"second, second, second"), ("d", b"third")];

    fn contents() -> Visited {
        FILES.iter().map(|(name, bytes)| ((*name).to_owned(), Ok(bytes.to_vec()))).collect()
    }

    #[test]
    fn files_are_visited_in_order_and_folders_are_none() {
        for in_one in [true, false] {
            assert_eq!(visited(&archive(&FILES, in_one), 0), (contents(), Ok(())), "{in_one}");
        }
        let empty = archive(&[("empty", b""), ("a", b"x")], false);
        let wanted = [("a".to_owned(), Ok(b"x".to_vec())), ("empty".to_owned(), Ok(Vec::new()))];
        assert_eq!(visited(&empty, 0), (wanted.to_vec(), Ok(())));
    }

    #[test]
    fn a_visitor_ends_the_reading_with_its_reason() {
        for in_one in [true, false] {
            let (found, result) = visited(&archive(&FILES, in_one), 2);
            assert_eq!((found, result), (contents()[..2].to_vec(), Err(Reason::TooMany)), "{in_one}");
        }
    }

    #[test]
    fn a_block_that_is_damaged_or_ends_too_early_is_noticed_and_the_next_ones_are_read() {
        let intact = archive(&FILES, false);
        // The first block begins behind the header of 32 bytes: a mark of its first piece (0: the end), its length, its bytes.
        assert_eq!(intact[32..40], *b"\x01\0\x04first");
        for (at, byte) in [(32, 0), (32, 0x7F), (34, 3), (35, b'F')] {
            let mut damaged = intact.clone();
            damaged[at] = byte;
            let (found, result) = visited(&damaged, 0);
            assert_eq!(found, [&[("a".to_owned(), Err(Reason::Damaged))], &contents()[1..]].concat(), "{at} {byte}");
            assert_eq!(result, Err(Reason::Damaged), "{at} {byte}");
        }
    }

    #[test]
    fn an_archive_that_is_cut_off_anywhere_is_damaged_because_its_directory_is_at_its_end() {
        let whole = archive(&FILES, true);
        for cut in 0..whole.len() {
            assert_eq!(visited(&whole[..cut], 0), (Vec::new(), Err(Reason::Damaged)), "{cut}");
        }
    }

    #[test]
    fn errors_of_the_decoder_have_reasons() {
        for (error, expected) in [
            (Error::PasswordRequired, Reason::Encrypted),
            (Error::UnsupportedCompressionMethod("AES256_SHA256".into()), Reason::Encrypted),
            (Error::UnsupportedCompressionMethod("PPMD".into()), Reason::Unsupported),
            (Error::Unsupported("x".into()), Reason::Unsupported),
            (Error::ExternalUnsupported, Reason::Unsupported),
            (Error::MaxMemLimited { max_kb: 1, actaul_kb: 2 }, Reason::OutOfMemory),
            (Error::ChecksumVerificationFailed, Reason::Damaged),
            (Error::Io(crate::budget::fault(Reason::Ratio), "".into()), Reason::Ratio),
            (Error::MaybeBadPassword(io::ErrorKind::UnexpectedEof.into()), Reason::Damaged),
        ] {
            let shown = format!("{error:?}");
            assert_eq!(reason_of(error), expected, "{shown}");
        }
    }

    proptest! {
        #[test]
        fn damage_is_noticed_and_never_invents_or_loses_a_byte(at: prop::sample::Index, byte: u8) {
            // Making one takes much longer than reading it.
            static INTACT: LazyLock<Vec<u8>> = LazyLock::new(|| archive(&FILES, true));
            let mut bytes = INTACT.clone();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let (found, _) = visited(&bytes, 0);
            for (_, content) in found {
                prop_assert!(content.is_err() || FILES.iter().any(|(_, bytes)| content.as_deref() == Ok(bytes)));
            }
        }
    }
}
