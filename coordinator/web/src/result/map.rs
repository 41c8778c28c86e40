//! The overlap map: a bar for each member of a cluster, with the parts that other members have, by the number of these
//! members.
//!
//! It needs only the positions and lengths of chunks, which is all that the coordinator knows of a content.

use std::collections::{HashMap, HashSet};

use cognate_fingerprint::{ContentDigest, Tag};
use cognate_proto::name::ScanId;

use cognate_desk::results::Results;
use cognate_server::Error;
use cognate_storage::indexes::Manifest;

/// Bars at most.
pub(super) const BARS_MAX: usize = 24;
/// Columns of a bar: more cannot be distinguished.
const COLUMNS: u64 = 600;
/// The kinds of colour: of a tenth of the members to all.
const SHADES: usize = 5;

/// The bars of some members.
pub(super) struct OverlapMap {
    pub(super) bars: Vec<MapBar>,
}

/// The bar of one member.
pub(super) struct MapBar {
    /// Its place among the members.
    pub(super) place: usize,
    pub(super) width: u64,
    pub(super) pieces: Vec<Piece>,
    /// Its bytes that another of the shown members has, and all.
    pub(super) shared_bytes: u64,
    pub(super) size_bytes: u64,
    /// True if its chunks are gone because a later sync replaced them.
    pub(super) is_gone: bool,
}

/// A run of equal columns.
pub(super) struct Piece {
    pub(super) x: u64,
    pub(super) width: u64,
    /// The number of shown members that have it, as a shade: 1 to [`SHADES`] from few to all.
    pub(super) shade: usize,
    /// The number of members that have it, at most, with this one.
    pub(super) members: usize,
}

impl OverlapMap {
    /// The map of these members, by their places and digests.
    pub(super) fn of(
        results: &Results,
        scan: ScanId,
        layer: usize,
        members: &[(usize, [u8; 16])],
    ) -> Result<OverlapMap, Error> {
        let members = &members[..members.len().min(BARS_MAX)];
        let digests: Vec<ContentDigest> = members.iter().map(|(_, digest)| ContentDigest(*digest)).collect();
        let manifests = results.manifests(scan, layer, &digests)?;
        let mut holders: HashMap<Tag, usize> = HashMap::new();
        for manifest in manifests.iter().flatten() {
            let own: HashSet<Tag> = manifest.placed().filter(|chunk| !chunk.3).map(|chunk| chunk.2).collect();
            own.into_iter().for_each(|tag| *holders.entry(tag).or_insert(0) += 1);
        }
        let largest = manifests.iter().flatten().map(|manifest| manifest.content.size_bytes).max().unwrap_or(1).max(1);
        let bars = members
            .iter()
            .zip(&manifests)
            .map(|((place, _), manifest)| match manifest {
                Some(manifest) => bar(*place, manifest, &holders, largest, members.len()),
                None => {
                    MapBar { place: *place, width: 0, pieces: vec![], shared_bytes: 0, size_bytes: 0, is_gone: true }
                }
            })
            .collect();
        Ok(OverlapMap { bars })
    }
}

fn bar(place: usize, manifest: &Manifest, holders: &HashMap<Tag, usize>, largest: u64, members: usize) -> MapBar {
    let size_bytes = manifest.content.size_bytes;
    let column =
        |bytes: u64| u64::try_from(u128::from(bytes) * u128::from(COLUMNS) / u128::from(largest)).unwrap_or(COLUMNS);
    let width = column(size_bytes).max(1);
    // For each column, the number of members that have most of it.
    let mut columns: Vec<(u64, usize)> = vec![(0, 1); usize::try_from(width).unwrap_or(1)];
    let mut shared_bytes = 0;
    for (offset, length_bytes, tag, is_repeated) in manifest.placed() {
        let count = if is_repeated { 1 } else { holders.get(&tag).copied().unwrap_or(1) };
        if count > 1 {
            shared_bytes += u64::from(length_bytes);
        }
        let (from, to) = (column(offset), column(offset + u64::from(length_bytes)).max(column(offset) + 1));
        for at in from..to.min(width) {
            if let Some(column) = usize::try_from(at).ok().and_then(|at| columns.get_mut(at))
                && u64::from(length_bytes) > column.0
            {
                *column = (u64::from(length_bytes), count);
            }
        }
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for (x, (_, count)) in (0..).zip(columns) {
        let shade = shade(count, members);
        match pieces.last_mut() {
            Some(last) if last.shade == shade => {
                last.width += 1;
                last.members = last.members.max(count);
            }
            _ => pieces.push(Piece { x, width: 1, shade, members: count }),
        }
    }
    pieces.retain(|piece| piece.shade > 0);
    MapBar { place, width, pieces, shared_bytes, size_bytes, is_gone: false }
}

/// 0: no other member has it; [`SHADES`]: all have it.
fn shade(count: usize, members: usize) -> usize {
    match count {
        0 | 1 => 0,
        all if all >= members => SHADES,
        some => (1 + (some - 2) * (SHADES - 1) / members.saturating_sub(2).max(1)).min(SHADES - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_members_have_a_piece_the_stronger_its_colour() {
        let shades: Vec<usize> = (1..=10).map(|count| shade(count, 10)).collect();
        assert_eq!(shades, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
        assert_eq!([1, 2].map(|count| shade(count, 2)), [0, 5]);
        assert_eq!([1, 2, 3].map(|count| shade(count, 3)), [0, 1, 5]);
    }
}
