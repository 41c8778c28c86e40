//! The figures and places of a pair, as the scan measured it: with fine chunks where it did, else by whole chunks, with the
//! reason.

use cognate_fingerprint::Tag;
use cognate_proto::options::Precision;

use super::{FineChunks, FineMap, Map};

/// Two documents measured as their scan measures pairs.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The common parts.
    pub map: Map,
    /// The precision of the figures; none where the method has no fine chunks.
    pub precision: Option<Precision>,
    /// The reason why they are coarse, one line for people; empty if they are fine.
    pub coarse_reason: String,
    /// Bytes in common whose places are not known any more.
    pub unplaced_bytes: u64,
}

/// The facts about a pair by which its figures are chosen.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The precision of the scan under this view; none where the method has no fine chunks.
    pub precision: Option<Precision>,
    /// The bytes in common of the link between the two, if the report has one.
    pub linked_bytes: Option<u64>,
    /// True if the fine chunks are all that the scan had.
    pub has_all_of_scan: bool,
}

impl Measured {
    /// Chooses among the figures by whole chunks and those by `fine` chunks: those of the report, if it has a link between the two.
    ///
    /// # Errors
    /// The error of `fine`.
    pub fn of<E>(
        coarse: Map,
        asked: Asked,
        fine: &mut dyn FnMut(&Tag) -> Result<FineChunks, E>,
    ) -> Result<Measured, E> {
        match asked.precision {
            None => Ok(Measured::with(coarse, None, String::new())),
            Some(Precision::Coarse) => Ok(Measured::coarse(coarse, "the scan compared whole chunks alone".to_owned())),
            Some(Precision::Fine) => Ok(Measured::chosen(&coarse, coarse.finely(fine)?, asked)),
        }
    }

    fn chosen(coarse: &Map, FineMap { map, closely, unknown_chunks }: FineMap, asked: Asked) -> Measured {
        let by_chunks = || coarse.clone();
        let unknown = || {
            let chunks = if unknown_chunks == 1 { "chunk" } else { "chunks" };
            format!("the fine chunks of {unknown_chunks} {chunks} that they do not share are not known")
        };
        let Some(linked_bytes) = asked.linked_bytes else {
            return match unknown_chunks {
                0 => Measured::with(map, Some(Precision::Fine), String::new()),
                _ => Measured::coarse(by_chunks(), unknown()),
            };
        };
        // The scan measures closely what would be no link otherwise.
        let map = if map.measure.shared_bytes < linked_bytes { closely.unwrap_or(map) } else { map };
        let by_fine = map.measure.shared_bytes;
        if linked_bytes == by_fine {
            return match unknown_chunks {
                0 => Measured::with(map, Some(Precision::Fine), String::new()),
                _ => Measured::coarse(map, unknown()),
            };
        }
        if linked_bytes == coarse.measure.shared_bytes {
            let reason = match asked.has_all_of_scan {
                true => {
                    "the scan did not measure this pair by fine chunks: both have closer relatives, or more than 1 GiB is left of one"
                }
                false => "the scan did not measure this pair by fine chunks",
            };
            return Measured::coarse(by_chunks(), reason.to_owned());
        }
        // The scan measured it, and a later one took over a part of its fine chunks.
        let (map, by_places) =
            if by_fine < linked_bytes { (map, by_fine) } else { (by_chunks(), coarse.measure.shared_bytes) };
        Measured {
            unplaced_bytes: linked_bytes.saturating_sub(by_places),
            ..Measured::with(map, Some(Precision::Fine), String::new())
        }
    }

    fn coarse(map: Map, reason: String) -> Measured {
        Measured::with(map, Some(Precision::Coarse), reason)
    }

    fn with(map: Map, precision: Option<Precision>, coarse_reason: String) -> Measured {
        Measured { map, precision, coarse_reason, unplaced_bytes: 0 }
    }
}

#[cfg(test)]
mod tests {
    use cognate_similarity::PairMeasure;

    use super::*;

    /// A map with these bytes in common.
    fn map(shared_bytes: u64) -> Map {
        let map = Map::of(&[], &[]);
        Map { measure: PairMeasure { shared_bytes, a_payload_bytes: 900, b_payload_bytes: 900 }, ..map }
    }

    /// The figure of a pair with 100 bytes by whole chunks, 500 by fine chunks and 600 closely, its precision, and bytes without a place.
    fn chosen(linked_bytes: Option<u64>, unknown_chunks: u64) -> (u64, Precision, u64) {
        let asked = Asked { precision: Some(Precision::Fine), linked_bytes, has_all_of_scan: true };
        let found =
            Measured::chosen(&map(100), FineMap { map: map(500), closely: Some(map(600)), unknown_chunks }, asked);
        assert_eq!(found.coarse_reason.is_empty(), found.precision == Some(Precision::Fine));
        (found.map.measure.shared_bytes, found.precision.unwrap(), found.unplaced_bytes)
    }

    #[test]
    fn the_figure_of_a_link_is_that_of_the_report() {
        assert_eq!(chosen(Some(500), 0), (500, Precision::Fine, 0));
        // It was measured closely.
        assert_eq!(chosen(Some(600), 0), (600, Precision::Fine, 0));
        // Of a chunk that was not cut again, the report counts nothing more either.
        assert_eq!(chosen(Some(500), 2), (500, Precision::Coarse, 0));
        // It was no candidate.
        assert_eq!(chosen(Some(100), 0), (100, Precision::Coarse, 0));
        // Fine chunks of the scan are gone.
        assert_eq!(chosen(Some(700), 2), (600, Precision::Fine, 100));
        assert_eq!(chosen(Some(300), 0), (100, Precision::Fine, 200));
    }

    #[test]
    fn a_pair_without_a_link_is_fine_if_all_its_fine_chunks_are_known() {
        assert_eq!(chosen(None, 0), (500, Precision::Fine, 0));
        assert_eq!(chosen(None, 1), (100, Precision::Coarse, 0));
    }

    #[test]
    fn a_coarse_scan_needs_no_fine_chunks() {
        for (precision, expected) in [(None, None), (Some(Precision::Coarse), Some(Precision::Coarse))] {
            let asked = Asked { precision, linked_bytes: Some(100), has_all_of_scan: true };
            let mut never =
                |_: &Tag| -> Result<FineChunks, std::convert::Infallible> { panic!("they are not asked for") };
            let found = Measured::of(map(100), asked, &mut never).unwrap();
            assert_eq!((found.precision, found.map.measure.shared_bytes), (expected, 100));
        }
    }
}
