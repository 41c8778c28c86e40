//! The paths of a frozen set, one after the other in one list: a path for itself would take twice its bytes of memory.

use cognate_proto::limits::PATH_BYTES_MAX;
use cognate_proto::path::DocumentPath;

/// Bits of a place for the length of its path.
const LENGTH_BITS: u32 = (PATH_BYTES_MAX as u64).ilog2() + 1;

/// The bytes of many paths.
#[derive(Default)]
pub(crate) struct Paths {
    bytes: Vec<u8>,
}

/// The place of a path among others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathPlace(u64);

impl Paths {
    /// Adds a path.
    pub(crate) fn add(&mut self, path: &DocumentPath) -> PathPlace {
        let begin = self.bytes.len() as u64;
        self.bytes.extend_from_slice(path.as_bytes());
        PathPlace(begin << LENGTH_BITS | path.as_bytes().len() as u64)
    }

    /// The bytes of a path.
    pub(crate) fn get(&self, PathPlace(place): PathPlace) -> &[u8] {
        let number = |number: u64| usize::try_from(number).expect("the paths are in memory");
        let (begin, length) = (number(place >> LENGTH_BITS), number(place & ((1 << LENGTH_BITS) - 1)));
        &self.bytes[begin..begin + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_length_is_found_at_its_place() {
        let mut paths = Paths::default();
        let added: Vec<_> =
            [1, 7, PATH_BYTES_MAX, 255, 2].map(|length| DocumentPath::new(&vec![b'p'; length]).unwrap()).to_vec();
        let places: Vec<PathPlace> = added.iter().map(|path| paths.add(path)).collect();
        for (path, place) in added.iter().zip(places) {
            assert_eq!(paths.get(place), path.as_bytes());
        }
    }
}
