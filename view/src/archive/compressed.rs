//! Files that are compressed one by one.

use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

use crate::budget::{Budget, Counted, Metered, fault};
use crate::kind::Kind;
use crate::outcome::Reason;

const BUFFER_BYTES: usize = 32 * 1024;

/// The decompressed stream, within the limits; `None` for other kinds.
pub(crate) fn decoder<'r>(
    kind: Kind,
    stream: &'r mut dyn Read,
    budget: &Rc<Budget>,
) -> Option<Metered<Box<dyn Read + 'r>>> {
    let (stream, compressed) = Counted::new(stream);
    let stream = BufReader::with_capacity(BUFFER_BYTES, stream);
    let decoder: Box<dyn Read + 'r> = match kind {
        Kind::Gzip => Box::new(Gzip::new(stream)),
        Kind::Xz => xz(stream, budget),
        Kind::Zstd => Box::new(Zstd::new(stream, budget)),
        Kind::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(stream)),
        _ => return None,
    };
    Some(Metered::new(decoder, budget, compressed))
}

/// The name that a gzip file gives to its content.
pub(crate) fn own_name(head: &[u8]) -> Option<String> {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    let flags = *head.get(3)?;
    if head.get(..3)? != [0x1F, 0x8B, 8] || flags & NAME == 0 {
        return None;
    }
    let mut at = 10;
    if flags & EXTRA != 0 {
        let length: [u8; 2] = head.get(at..at + 2)?.try_into().ok()?;
        at += 2 + usize::from(u16::from_le_bytes(length));
    }
    let name = head.get(at..)?;
    let name = &name[..name.iter().position(|&byte| byte == 0)?];
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

/// Reads one gzip member after the other and ignores bytes after the last member, as gzip does.
struct Gzip<R> {
    decoder: Option<GzDecoder<R>>,
}

impl<R: BufRead> Gzip<R> {
    fn new(stream: R) -> Gzip<R> {
        Gzip { decoder: Some(GzDecoder::new(stream)) }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(mut stream) = self.decoder.take().map(GzDecoder::into_inner) else { return Ok(0) };
            if stream.fill_buf()?.first() == Some(&0x1F) {
                self.decoder = Some(GzDecoder::new(stream));
            }
        }
    }
}

/// Reads a stream of xz.
pub(super) fn xz<'s>(stream: impl Read + 's, budget: &Budget) -> Box<dyn Read + 's> {
    Box::new(XzReader::new_mem_limit(FillingReader(stream), true, budget.dictionary_kib_max()))
}

/// Fills the buffer unless the stream ends: the decoder of xz takes less for the end.
struct FillingReader<R>(R);

impl<R: Read> Read for FillingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// Reads one zstd frame after the other and skips skippable frames.
pub(super) struct Zstd<R> {
    stream: R,
    decoder: FrameDecoder,
    open: bool,
    /// A block is cut off or broken: what comes before it is read, and then nothing.
    is_damaged: bool,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(stream: R, budget: &Budget) -> Zstd<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(u64::from(budget.dictionary_kib_max()) * 1024);
        Zstd { stream, decoder, open: false, is_damaged: false }
    }

    /// Ends the frame with an empty block in place of a damaged one: the decoder keeps the last bytes before it until then.
    fn end_frame(&mut self) -> io::Result<()> {
        const EMPTY_LAST_BLOCK: [u8; 3] = [1, 0, 0];
        self.is_damaged = true;
        let end = (&EMPTY_LAST_BLOCK[..]).chain(&[0; 4][..]);
        let one = ruzstd::decoding::BlockDecodingStrategy::UptoBlocks(1);
        self.decoder.decode_blocks(end, one).map(drop).map_err(io::Error::other)
    }

    /// Begins the next frame; false at the end of the stream.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.stream.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.stream) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    skip(&mut self.stream, length.into())?;
                }
                Err(FrameDecoderError::WindowSizeTooBig { .. }) => return Err(fault(Reason::OutOfMemory)),
                Err(FrameDecoderError::DictNotProvided { .. }) => return Err(fault(Reason::Unsupported)),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.open {
                self.open = self.next_frame()?;
                if !self.open {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = ruzstd::decoding::BlockDecodingStrategy::UptoBlocks(1);
                if self.decoder.decode_blocks(&mut self.stream, one).is_err() {
                    self.end_frame()?;
                }
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if self.is_damaged {
                return Err(fault(Reason::Damaged));
            }
            let stated = self.decoder.get_checksum_from_data();
            if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
                return Err(fault(Reason::Damaged));
            }
            self.open = false;
        }
    }
}

/// Skips this number of bytes; a stream that ends earlier is an error.
pub(super) fn skip(stream: &mut (impl Read + ?Sized), bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut stream.take(bytes), &mut io::sink())?;
    if skipped == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budget::reason;
    use crate::limits::Limits;

    #[test]
    fn a_gzip_file_may_name_its_content() {
        let head = |flags: u8, rest: &[u8]| [&[0x1F, 0x8B, 8, flags, 0, 0, 0, 0, 0, 0][..], rest].concat();
        for (head, name) in [
            (head(8, b"a.txt\0rest"), Some("a.txt")),
            (head(8, b"\0"), None),
            (head(8, b"cut off"), None),
            (head(0, b"a.txt\0"), None),
            (head(12, b"\x02\0xxa\0"), Some("a")),
            (head(12, b"\xff\xffa\0"), None),
            (head(8, b"caf\xe9\0"), Some("caf\u{FFFD}")),
            (b"\x1f\x8b".to_vec(), None),
            (b"PK\x03\x04a\0".to_vec(), None),
        ] {
            assert_eq!(own_name(&head).as_deref(), name, "{head:?}");
        }
    }

    #[test]
    fn skipping_needs_all_bytes() {
        for (bytes, left) in [(0, Some(5)), (3, Some(2)), (5, Some(0)), (6, None)] {
            let mut stream = &b"abcde"[..];
            let skipped = skip(&mut stream, bytes);
            assert_eq!(skipped.is_ok().then_some(stream.len()), left, "{bytes}");
        }
    }

    #[test]
    fn a_filling_reader_gives_less_only_at_the_end() {
        let bytes = [7; 10];
        let mut reader = FillingReader((&bytes[..3]).chain(&bytes[3..4]).chain(&bytes[4..]));
        let mut buffer = [0; 6];
        assert_eq!(reader.read(&mut buffer).unwrap(), 6);
        assert_eq!(reader.read(&mut buffer).unwrap(), 4);
        assert_eq!(reader.read(&mut buffer).unwrap(), 0);
    }

    const KINDS: [Kind; 4] = [Kind::Gzip, Kind::Xz, Kind::Zstd, Kind::Bzip2];

    fn packed(kind: Kind, bytes: &[u8]) -> Vec<u8> {
        use std::io::Write as _;
        let written = |mut encoder: Box<dyn io::Write + '_>| encoder.write_all(bytes).unwrap();
        let mut out = Vec::new();
        match kind {
            Kind::Gzip => written(Box::new(flate2::write::GzEncoder::new(&mut out, flate2::Compression::fast()))),
            Kind::Bzip2 => written(Box::new(bzip2::write::BzEncoder::new(&mut out, bzip2::Compression::fast()))),
            Kind::Zstd => out = ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest),
            Kind::Xz => {
                let mut encoder = lzma_rust2::XzWriter::new(&mut out, lzma_rust2::XzOptions::with_preset(1)).unwrap();
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap();
            }
            _ => panic!("{kind:?}"),
        }
        out
    }

    fn unpacked_within(limits: &Limits, kind: Kind, mut bytes: &[u8]) -> Result<Vec<u8>, Reason> {
        let budget = Budget::new(limits, bytes.len() as u64);
        let mut unpacked = Vec::new();
        let read = decoder(kind, &mut bytes, &budget).expect("a decoder").read_to_end(&mut unpacked);
        read.map(|_| unpacked).map_err(|error| reason(&error))
    }

    fn unpacked(kind: Kind, bytes: &[u8]) -> Result<Vec<u8>, Reason> {
        unpacked_within(&Limits::default(), kind, bytes)
    }

    #[test]
    fn only_kinds_of_compressed_files_have_a_decoder() {
        let budget = Budget::new(&Limits::default(), 1);
        for (kind, is_known) in KINDS.map(|kind| (kind, true)).into_iter().chain([
            (Kind::Zip, false),
            (Kind::Tar, false),
            (Kind::SevenZip, false),
            (Kind::Text, false),
        ]) {
            assert_eq!(decoder(kind, &mut io::empty(), &budget).is_some(), is_known, "{kind:?}");
        }
    }

    #[test]
    fn a_compressed_file_that_is_cut_off_is_damaged_and_one_of_nothing_is_empty() {
        let text: Vec<u8> = (0..2000_u32).flat_map(|number| number.wrapping_mul(0x9E37_79B9).to_le_bytes()).collect();
        for kind in KINDS {
            let whole = packed(kind, &text);
            assert_eq!(unpacked(kind, &whole).as_ref(), Ok(&text), "{kind:?}");
            assert_eq!(unpacked(kind, &packed(kind, b"")), Ok(Vec::new()), "{kind:?}");
            for cut in (1..24).map(|part| whole.len() * part / 24).chain([whole.len() - 1]) {
                assert_eq!(unpacked(kind, &whole[..cut]), Err(Reason::Damaged), "{kind:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_dictionary_that_memory_does_not_hold_is_refused_before_it_is_made() {
        // A quarter of the memory is for the decoder: less than the smallest dictionary of either.
        let limits = Limits { memory_bytes_max: 256 << 10, ..Limits::default() };
        assert_eq!(unpacked_within(&limits, Kind::Xz, &packed(Kind::Xz, b"text")), Err(Reason::OutOfMemory));
        // A frame of zstd with a window of 2 GiB.
        let frame = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xA8, 1, 0, 0];
        assert_eq!(unpacked(Kind::Zstd, &frame), Err(Reason::OutOfMemory));
    }

    #[test]
    fn what_a_zstd_file_lacks_is_named() {
        // The first needs a dictionary; the checksum of the last is wrong.
        assert_eq!(unpacked(Kind::Zstd, &[0x28, 0xB5, 0x2F, 0xFD, 0x21, 7, 1, 1, 0, 0]), Err(Reason::Unsupported));
        let skipped = [0x50, 0x2A, 0x4D, 0x18, 9, 0, 0, 0, 1];
        assert_eq!(unpacked(Kind::Zstd, &skipped), Err(Reason::Damaged), "a skippable frame that is cut off");
        let mut summed = vec![0x28, 0xB5, 0x2F, 0xFD, 0x24, 2, 0x11, 0, 0, b'o', b'k'];
        summed.extend([0; 4]);
        assert_eq!(unpacked(Kind::Zstd, &summed), Err(Reason::Damaged));
    }

    proptest! {
        #[test]
        fn damage_of_a_compressed_file_is_noticed_or_changes_no_byte(
            kind in prop::sample::select(&KINDS[..]),
            at: prop::sample::Index,
            bit in 0..8_u8,
        ) {
            let text = b"some text that is long enough to be worth it, some text that is long".as_slice();
            let mut bytes = packed(kind, text);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            // The encoder of zstd writes no checksum, so that only its structure can show damage.
            if let Ok(unpacked) = unpacked(kind, &bytes) && kind != Kind::Zstd {
                prop_assert!(text == unpacked || unpacked.is_empty(), "{kind:?} {at} {bit}");
            }
        }
    }
}
