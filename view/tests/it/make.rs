//! Archives made by hand, so that they can be wrong in any way.

use std::io::{Cursor, Write as _};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn gzip_named(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::GzBuilder::new().filename(name).extra(*b"xx").write(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn seven_zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = sevenz_rust2::ArchiveWriter::new(std::io::Cursor::new(Vec::new())).unwrap();
    for (name, bytes) in members {
        let entry = sevenz_rust2::ArchiveEntry::new_file(name);
        writer.push_archive_entry(entry, Some(*bytes).filter(|bytes| !bytes.is_empty())).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A header of a tar archive, and what follows it.
pub(crate) fn tar_entry(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut block = [0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..107].copy_from_slice(b"0000644");
    block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    signed(&mut block);
    let mut entry = block.to_vec();
    entry.extend(bytes);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// Puts the checksum into a header.
pub(crate) fn signed(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
}

pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes: Vec<u8> = members.iter().flat_map(|(name, bytes)| tar_entry(name, b'0', bytes)).collect();
    bytes.extend([0; 1024]);
    bytes
}

/// Options of writing a member of a zip archive.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Style {
    pub(crate) method: u16,
    pub(crate) flags: u16,
    /// Sizes come after the content.
    pub(crate) descriptor: bool,
    /// Sizes are eight bytes wide, in an extra field.
    pub(crate) wide: bool,
    pub(crate) mode: u32,
}

pub(crate) const DEFLATED: Style = Style { method: 8, flags: 0, descriptor: false, wide: false, mode: 0 };

/// Writes zip archives.
#[derive(Default)]
pub(crate) struct Zip {
    pub(crate) bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl Zip {
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8], style: Style) {
        let content = match style.method {
            8 => deflate(bytes),
            12 => bzip2(bytes),
            93 => zstd(bytes),
            _ => bytes.to_vec(),
        };
        let at = u32::try_from(self.bytes.len()).unwrap();
        let (sum, compressed, expanded) = (crc32fast::hash(bytes), content.len() as u64, bytes.len() as u64);
        let fields = if style.descriptor { (0, 0, 0) } else { (sum, compressed, expanded) };
        self.bytes.extend(b"PK\x03\x04");
        let local = head(name, fields, style);
        self.bytes.extend(&local);
        self.bytes.extend(&content);
        if style.descriptor {
            self.bytes.extend(b"PK\x07\x08");
            self.bytes.extend(sum.to_le_bytes());
            for size in [compressed, expanded] {
                self.bytes.extend(&size.to_le_bytes()[..if style.wide { 8 } else { 4 }]);
            }
        }
        self.list(name, (sum, compressed, expanded), style, at);
    }

    /// Adds what is deflated already.
    pub(crate) fn add_deflated(&mut self, name: &str, content: &[u8], sum: u32, expanded: u64) {
        let at = u32::try_from(self.bytes.len()).unwrap();
        let fields = (sum, content.len() as u64, expanded);
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(head(name, fields, DEFLATED));
        self.bytes.extend(content);
        self.list(name, fields, DEFLATED, at);
    }

    /// Names a member in the directory alone.
    pub(crate) fn list(&mut self, name: &str, fields: (u32, u64, u64), style: Style, at: u32) {
        let local = head(name, fields, style);
        let (fixed, rest) = local.split_at(26);
        self.directory.extend(b"PK\x01\x02\x14\x03");
        self.directory.extend(fixed);
        self.directory.extend([0; 6]);
        self.directory.extend((style.mode << 16).to_le_bytes());
        self.directory.extend(at.to_le_bytes());
        self.directory.extend(rest);
        self.count = self.count.wrapping_add(1);
    }

    /// Ends as an archive of more than 65,535 members does: the short end record has no number for them, but true
    /// lengths.
    pub(crate) fn finish_as_of_many(mut self) -> Vec<u8> {
        let (at, length, count) = (self.bytes.len() as u64, self.directory.len() as u64, u64::from(self.count));
        self.bytes.extend(&self.directory);
        let end_at = self.bytes.len() as u64;
        self.bytes.extend(b"PK\x06\x06");
        self.bytes.extend(44u64.to_le_bytes());
        self.bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [count, count, length, at] {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend(b"PK\x06\x07\0\0\0\0");
        self.bytes.extend(end_at.to_le_bytes());
        self.bytes.extend([1, 0, 0, 0]);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff");
        self.bytes.extend(u32::try_from(length).unwrap().to_le_bytes());
        self.bytes.extend(u32::try_from(at).unwrap().to_le_bytes());
        self.bytes.extend([0; 2]);
        self.bytes
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let at = u32::try_from(self.bytes.len()).unwrap();
        self.bytes.extend(&self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(u32::try_from(self.directory.len()).unwrap().to_le_bytes());
        self.bytes.extend(at.to_le_bytes());
        self.bytes.extend([0; 2]);
        self.bytes
    }
}

/// The fields after the signature of a header: the same before the member and in the directory.
fn head(name: &str, (sum, compressed, expanded): (u32, u64, u64), style: Style) -> Vec<u8> {
    let mut head = vec![45, 0];
    let flags = style.flags | if style.descriptor { 8 } else { 0 };
    head.extend(flags.to_le_bytes());
    head.extend(style.method.to_le_bytes());
    head.extend([0; 4]);
    head.extend(sum.to_le_bytes());
    for size in [compressed, expanded] {
        let narrow = if style.wide { u32::MAX } else { u32::try_from(size).unwrap() };
        head.extend(narrow.to_le_bytes());
    }
    head.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    let mut extra = Vec::new();
    if style.wide {
        extra.extend([1, 0, 16, 0]);
        extra.extend(expanded.to_le_bytes());
        extra.extend(compressed.to_le_bytes());
    }
    head.extend(u16::try_from(extra.len()).unwrap().to_le_bytes());
    head.extend(name.as_bytes());
    head.extend(extra);
    head
}

pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = Zip::default();
    members.iter().for_each(|(name, bytes)| zip.add(name, bytes, DEFLATED));
    zip.finish()
}

/// A compound file with these streams, whose names may have storages before them.
pub(crate) fn compound(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    for (path, bytes) in streams {
        if let Some((storage, _)) = path.rsplit_once('/') {
            file.create_storage_all(storage).unwrap();
        }
        file.create_stream(path).unwrap().write_all(bytes).unwrap();
    }
    file.into_inner().into_inner()
}

/// A document of Word: its text in one piece of narrow characters.
pub(crate) fn word_streams(text: &[u8]) -> [Vec<u8>; 2] {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    let mut document = vec![0; 0x400];
    document[..4].copy_from_slice(&[0xEC, 0xA5, 0xC1, 0]);
    document[76..80].copy_from_slice(&length);
    document.extend_from_slice(text);
    let piece = ((0x400_u32 * 2) | 0x4000_0000).to_le_bytes();
    let table = [&[2, 16, 0, 0, 0, 0, 0, 0, 0][..], &length, &[0, 0], &piece, &[0, 0]].concat();
    document[0x1A6..0x1AA].copy_from_slice(&u32::try_from(table.len()).unwrap().to_le_bytes());
    [document, table]
}

/// The stream of a workbook of one sheet: a number, a text, a comment and what is printed above.
pub(crate) fn workbook_stream() -> Vec<u8> {
    let record = |kind: u16, body: &[u8]| {
        [&kind.to_le_bytes()[..], &u16::try_from(body.len()).unwrap().to_le_bytes(), body].concat()
    };
    let begin = |of: u8| record(0x0809, &[0, 6, of, 0, 0xBB, 0x0D, 0xCC, 0x07, 0, 0, 0, 0, 6, 0, 0, 0]);
    let text = record(0x00FC, b"\x01\0\0\0\x01\0\0\0\x04\0\0text");
    let start = u32::try_from(20 + 13 + text.len() + 4).unwrap().to_le_bytes();
    let sheet = record(0x0085, &[&start[..], &[0, 0, 1, 0, b'S']].concat());
    [
        begin(5),
        sheet,
        text,
        record(0x000A, &[]),
        begin(0x10),
        record(0x0203, &[&[0, 0, 0, 0, 0, 0][..], &1.5_f64.to_le_bytes()].concat()),
        record(0x00FD, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        record(0x0014, b"\x04\0\0&Lup"),
        record(0x01B6, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]),
        record(0x003C, b"\0note"),
        record(0x000A, &[]),
    ]
    .concat()
}
