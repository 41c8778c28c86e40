//! Standard text of large crowds, by the sketches of contents. Of three hundred mails with one disclaimer few pairs are measured, too few for
//! rows of fine chunks to be counted (`frames`). But each content has a sketch: a window of it that contents of many kinds have is *crowded*,
//! and a pair that agrees in crowded windows alone shares what the crowd has.
//!
//! As among frames, contents count of which crowded windows are less than four fifths, and at least half of the kinds that have a window must
//! be of such.

use cognate_fingerprint::ContentSketch;
use foldhash::{HashMap, HashMapExt as _, HashSet};

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
        let all = kinds_with(sketches, kinds, |_, window| windows.contains(window));
        let crowded = CrowdedWindows(windows.into_iter().filter(|window| all.get(window) >= Some(&least)).collect());
        let light =
            kinds_with(sketches, kinds, |sketch, window| crowded.0.contains(window) && crowded.is_light(sketch));
        let stays =
            |window: &Window| light.get(window).is_some_and(|light| *light >= least && 2 * light >= all[window]);
        CrowdedWindows(crowded.0.into_iter().filter(stays).collect())
    }

    /// True if less than four fifths of a content are windows of crowds.
    fn is_light(&self, sketch: &ContentSketch) -> bool {
        let all = sketch.slots().count() as u64;
        !is_most(sketch.slots().filter(|window| self.0.contains(window)).count() as u64, all)
    }
}

/// The number of kinds of contents that have each window which counts for them.
fn kinds_with(
    sketches: &[ContentSketch],
    kinds: &[u32],
    counts: impl Fn(&ContentSketch, &Window) -> bool,
) -> HashMap<Window, u32> {
    let with_kind = sketches.iter().zip(kinds);
    let windows = with_kind.flat_map(|(sketch, kind)| sketch.slots().map(move |window| (sketch, window, *kind)));
    let mut of_kinds: Vec<(Window, u32)> =
        windows.filter(|(sketch, window, _)| counts(sketch, window)).map(|(_, window, kind)| (window, kind)).collect();
    of_kinds.sort_unstable();
    of_kinds.dedup();
    let mut counted = HashMap::new();
    of_kinds.into_iter().for_each(|(window, _)| *counted.entry(window).or_default() += 1);
    counted
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
    fn windows_are_crowded_if_light_contents_of_eight_kinds_have_them_and_they_are_half_of_all() {
        let apart: Vec<u32> = (0..20).collect();
        assert_eq!(crowded(&[6; 8], &apart), 6);
        assert_eq!(crowded(&[6; 7], &apart), 0, "seven kinds are too few");
        assert_eq!(crowded(&[6; 8], &[0, 0, 2, 3, 4, 5, 6, 7]), 0, "versions count once");
        assert_eq!(crowded(&[13; 9], &apart), 0, "what is most of all documents is what they are about");
        assert_eq!(crowded(&[[6; 8], [16; 8]].concat(), &apart), 6);
        assert_eq!(crowded(&[&[6; 8][..], &[16; 9]].concat(), &apart), 0, "most that have it consist of it");
    }
}
