//! Bytes in any encoding become UTF-8, piece by piece.

use std::io::{self, Read, SeekFrom};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

use super::sniff::{Charset, sniff};
use crate::source::{self, Source};

/// Bytes of a text that decide which of the old encodings it is in.
const SAMPLE_BYTES: u64 = 1 << 20;
/// Bytes of these, from the first that is not ASCII, in which letters are weighed: weighing is slow.
const WEIGHED_BYTES: usize = 128 << 10;
/// Bytes that are decoded at a time.
const PIECE_BYTES: usize = 32 << 10;

/// An encoding that can be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    /// One of those of the web.
    Web(&'static encoding_rs::Encoding),
    /// UTF-32, which the encodings of the web do not include.
    Utf32 {
        /// The big end comes first.
        big: bool,
    },
}

impl Encoding {
    /// The encoding of a text, by its first bytes. Bytes that are no text count as UTF-8.
    pub(crate) fn of(source: &mut dyn Source) -> io::Result<Encoding> {
        Ok(match sniff(&source::head(source)?) {
            Some(Charset::Utf16Le) => Encoding::Web(encoding_rs::UTF_16LE),
            Some(Charset::Utf16Be) => Encoding::Web(encoding_rs::UTF_16BE),
            Some(Charset::Utf32Le) => Encoding::Utf32 { big: false },
            Some(Charset::Utf32Be) => Encoding::Utf32 { big: true },
            Some(Charset::Utf8 | Charset::Legacy) | None => Encoding::Web(narrow(source)?),
        })
    }

    /// The encoding of bytes in memory.
    pub(crate) fn of_bytes(bytes: &[u8]) -> &'static encoding_rs::Encoding {
        if std::str::from_utf8(bytes).is_ok() && !bytes.contains(&ESCAPE) {
            return encoding_rs::UTF_8;
        }
        guess(bytes)
    }
}

/// Begins the sequences of ISO 2022, whose text has only ASCII bytes.
const ESCAPE: u8 = 0x1B;

fn narrow(source: &mut dyn Source) -> io::Result<&'static encoding_rs::Encoding> {
    source.seek(SeekFrom::Start(0))?;
    let mut sample = Vec::new();
    source.take(SAMPLE_BYTES).read_to_end(&mut sample)?;
    let length = match std::str::from_utf8(&sample) {
        Ok(_) => sample.len(),
        // The last character may be cut off.
        Err(error) if error.error_len().is_none() && sample.len() as u64 == SAMPLE_BYTES => error.valid_up_to(),
        Err(_) => sample.len(),
    };
    Ok(Encoding::of_bytes(&sample[..length]))
}

fn guess(bytes: &[u8]) -> &'static encoding_rs::Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let first = bytes.iter().position(|&byte| !byte.is_ascii() || byte == ESCAPE).unwrap_or(0);
    let weighed = &bytes[first..];
    // A byte that is left out may be the first half of a character, but it is not the last that is weighed.
    detector.feed(&weighed[..weighed.len().min(WEIGHED_BYTES)], weighed.len() <= WEIGHED_BYTES);
    let utf8 = if std::str::from_utf8(bytes).is_ok() { Utf8Detection::Allow } else { Utf8Detection::Deny };
    detector.guess(None, utf8)
}

/// A source as UTF-8: bytes that cannot be decoded become U+FFFD.
pub(crate) struct Decoder<'s> {
    source: &'s mut dyn Source,
    decoding: Decoding,
    bytes: Vec<u8>,
    /// Number of bytes that are left from the last piece.
    left: usize,
    text: String,
    /// Bytes of the text that a reader of bytes has taken.
    taken: usize,
    ended: bool,
}

enum Decoding {
    Web(Box<encoding_rs::Decoder>),
    Utf32 { big: bool },
}

impl<'s> Decoder<'s> {
    /// Decodes a source from its start. A mark at its beginning is left out, and is believed more than the encoding.
    pub(crate) fn new(source: &'s mut dyn Source, encoding: Encoding) -> io::Result<Decoder<'s>> {
        source.seek(SeekFrom::Start(0))?;
        let decoding = match encoding {
            Encoding::Web(encoding) => Decoding::Web(Box::new(encoding.new_decoder())),
            Encoding::Utf32 { big } => Decoding::Utf32 { big },
        };
        let bytes = vec![0; PIECE_BYTES];
        Ok(Decoder { source, decoding, bytes, left: 0, text: String::new(), taken: 0, ended: false })
    }

    /// The next piece, or `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<&str>> {
        self.text.clear();
        self.taken = 0;
        while self.text.is_empty() && !self.ended {
            self.fill()?;
        }
        Ok((!self.text.is_empty()).then_some(&self.text))
    }

    fn fill(&mut self) -> io::Result<()> {
        let read = self.source.read(&mut self.bytes[self.left..])?;
        self.ended = read == 0;
        let bytes = &self.bytes[..self.left + read];
        match &mut self.decoding {
            Decoding::Web(decoder) => {
                let most = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(4 * PIECE_BYTES);
                self.text.reserve(most);
                let (_, taken, _) = decoder.decode_to_string(bytes, &mut self.text, self.ended);
                debug_assert_eq!(taken, bytes.len(), "the output has space for all of it");
            }
            Decoding::Utf32 { big } => {
                let units = bytes.chunks_exact(4);
                let left = units.remainder().to_vec();
                for unit in units {
                    let unit = <[u8; 4]>::try_from(unit).unwrap_or_default();
                    let code = if *big { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) };
                    self.text.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
                }
                self.bytes[..left.len()].copy_from_slice(&left);
                self.left = left.len();
            }
        }
        Ok(())
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.text.len() && self.next()?.is_none() {
            return Ok(0);
        }
        let rest = &self.text.as_bytes()[self.taken..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn decoded(bytes: &[u8]) -> String {
        let mut source = Cursor::new(bytes);
        let encoding = Encoding::of(&mut source).unwrap();
        let mut text = String::new();
        Decoder::new(&mut source, encoding).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn text_of_every_charset_becomes_utf8() {
        let text = "Grüße aus Köln, wo der Dom steht.\n";
        for encoding in [encoding_rs::UTF_8, encoding_rs::WINDOWS_1252] {
            assert_eq!(decoded(&encoding.encode(text).0), text, "{}", encoding.name());
        }
        let wide: Vec<u8> = [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(decoded(&wide), text);
        let wider: Vec<u8> = text.repeat(3).chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
        assert_eq!(decoded(&wider), text.repeat(3));
        for (encoding, text) in [
            (encoding_rs::SHIFT_JIS, "これは日本語の文章です。とても短いですが、読めます。"),
            (encoding_rs::WINDOWS_1251, "Это русский текст, который написан старой кодировкой."),
            (encoding_rs::EUC_KR, "이것은 한국어로 쓴 짧은 글입니다. 읽을 수 있습니다."),
        ] {
            assert_eq!(decoded(&encoding.encode(text).0), text, "{}", encoding.name());
        }
    }

    #[test]
    fn text_is_decoded_alike_across_the_borders_of_pieces() {
        for length in [PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 5] {
            let text = "é".repeat(length);
            assert!(decoded(text.as_bytes()) == text, "{length}");
            let wide: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
            let mut source = Cursor::new(wide.as_slice());
            let mut decoder = Decoder::new(&mut source, Encoding::Utf32 { big: false }).unwrap();
            let mut again = String::new();
            while let Some(piece) = decoder.next().unwrap() {
                again.push_str(piece);
            }
            assert!(again == text, "{length}");
        }
    }

    #[test]
    fn bytes_that_cannot_be_decoded_become_replacement_characters() {
        let mut source = Cursor::new(&b"a\xffb"[..]);
        let mut text = String::new();
        let mut decoder = Decoder::new(&mut source, Encoding::Web(encoding_rs::UTF_8)).unwrap();
        decoder.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\u{FFFD}b");
        let mut source = Cursor::new(&[0, 0xD8, 0, 0, 65, 0, 0, 0][..]);
        let mut text = String::new();
        Decoder::new(&mut source, Encoding::Utf32 { big: false }).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "\u{FFFD}A");
    }
}
