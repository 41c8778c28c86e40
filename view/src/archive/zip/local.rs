//! The header of each member of a zip archive, and reading by these headers alone.

use std::io::{self, BufReader, Read, SeekFrom};
use std::rc::Rc;

use flate2::bufread::DeflateDecoder;

use crate::budget::{Budget, Counted, Metered, reason};
use crate::outcome::Reason;
use crate::source::Source;

use super::directory::read_at;
use super::member::{HEADER_BYTES, SIGNATURE, visit_member};
use super::record::{DEFLATED, DESCRIPTOR, Fields, Member, name, widen};
use crate::archive::member::{MemberContent, VisitMember};

const DESCRIPTOR_SIGNATURE: &[u8] = b"PK\x07\x08";

/// Visits members one after the other, as far as they go.
pub(super) fn visit(source: &mut dyn Source, budget: &Rc<Budget>, each: &mut VisitMember<'_>) -> Result<(), Reason> {
    let mut at = 0;
    while let Ok(Some((member, content_at))) = header(source, at) {
        budget.work(1024)?;
        let unknown = member.flags & DESCRIPTOR != 0 && member.compressed_bytes == 0;
        at = if !unknown {
            if member.is_file() {
                visit_member(source, &member, budget, each)?;
            }
            content_at.saturating_add(member.compressed_bytes)
        } else if member.method == DEFLATED && !member.is_encrypted() {
            // A compressed stream marks its own end.
            content_at + deflated(source, &member, content_at, budget, each)?
        } else {
            return each(&member.name, MemberContent::Closed(Reason::Damaged));
        };
        at = after_descriptor(source, at).unwrap_or(u64::MAX);
    }
    Ok(())
}

/// Reads the header at an offset; `None` if no header begins there.
fn header(source: &mut dyn Source, at: u64) -> io::Result<Option<(Member, u64)>> {
    let header = read_at(source, at, HEADER_BYTES)?;
    let Some((mut member, name_length, extra_length)) = fixed(&header, at) else { return Ok(None) };
    let rest = read_at(source, at + HEADER_BYTES, u64::from(name_length) + u64::from(extra_length))?;
    let (stated, extra) = rest.split_at(name_length.into());
    member.name = name(stated, member.flags, extra);
    let wide = widen(extra, &mut [&mut member.bytes, &mut member.compressed_bytes]);
    let content_at = at + HEADER_BYTES + rest.len() as u64;
    Ok(wide.map(|()| (member, content_at)))
}

fn fixed(header: &[u8], at: u64) -> Option<(Member, u16, u16)> {
    let mut fields = Fields(header);
    if fields.u32()? != SIGNATURE {
        return None;
    }
    fields.bytes(2)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.bytes(4)?;
    let sum = fields.u32()?;
    let (compressed_bytes, bytes) = (fields.u32()?.into(), fields.u32()?.into());
    let member = Member { name: String::new(), flags, method, sum, compressed_bytes, bytes, header_at: at, mode: 0 };
    Some((member, fields.u16()?, fields.u16()?))
}

/// Visits a member of unknown size and returns its size.
fn deflated(
    source: &mut dyn Source,
    member: &Member,
    at: u64,
    budget: &Rc<Budget>,
    each: &mut VisitMember<'_>,
) -> Result<u64, Reason> {
    source.seek(SeekFrom::Start(at)).map_err(|error| reason(&error))?;
    let (stream, compressed) = Counted::new(source);
    let mut decoder = DeflateDecoder::new(BufReader::with_capacity(32 * 1024, stream));
    let mut metered = Metered::new(&mut decoder, budget, compressed);
    each(&member.name, MemberContent::Bytes(&mut metered, None))?;
    // Read what the visitor left, to find the end.
    let rest = io::copy(&mut metered, &mut io::sink());
    rest.map_err(|error| reason(&error))?;
    Ok(decoder.total_in())
}

/// The place of the next header, after an optional descriptor of the member.
fn after_descriptor(source: &mut dyn Source, at: u64) -> io::Result<u64> {
    source.seek(SeekFrom::Start(at))?;
    let mut next = Vec::new();
    source.take(28).read_to_end(&mut next)?;
    let header = SIGNATURE.to_le_bytes();
    // With a signature of its own or without, with sizes of four bytes or of eight.
    let marked = if next.starts_with(DESCRIPTOR_SIGNATURE) { 4 } else { 0 };
    let mut behind = [0, marked + 12, marked + 20].into_iter();
    let found = behind.find(|&behind| next.get(behind..).is_some_and(|next| next.starts_with(&header)));
    Ok(at + found.unwrap_or(0) as u64)
}
