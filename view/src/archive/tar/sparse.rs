//! Files with holes, as GNU tar writes them: a map of the pieces that have bytes, then their bytes.

use std::io::{self, Read};

use crate::budget::{Budget, fault};
use crate::outcome::Reason;

use super::header::{BLOCK_BYTES, number};

/// The most pieces of one file.
const PIECES_MAX: usize = 1 << 16;

/// The places where a file has bytes; holes are zeros.
pub(super) struct Sparse {
    /// Places and lengths, one after the other.
    pieces: Vec<(u64, u64)>,
    size: u64,
}

impl Sparse {
    /// Reads the map: what the header has of it, and the blocks that follow.
    pub(super) fn read(header: &[u8], stream: &mut impl Read) -> io::Result<Sparse> {
        let (map, rest) = header.split_at_checked(96).ok_or(io::ErrorKind::InvalidData)?;
        let (more, size) = rest.split_first().ok_or(io::ErrorKind::InvalidData)?;
        let size = number(size).ok_or(io::ErrorKind::InvalidData)?;
        let mut sparse = Sparse { pieces: Vec::new(), size };
        sparse.add(map)?;
        let mut more = *more;
        while more != 0 {
            let mut block = [0; BLOCK_BYTES];
            stream.read_exact(&mut block)?;
            sparse.add(&block[..504])?;
            more = block[504];
        }
        Ok(sparse)
    }

    /// Size of the file with its holes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The file, holes and all.
    pub(super) fn over<'s, R: Read>(&'s mut self, stream: &'s mut R, budget: &'s Budget) -> Filled<'s, R> {
        Filled { sparse: self, stream, budget, at: 0, piece: 0 }
    }

    fn add(&mut self, map: &[u8]) -> io::Result<()> {
        for piece in map.chunks_exact(24) {
            let (place, length) = piece.split_at(12);
            let number = |field| number(field).ok_or_else(|| fault(Reason::Damaged));
            let (place, length) = (number(place)?, number(length)?);
            let end = self.pieces.last().map_or(0, |&(place, length)| place + length);
            let fits = place.checked_add(length).is_some_and(|end| end <= self.size);
            if length == 0 {
                continue;
            }
            if place < end || !fits || self.pieces.len() == PIECES_MAX {
                return Err(fault(Reason::Damaged));
            }
            self.pieces.push((place, length));
        }
        Ok(())
    }
}

/// A sparse file as it is read.
pub(super) struct Filled<'s, R> {
    sparse: &'s Sparse,
    stream: &'s mut R,
    budget: &'s Budget,
    at: u64,
    piece: usize,
}

impl<R: Read> Read for Filled<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (place, length) = self.sparse.pieces.get(self.piece).copied().unwrap_or((self.sparse.size, 0));
        let hole = self.at < place;
        let until = if hole { place } else { place + length };
        let space = usize::try_from(until - self.at).unwrap_or(usize::MAX).min(buffer.len());
        if space == 0 {
            return Ok(0);
        }
        let read = if hole {
            // Holes take no bytes in the archive: they count as output of a decoder.
            self.budget.expand(space as u64).map_err(fault)?;
            buffer[..space].fill(0);
            space
        } else {
            match self.stream.read(&mut buffer[..space])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => read,
            }
        };
        self.at += read as u64;
        if self.at == place + length {
            self.piece += 1;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
