//! Records of a zip archive: numbers of fixed width, and names in one of several encodings.

use crate::charset::Encoding;

pub(super) const STORED: u16 = 0;
pub(super) const DEFLATED: u16 = 8;
pub(super) const DEFLATED64: u16 = 9;
pub(super) const BZIP2: u16 = 12;
pub(super) const LZMA: u16 = 14;
pub(super) const ZSTD: u16 = 93;
pub(super) const XZ: u16 = 95;

const ENCRYPTED: u16 = 1;
const END_MARK: u16 = 1 << 1;
/// Sizes and checksum come after the content.
pub(super) const DESCRIPTOR: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;

/// The facts about a member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) sum: u32,
    pub(super) compressed_bytes: u64,
    pub(super) bytes: u64,
    pub(super) header_at: u64,
    /// The mode of a Unix file, or 0.
    pub(super) mode: u32,
}

impl Member {
    /// True if it is a file, and no folder, link or device.
    pub(super) fn is_file(&self) -> bool {
        const FORMAT: u32 = 0o170_000;
        const REGULAR: u32 = 0o100_000;
        !self.name.ends_with('/') && matches!(self.mode & FORMAT, 0 | REGULAR)
    }

    /// True if the stream itself says where it ends (LZMA).
    pub(super) fn has_end_mark(&self) -> bool {
        self.flags & END_MARK != 0
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0
    }
}

/// Takes fields off the front of a record.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (field, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(field)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// The extra field of a kind, among those that follow each other.
pub(super) fn extra(fields: &[u8], kind: u16) -> Option<&[u8]> {
    let mut fields = Fields(fields);
    loop {
        let (is, length) = (fields.u16()?, fields.u16()?);
        let field = fields.bytes(length.into())?;
        if is == kind {
            return Some(field);
        }
    }
}

/// Takes the numbers that did not fit into four bytes from the zip64 field, in its order.
pub(super) fn widen(fields: &[u8], numbers: &mut [&mut u64]) -> Option<()> {
    const ZIP64: u16 = 1;
    let mut wide = Fields(extra(fields, ZIP64).unwrap_or_default());
    for number in numbers.iter_mut().filter(|number| ***number == u64::from(u32::MAX)) {
        **number = wide.u64()?;
    }
    Some(())
}

/// The kind of the extra field that has the name in UTF-8 (Info-ZIP Unicode Path).
const UNICODE_PATH: u16 = 0x7075;

/// A name: the one in UTF-8 among the extra fields if that is for this name; in UTF-8 if it is flagged or valid as such; in
/// the encoding that its bytes show if most of them are of other letters than Latin; else in the code page of the first PCs.
pub(super) fn name(bytes: &[u8], flags: u16, extras: &[u8]) -> String {
    let name = match str::from_utf8(unicode_path(bytes, extras).unwrap_or(bytes)) {
        Ok(name) => name.to_owned(),
        Err(_) if flags & UTF8 != 0 => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => other_letters(bytes).unwrap_or_else(|| bytes.iter().map(|&byte| cp437(byte)).collect()),
    };
    // Some programs on Windows write backslashes as separators.
    if name.contains('\\') && !name.contains('/') { name.replace('\\', "/") } else { name }
}

/// The name in UTF-8 of the extra field. The field has the checksum of the other name, and is not used if that was changed since.
fn unicode_path<'e>(bytes: &[u8], extras: &'e [u8]) -> Option<&'e [u8]> {
    let mut field = Fields(extra(extras, UNICODE_PATH)?);
    let version = *field.bytes(1)?.first()?;
    (version == 1 && field.u32()? == crc32fast::hash(bytes)).then_some(field.0)
}

/// A name in the encoding that its bytes show. Names of a few letters show it only where most of them are not Latin.
fn other_letters(bytes: &[u8]) -> Option<String> {
    let stem = bytes.split(|&byte| byte == b'.').next().unwrap_or(bytes);
    let others = stem.iter().filter(|byte| !byte.is_ascii()).count();
    if 2 * others < stem.len() {
        return None;
    }
    let encoding = Encoding::of_bytes(bytes);
    let is_latin =
        [encoding_rs::WINDOWS_1252, encoding_rs::WINDOWS_1250, encoding_rs::ISO_8859_2, encoding_rs::WINDOWS_1254];
    let decoded = encoding.decode_without_bom_handling_and_without_replacement(bytes);
    decoded.filter(|_| !is_latin.contains(&encoding)).map(std::borrow::Cow::into_owned)
}

fn cp437(byte: u8) -> char {
    const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}";
    match byte.checked_sub(128) {
        None => char::from(byte),
        Some(upper) => UPPER.chars().nth(upper.into()).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_their_encodings() {
        assert_eq!(name("größe".as_bytes(), 0, &[]), "größe");
        assert_eq!(name(b"gr\x94\xE1e.txt", 0, &[]), "größe.txt");
        assert_eq!(name(b"\xFF", 0, &[]), "\u{A0}");
        assert_eq!(name(b"gr\x94", UTF8, &[]), "gr\u{FFFD}");
        assert_eq!(name(b"in\\x.txt", 0, &[]), "in/x.txt");
        assert_eq!(name(b"in/a\\b", 0, &[]), "in/a\\b");
        let japanese = "表計算ソフト.txt";
        assert_eq!(name(&encoding_rs::SHIFT_JIS.encode(japanese).0, 0, &[]), japanese);
        let russian = "Отчёт.doc";
        assert_eq!(name(&encoding_rs::IBM866.encode(russian).0, 0, &[]), russian);
    }

    #[test]
    fn a_name_in_utf8_stands_for_the_name_that_it_was_made_for() {
        let extras = |of: &[u8]| {
            let name = "Größe.txt";
            let length = u16::try_from(5 + name.len()).unwrap().to_le_bytes();
            [&[0x75, 0x70][..], &length, &[1], &crc32fast::hash(of).to_le_bytes(), name.as_bytes()].concat()
        };
        assert_eq!(name(b"Gr??e.txt", 0, &extras(b"Gr??e.txt")), "Größe.txt");
        assert_eq!(name(b"renamed.txt", 0, &extras(b"Gr??e.txt")), "renamed.txt");
    }

    #[test]
    fn wide_numbers_are_taken_in_their_order() {
        let field = [&[9, 0, 1, 0, 7, 1, 0, 16, 0][..], &5_u64.to_le_bytes(), &(1_u64 << 40).to_le_bytes()].concat();
        let (mut a, mut b, mut c) = (u64::from(u32::MAX), 3, u64::from(u32::MAX));
        widen(&field, &mut [&mut a, &mut b, &mut c]).unwrap();
        assert_eq!((a, b, c), (5, 3, 1 << 40));
        let mut missing = u64::from(u32::MAX);
        assert!(widen(&[], &mut [&mut missing]).is_none());
    }
}
