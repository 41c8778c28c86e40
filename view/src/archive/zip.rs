//! zip: by its directory, or, where that is missing, by what stands before each member.

mod directory;
mod local;
mod record;

use std::io::{self, BufReader, Read, SeekFrom};
use std::rc::Rc;

use flate2::bufread::DeflateDecoder;

use crate::budget::{Budget, Counted, Metered, fault, reason};
use crate::outcome::Reason;
use crate::source::Source;

use super::compressed::Zstd;
use super::{Content, Each};
use record::Member;

/// Visits the files of a zip archive; folders and links are none.
///
/// # Errors
/// Why it could not be read to its end; what was visited before stands.
pub(crate) fn zip(source: &mut dyn Source, budget: &Rc<Budget>, each: &mut Each<'_>) -> Result<(), Reason> {
    match directory::read(source, budget.members_left()) {
        Ok(members) => {
            members.iter().filter(|member| member.is_file()).try_for_each(|member| visit(source, member, budget, each))
        }
        // A directory that is missing or broken: what was cut off stands before it.
        Err(Reason::Damaged) => local::visit(source, budget, each).and(Err(Reason::Damaged)),
        Err(reason) => Err(reason),
    }
}

/// Visits a member that the directory names.
fn visit(source: &mut dyn Source, member: &Member, budget: &Rc<Budget>, each: &mut Each<'_>) -> Result<(), Reason> {
    if member.is_encrypted() {
        return each(&member.name, Content::Closed(Reason::Encrypted));
    }
    let start = match local::content_start(source, member.header_at) {
        Ok(start) => start,
        Err(error) => return each(&member.name, Content::Closed(reason(&error))),
    };
    if let Err(error) = source.seek(SeekFrom::Start(start)) {
        return each(&member.name, Content::Closed(reason(&error)));
    }
    let (stream, compressed) = Counted::new(source.take(member.compressed_bytes));
    let stream = BufReader::with_capacity(32 * 1024, stream);
    let decoder: Box<dyn Read> = match member.method {
        record::STORED => Box::new(stream),
        record::DEFLATED => Box::new(DeflateDecoder::new(stream)),
        record::BZIP2 => Box::new(bzip2::bufread::BzDecoder::new(stream)),
        record::ZSTD => Box::new(Zstd::new(stream, budget)),
        _ => return each(&member.name, Content::Closed(Reason::Unsupported)),
    };
    let metered = Metered::new(decoder, budget, compressed);
    let mut checked = Checked { inner: metered, sum: crc32fast::Hasher::new(), left: member.bytes, told: member.sum };
    each(&member.name, Content::Bytes(&mut checked, Some(member.bytes)))
}

/// Reads so many bytes, no more and no less, that have this checksum.
struct Checked<R> {
    inner: R,
    sum: crc32fast::Hasher,
    left: u64,
    told: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            let whole = self.left == 0 && self.sum.clone().finalize() == self.told;
            return if whole { Ok(0) } else { Err(fault(Reason::Damaged)) };
        }
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| fault(Reason::Damaged))?;
        self.sum.update(&buffer[..read]);
        Ok(read)
    }
}
