//! tar: one header after the other, read as a stream.

mod header;
mod sparse;

use std::io::{self, Read};

use crate::budget::{Budget, fault, reason};
use crate::outcome::Reason;

use super::compressed::skip;
use super::member::{MemberContent, VisitMember};
use header::{BLOCK_BYTES, Header, padding};
use sparse::Sparse;

/// The longest name, and the longest extended header, that is taken in.
const EXTENSION_BYTES_MAX: u64 = 1 << 20;

/// Visits the files of a tar archive; folders, links and devices are none.
///
/// # Errors
/// The reason why it could not be read to its end; the visits before remain valid.
pub(crate) fn tar(stream: &mut dyn Read, budget: &Budget, each: &mut VisitMember<'_>) -> Result<(), Reason> {
    let failed = |error: io::Error| reason(&error);
    let mut extension = Extension::default();
    let mut block = [0; BLOCK_BYTES];
    while read_block(stream, &mut block).map_err(failed)? {
        // Two blocks of zeros end an archive. A single one ends it as well.
        if block.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        // Headers without content cost time as well.
        budget.work(1024)?;
        let header = Header::parse(&block).ok_or(Reason::Damaged)?;
        let size = extension.size.unwrap_or(header.size);
        match header.kind {
            b'L' => extension.name = Some(long_name(stream, size).map_err(failed)?),
            b'K' | b'g' => pass(stream, size).map_err(failed)?,
            b'x' => extension.read(&read_extension(stream, size).map_err(failed)?),
            kind => {
                let extension = std::mem::take(&mut extension);
                let name = extension.name.unwrap_or(header.name);
                let mut entry = Entry { stream, left: size, short: false };
                match kind {
                    0 | b'0' | b'7' if name.ends_with('/') => {}
                    0 | b'0' | b'7' if extension.sparse => each(&name, MemberContent::Closed(Reason::Unsupported))?,
                    0 | b'0' | b'7' => each(&name, MemberContent::Bytes(&mut entry, Some(size)))?,
                    b'S' => match Sparse::read(&header.sparse, &mut entry) {
                        Ok(mut sparse) => {
                            let size = sparse.size();
                            each(&name, MemberContent::Bytes(&mut sparse.over(&mut entry, budget), Some(size)))?;
                        }
                        Err(error) => each(&name, MemberContent::Closed(reason(&error)))?,
                    },
                    // Links, devices, pipes, folders, and types that other programs define.
                    _ => {}
                }
                let left = entry.left;
                skip(stream, left.saturating_add(padding(size))).map_err(failed)?;
            }
        }
    }
    // Programs that write no end are not rare; nothing is missing.
    Ok(())
}

/// Reads a header; false at the end of the stream. An incomplete header is damage.
fn read_block(stream: &mut dyn Read, block: &mut [u8; BLOCK_BYTES]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < BLOCK_BYTES {
        match stream.read(&mut block[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The facts of extended headers about the next file.
#[derive(Default)]
struct Extension {
    name: Option<String>,
    size: Option<u64>,
    sparse: bool,
}

impl Extension {
    /// Reads the records of a pax header: `LENGTH KEY=VALUE\n`.
    fn read(&mut self, records: &[u8]) {
        let mut rest = records;
        while let Some((record, later)) = next_record(rest) {
            rest = later;
            let Some(equals) = record.iter().position(|&byte| byte == b'=') else { return };
            let value = String::from_utf8_lossy(&record[equals + 1..]);
            match &record[..equals] {
                b"path" if !self.sparse => self.name = Some(value.into_owned()),
                b"GNU.sparse.name" => self.name = Some(value.into_owned()),
                b"size" => self.size = value.parse().ok(),
                b"GNU.sparse.major" | b"GNU.sparse.map" | b"GNU.sparse.size" => self.sparse = true,
                _ => {}
            }
        }
    }
}

fn next_record(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = records.iter().position(|&byte| byte == b' ')?;
    let length: usize = str::from_utf8(&records[..space]).ok()?.parse().ok()?;
    let record = records.get(space + 1..length)?.strip_suffix(b"\n")?;
    Some((record, &records[length..]))
}

fn long_name(stream: &mut dyn Read, size: u64) -> io::Result<String> {
    let name = read_extension(stream, size)?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

fn read_extension(stream: &mut dyn Read, size: u64) -> io::Result<Vec<u8>> {
    if size > EXTENSION_BYTES_MAX {
        return Err(fault(Reason::TooLarge));
    }
    let mut bytes = Vec::new();
    (&mut *stream).take(size).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    skip(stream, padding(size))?;
    Ok(bytes)
}

fn pass(stream: &mut dyn Read, size: u64) -> io::Result<()> {
    skip(stream, size.saturating_add(padding(size)))
}

/// The content of a file of the archive. It ends before its size only with an error.
struct Entry<'s> {
    stream: &'s mut dyn Read,
    left: u64,
    short: bool,
}

impl Read for Entry<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.stream.read(&mut buffer[..wanted])?;
        if read == 0 {
            self.short = true;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
