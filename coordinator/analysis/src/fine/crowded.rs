//! Standard text of large crowds, by the sketches of contents. Of three hundred mails with one disclaimer few pairs are measured, too few for
//! rows of fine chunks to be counted (`frames`). But each content has a sketch: a window of it that contents of many kinds have is *crowded*,
//! and a pair that agrees in crowded windows alone shares what the crowd has.
//!
//! As among frames, what is most of a document is what it is about: only contents count of which crowded windows are less than four fifths.

use cognate_fingerprint::ContentSketch;
use foldhash::HashSet;

use super::frames::kinds_min;
use super::outside::OutsideLink;
use super::pair::Pair;
use crate::compare::Task;
use crate::kinds::is_most;

/// The fewest windows in common that say what two contents share.
const COMMON_WINDOWS_MIN: usize = 3;

/// A slot of sketches with a value.
type Window = (usize, u32);

/// The windows that contents of many kinds have.
struct CrowdedWindows(HashSet<Window>);

impl Task<'_> {
    /// Those of some links between contents of two kinds, with their bytes, that share the text of a crowd alone.
    pub(super) fn links_of_crowds(&self, links: &[(Pair, u64)], kinds: &[u32]) -> Vec<OutsideLink> {
        let sketches = &self.subject.frozen.sketches;
        let crowded = CrowdedWindows::of(sketches, links, kinds);
        let rests = |((a, b), shared_bytes): &(Pair, u64)| {
            let [of_a, of_b] = [a, b].map(|content| &sketches[*content as usize]);
            if !(crowded.is_light(of_a) && crowded.is_light(of_b)) {
                return None;
            }
            let common = of_a.slots().filter(|(slot, value)| of_b.value(*slot) == Some(*value));
            let (of_crowds, own): (Vec<Window>, Vec<Window>) = common.partition(|window| crowded.0.contains(window));
            let windows = of_crowds.len() + own.len();
            if of_crowds.is_empty() || windows < COMMON_WINDOWS_MIN {
                return None;
            }
            let outside = shared_bytes * own.len() as u64 / windows as u64;
            let own_bytes = [a, b].map(|content| self.weight(*content).saturating_sub(shared_bytes - outside));
            let is_link = self.is_link(outside, own_bytes[0].min(own_bytes[1]));
            (!is_link).then_some(OutsideLink { a: *a, b: *b, shared_bytes: outside, own_bytes, rests_on_frame: true })
        };
        links.iter().filter_map(rests).collect()
    }
}

impl CrowdedWindows {
    /// Among the windows of the contents of links. Memory is linear in the contents that have these.
    fn of(sketches: &[ContentSketch], links: &[(Pair, u64)], kinds: &[u32]) -> CrowdedWindows {
        let contents = links.iter().flat_map(|((a, b), _)| [*a, *b]);
        let windows: HashSet<Window> = contents.flat_map(|content| sketches[content as usize].slots()).collect();
        if windows.is_empty() {
            return CrowdedWindows(windows);
        }
        let with_sketch = sketches.iter().filter(|sketch| **sketch != ContentSketch::NONE).count();
        let least = kinds_min(with_sketch);
        let with_kind = sketches.iter().zip(kinds);
        let all = with_kind.flat_map(|(sketch, kind)| sketch.slots().map(move |window| (window, *kind)));
        let mut of_kinds: Vec<(Window, u32)> = all.filter(|(window, _)| windows.contains(window)).collect();
        of_kinds.sort_unstable();
        of_kinds.dedup();
        let of_windows = of_kinds.chunk_by(|a, b| a.0 == b.0);
        CrowdedWindows(of_windows.filter(|kinds| kinds.len() >= least as usize).map(|kinds| kinds[0].0).collect())
    }

    /// True if less than four fifths of a content are windows of crowds.
    fn is_light(&self, sketch: &ContentSketch) -> bool {
        let all = sketch.slots().count() as u64;
        !is_most(sketch.slots().filter(|window| self.0.contains(window)).count() as u64, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sketches whose first windows are those of a crowd, and whose others are their own.
    fn sketches(of_crowd: &[usize]) -> Vec<ContentSketch> {
        let sketch = |(number, of_crowd): (u32, &usize)| {
            let value = |slot: usize| if slot < *of_crowd { 1 } else { 100 + number };
            ContentSketch::new(u16::MAX, (0..16).map(value)).unwrap()
        };
        (0..).zip(of_crowd).map(sketch).collect()
    }

    fn crowded(of_crowd: &[usize], kinds: &[u32]) -> usize {
        CrowdedWindows::of(&sketches(of_crowd), &[((0, 1), 9)], kinds).0.len()
    }

    #[test]
    fn windows_are_crowded_if_contents_of_eight_kinds_have_them_and_versions_count_once() {
        let apart: Vec<u32> = (0..20).collect();
        assert_eq!(crowded(&[6; 8], &apart), 6);
        assert_eq!(crowded(&[6; 7], &apart), 0, "seven kinds are too few");
        assert_eq!(crowded(&[6; 8], &[0, 0, 2, 3, 4, 5, 6, 7]), 0);
    }

    #[test]
    fn what_is_most_of_a_content_is_no_standard_text_of_it() {
        let (sketches, kinds): (_, Vec<u32>) = (sketches(&[6, 12, 13, 16, 6, 6, 6, 6]), (0..8).collect());
        let windows = CrowdedWindows::of(&sketches, &[((0, 1), 9), ((2, 3), 9)], &kinds);
        let is_light: Vec<bool> = sketches[..4].iter().map(|sketch| windows.is_light(sketch)).collect();
        // Of the others, no more than six windows are those of eight contents.
        assert_eq!((windows.0.len(), is_light), (6, vec![true; 4]));
        let windows = CrowdedWindows((0..16).map(|slot| (slot, 1)).collect());
        let is_light: Vec<bool> = sketches[..4].iter().map(|sketch| windows.is_light(sketch)).collect();
        assert_eq!(is_light, [true, true, false, false]);
    }
}
