//! The directory at the end of a zip archive.

use std::io::{self, Read, SeekFrom};

use crate::budget::reason;
use crate::outcome::Reason;
use crate::source::Source;

use super::record::{Fields, Member, name as name_of, widen};

const END_SIGNATURE: &[u8] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const COMMENT_BYTES_MAX: usize = 65_535;
const END64_SIGNATURE: u32 = 0x0606_4B50;
const END64_BYTES: u64 = 56;
const LOCATOR_SIGNATURE: u32 = 0x0706_4B50;
const LOCATOR_BYTES: u64 = 20;
const MEMBER_SIGNATURE: u32 = 0x0201_4B50;
/// Begins an optional signature after the last member.
const SIGNATURE_SIGNATURE: u32 = 0x0505_4B50;
const LOCAL_BYTES: u64 = 30;
/// The largest directory that is read: a hundred thousand names of hundreds of bytes.
const DIRECTORY_BYTES_MAX: u64 = 64 << 20;

/// Reads the directory: files in its order, at most one more than the limit.
///
/// # Errors
/// Damaged without a readable directory, or if members overlap: only bombs have overlapping members.
pub(super) fn read(source: &mut dyn Source, members_max: u32) -> Result<Vec<Member>, Reason> {
    let (at, length, moved) = find(source).map_err(|error| reason(&error))?.ok_or(Reason::Damaged)?;
    if length > DIRECTORY_BYTES_MAX {
        return Err(Reason::TooMany);
    }
    let directory = read_at(source, at, length).map_err(|error| reason(&error))?;
    let mut fields = Fields(&directory);
    let mut members = Vec::new();
    while fields.0.starts_with(&MEMBER_SIGNATURE.to_le_bytes()) {
        let member = member(&mut fields, moved).ok_or(Reason::Damaged)?;
        if member.is_file() {
            members.push(member);
        }
        // One more than the limit, so that the caller, which counts members, notices.
        if members.len() as u64 > u64::from(members_max) {
            fields = Fields(&[]);
        }
    }
    // Bytes other than members and a signature show that this is not the directory of the archive.
    if !(fields.0.is_empty() || fields.0.starts_with(&SIGNATURE_SIGNATURE.to_le_bytes())) {
        return Err(Reason::Damaged);
    }
    if overlap(&members, at) { Err(Reason::Damaged) } else { Ok(members) }
}

/// The place of the directory, its length, and the number of bytes before the archive.
fn find(source: &mut dyn Source) -> io::Result<Option<(u64, u64, u64)>> {
    let length_bytes = source.length_bytes();
    let tail_bytes = length_bytes.min((END_BYTES + COMMENT_BYTES_MAX) as u64);
    let tail_at = length_bytes - tail_bytes;
    let tail = read_at(source, tail_at, tail_bytes)?;
    let mut until = tail.len();
    while let Some(at) = tail[..until].windows(END_SIGNATURE.len()).rposition(|bytes| bytes == END_SIGNATURE) {
        if let Some(found) = end(source, &tail[at..], tail_at + at as u64)? {
            return Ok(Some(found));
        }
        until = at + END_SIGNATURE.len() - 1;
    }
    Ok(None)
}

/// Reads the end record at a place.
fn end(source: &mut dyn Source, record: &[u8], at: u64) -> io::Result<Option<(u64, u64, u64)>> {
    let Some((mut length, mut stated, comment)) = end_fields(record) else { return Ok(None) };
    if usize::from(comment) > record.len() - END_BYTES {
        return Ok(None);
    }
    let mut end_at = at;
    // Even if the lengths fit into the short record, the number of members may not.
    if let Some(wide) = end64(source, at)? {
        (length, stated, end_at) = wide;
    }
    let Some(directory_at) = end_at.checked_sub(length) else { return Ok(None) };
    Ok(directory_at.checked_sub(stated).map(|moved| (directory_at, length, moved)))
}

fn end_fields(record: &[u8]) -> Option<(u64, u64, u16)> {
    let mut fields = Fields(record);
    fields.bytes(12)?;
    Some((fields.u32()?.into(), fields.u32()?.into(), fields.u16()?))
}

/// The end record of a large archive, by the locator before the end record: length, place, and where the record is.
fn end64(source: &mut dyn Source, end_at: u64) -> io::Result<Option<(u64, u64, u64)>> {
    let Some(locator_at) = end_at.checked_sub(LOCATOR_BYTES) else { return Ok(None) };
    let locator = read_at(source, locator_at, LOCATOR_BYTES)?;
    let mut fields = Fields(&locator);
    if fields.u32() != Some(LOCATOR_SIGNATURE) {
        return Ok(None);
    }
    // Its place is before the locator, unless other bytes come before the archive: then the usual place is right.
    let stated = fields.bytes(4).and_then(|_| fields.u64()).unwrap_or(u64::MAX);
    for at in [stated, locator_at.saturating_sub(END64_BYTES)] {
        if at.checked_add(END64_BYTES).is_none_or(|end| end > locator_at) {
            continue;
        }
        let record = read_at(source, at, END64_BYTES)?;
        let mut fields = Fields(&record);
        if fields.u32() == Some(END64_SIGNATURE) && fields.bytes(36).is_some() {
            return Ok(fields.u64().zip(fields.u64()).map(|(length, place)| (length, place, at)));
        }
    }
    Ok(None)
}

fn member(fields: &mut Fields<'_>, moved: u64) -> Option<Member> {
    const UNIX: u8 = 3;
    const DARWIN: u8 = 19;
    fields.bytes(5)?;
    let system = *fields.bytes(1)?.first()?;
    fields.bytes(2)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.bytes(4)?;
    let sum = fields.u32()?;
    let (mut compressed_bytes, mut bytes) = (fields.u32()?.into(), fields.u32()?.into());
    let (name_length, extra_length, comment_length) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.bytes(4)?;
    let attributes = fields.u32()?;
    let mut header_at = fields.u32()?.into();
    let name = fields.bytes(name_length.into())?;
    let extra = fields.bytes(extra_length.into())?;
    let name = name_of(name, flags, extra);
    fields.bytes(comment_length.into())?;
    widen(extra, &mut [&mut bytes, &mut compressed_bytes, &mut header_at])?;
    let mode = if matches!(system, UNIX | DARWIN) { attributes >> 16 } else { 0 };
    let header_at = header_at.checked_add(moved)?;
    Some(Member { name, flags, method, sum, compressed_bytes, bytes, header_at, mode })
}

/// True if members overlap each other or the directory.
fn overlap(members: &[Member], directory_at: u64) -> bool {
    let mut places: Vec<(u64, u64)> =
        members.iter().map(|member| (member.header_at, member.compressed_bytes)).collect();
    places.sort_unstable();
    let ends = places.iter().skip(1).map(|&(at, _)| at).chain([directory_at]);
    places.iter().zip(ends).any(|(&(at, bytes), end)| {
        at.checked_add(LOCAL_BYTES).and_then(|at| at.checked_add(bytes)).is_none_or(|this| this > end)
    })
}

pub(super) fn read_at(source: &mut dyn Source, at: u64, length: u64) -> io::Result<Vec<u8>> {
    source.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    source.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
