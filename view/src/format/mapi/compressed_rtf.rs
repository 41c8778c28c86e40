//! RTF as messages have it, compressed with a dictionary that begins with common words of RTF ([MS-OXRTFCP]).

use crate::format::compound::u32_at;

/// Size of the header, and of the dictionary.
const HEADER_BYTES: usize = 16;
const DICTIONARY_BYTES: usize = 4096;
/// Size at most, unpacked.
const UNPACKED_BYTES_MAX: usize = 64 << 20;
const COMPRESSED: u32 = 0x7546_5A4C;
const STORED: u32 = 0x414C_454D;
/// What the dictionary holds at first.
const START: &[u8] = b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \
\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\
\\u\\tab\\tx";

/// The RTF of a body. What is cut gives what is there of it.
pub(super) fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let content = packed.get(HEADER_BYTES..)?;
    match u32_at(packed, 8)? {
        STORED => Some(content.to_vec()),
        COMPRESSED => Some(unpack(content)),
        _ => None,
    }
}

/// Groups of eight, each behind a byte of flags: a byte, or a place and a length in the dictionary.
fn unpack(content: &[u8]) -> Vec<u8> {
    let mut dictionary = [b' '; DICTIONARY_BYTES];
    dictionary[..START.len()].copy_from_slice(START);
    let (mut unpacked, mut write) = (Vec::new(), START.len());
    let mut bytes = content.iter().copied();
    'groups: while let Some(flags) = bytes.next() {
        for bit in 0..8 {
            let Some(first) = bytes.next() else { break 'groups };
            let (mut place, length) = match flags >> bit & 1 {
                0 => {
                    dictionary[write] = first;
                    (write, 1)
                }
                _ => {
                    let Some(second) = bytes.next() else { break 'groups };
                    let reference = u16::from_be_bytes([first, second]);
                    (usize::from(reference >> 4), usize::from(reference & 15) + 2)
                }
            };
            // A reference to the place that is written next is the end.
            if length > 1 && place == write || unpacked.len() > UNPACKED_BYTES_MAX {
                break 'groups;
            }
            for _ in 0..length {
                let byte = dictionary[place];
                unpacked.push(byte);
                dictionary[write] = byte;
                (place, write) = ((place + 1) % DICTIONARY_BYTES, (write + 1) % DICTIONARY_BYTES);
            }
        }
    }
    unpacked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_are_unpacked() {
        // [MS-OXRTFCP] 3.1.1.2 and 3.1.2.2.
        let simple = b"\x2D\0\0\0\x2B\0\0\0LZFu\xF1\xC5\xC7\xA7\x03\0\x0A\0rcpg125B2\x0A\xF3 hel\x09\0 bw\x05\xB0ld}\x0A\x80\x0F\xA0";
        let wanted = "{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n";
        assert_eq!(String::from_utf8(unpacked(simple).unwrap()).unwrap(), wanted);
        let repeated = b"\x1A\0\0\0\x1C\0\0\0LZFu\xE2\xD4KQA\0\x04 WXYZ\x0Dn}\x01\x0E\xB0";
        assert_eq!(String::from_utf8(unpacked(repeated).unwrap()).unwrap(), "{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}");
        for length in 0..simple.len() {
            let _ = unpacked(&simple[..length]);
        }
        assert_eq!((unpacked(b"short"), unpacked(&[7; 40])), (None, None));
    }
}
