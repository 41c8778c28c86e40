//! The definition of candidates, pair by pair.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use cognate_fingerprint::{SKETCH_SLOTS, Tag};

use super::trees::{Facts, Tree};

type Pair = (u32, u32);
/// A pair with the bytes that it shares, the most first.
type Strength = (Reverse<u64>, Pair);

/// The candidates by their kinds.
#[derive(Default)]
pub(super) struct ProposedPairs {
    /// By path or name.
    pub(super) placed: Vec<Pair>,
    /// By given folders.
    pub(super) aligned: Vec<Pair>,
    /// Links by whole chunks that the bound takes.
    pub(super) linked: Vec<Pair>,
    /// Pairs near a link that the bound takes.
    pub(super) near: Vec<Pair>,
    /// By their sketches.
    pub(super) agreeing: Vec<Pair>,
    /// Pairs that share chunks and that the bound leaves out.
    pub(super) cut_sharing: Vec<Pair>,
    /// Pairs whose sketches agree and that neither content takes.
    pub(super) cut_agreeing: Vec<Pair>,
    /// The bytes that each pair shares by whole chunks, of all pairs that would count as links.
    pub(super) coarse: BTreeMap<Pair, u64>,
}

impl ProposedPairs {
    /// All candidates.
    pub(super) fn candidates(&self) -> BTreeSet<Pair> {
        [&self.placed, &self.aligned, &self.linked, &self.near, &self.agreeing].into_iter().flatten().copied().collect()
    }

    /// Adds what is counted over all instances.
    pub(super) fn add(&mut self, other: ProposedPairs) {
        self.placed.extend(other.placed);
        self.aligned.extend(other.aligned);
        self.linked.extend(other.linked);
        self.near.extend(other.near);
        self.agreeing.extend(other.agreeing);
        self.cut_sharing.extend(other.cut_sharing);
        self.cut_agreeing.extend(other.cut_agreeing);
    }
}

/// The chunks of a content that are evidence, each with the number of times.
pub(super) fn counts(facts: &Facts) -> BTreeMap<(Tag, u32), u64> {
    let mut counts = BTreeMap::new();
    for chunk in facts.chunks.iter().filter(|chunk| !chunk.repeated_byte) {
        *counts.entry((chunk.tag, chunk.length_bytes)).or_default() += 1;
    }
    counts
}

/// The size of a content without chunks of one repeated byte.
pub(super) fn payload(facts: &Facts) -> u64 {
    counts(facts).iter().map(|((_, length), count)| u64::from(*length) * count).sum()
}

impl Tree {
    /// True if a link of the two would count.
    fn counts(&self, a: &Facts, b: &Facts) -> bool {
        let several_parties = self.repositories.iter().any(|one| one.party != self.repositories[0].party);
        let label = |(root, _): &(usize, String)| match several_parties {
            true => self.repositories[*root].party.to_string(),
            false => self.repositories[*root].site.to_string(),
        };
        let labels: BTreeSet<String> = a.documents.iter().chain(&b.documents).map(label).collect();
        !self.options.across_only || labels.len() > 1
    }

    /// True if a pair is a link by these bytes.
    pub(super) fn is_link(&self, shared: u64, smaller: u64) -> bool {
        let (numerator, denominator) = self.containment;
        shared > 0 && (shared >= self.min_shared_bytes || shared * denominator >= smaller * numerator)
    }
}

pub(super) fn proposed(tree: &Tree, contents: &[Facts]) -> ProposedPairs {
    let mut proposed = ProposedPairs::default();
    let counts: Vec<_> = contents.iter().map(counts).collect();
    let payloads: Vec<u64> = contents.iter().map(payload).collect();
    let of = |content: u32| &contents[content as usize];
    let (mut links, mut near): (Vec<Strength>, Vec<Strength>) = (Vec::new(), Vec::new());
    let pairs = || {
        let numbers = 0..u32::try_from(contents.len()).unwrap();
        let all = numbers.clone().flat_map(move |a| numbers.clone().map(move |b| (a, b)));
        let compared = |content: u32| payloads[content as usize] > 0;
        all.filter(move |(a, b)| a < b && compared(*a) && compared(*b) && tree.counts(of(*a), of(*b)))
    };
    for (a, b) in pairs() {
        let (x, y) = (&counts[a as usize], &counts[b as usize]);
        let holders = |chunk: &(Tag, u32)| counts.iter().filter(|counts| counts.contains_key(chunk)).count();
        let (mut shared, mut rare) = (0, 0);
        for (chunk, count) in x {
            let bytes = u64::from(chunk.1) * count.min(y.get(chunk).unwrap_or(&0));
            shared += bytes;
            rare += if bytes > 0 && holders(chunk) <= 16 { bytes } else { 0 };
        }
        proposed.coarse.insert((a, b), shared);
        let smaller = payloads[a as usize].min(payloads[b as usize]);
        let (numerator, denominator) = tree.containment;
        if tree.is_link(shared, smaller) {
            links.push((Reverse(shared), (a, b)));
        } else if rare > 0 && rare * 10 * denominator >= smaller * numerator {
            near.push((Reverse(rare), (a, b)));
        }
    }
    links.sort_unstable();
    near.sort_unstable();
    share_out(&mut proposed, &payloads, &links, &near);
    proposed.placed = placed(tree, contents, &pairs().collect());
    proposed.aligned = aligned(tree, contents, &pairs().collect());
    let known: BTreeSet<Pair> =
        proposed.candidates().into_iter().chain(links.iter().chain(&near).map(|(_, pair)| *pair)).collect();
    let is_placed: BTreeSet<Pair> = proposed.placed.iter().chain(&proposed.aligned).copied().collect();
    proposed.cut_sharing.retain(|pair| !is_placed.contains(pair));
    let seeks = seeking(tree, contents, &known);
    let sought = |(a, b): &Pair| seeks.contains(a) || seeks.contains(b);
    let unknown: Vec<Pair> = pairs().filter(|pair| !known.contains(pair) && sought(pair)).collect();
    agree(&mut proposed, contents, &unknown, &payloads);
    proposed
}

/// Takes links and then the pairs near them as long as one content of a pair has fewer than four.
fn share_out(proposed: &mut ProposedPairs, payloads: &[u64], links: &[Strength], near: &[Strength]) {
    let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
    let kinds = links.iter().map(|link| (true, link)).chain(near.iter().map(|near| (false, near)));
    for (is_link, (Reverse(shared), (a, b))) in kinds {
        if payloads[*a as usize] == *shared && payloads[*b as usize] == *shared {
            continue;
        }
        let count = |content: &u32| taken.get(content).copied().unwrap_or(0);
        if count(a).min(count(b)) >= 4 {
            proposed.cut_sharing.push((*a, *b));
            continue;
        }
        *taken.entry(*a).or_default() += 1;
        *taken.entry(*b).or_default() += 1;
        let of_kind = if is_link { &mut proposed.linked } else { &mut proposed.near };
        of_kind.push((*a, *b));
    }
}

/// Pairs of one path, or of one name that is rare, in two repositories.
fn placed(tree: &Tree, contents: &[Facts], pairs: &BTreeSet<Pair>) -> Vec<Pair> {
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let all = || {
        let numbered = contents.iter().zip(0_u32..).filter(|(facts, _)| payload(facts) > 0);
        numbered.flat_map(|(facts, number)| facts.documents.iter().map(move |(root, path)| (*root, path, number)))
    };
    let mut places: Vec<Vec<(usize, u32)>> = Vec::new();
    let paths: BTreeSet<&String> = all().map(|(_, path, _)| path).collect();
    for path in &paths {
        places.push(all().filter(|(_, other, _)| other == path).map(|(root, _, number)| (root, number)).collect());
    }
    let names: BTreeSet<String> = paths.iter().map(|path| name(path)).collect();
    for one in names {
        let with_name = all().filter(|(_, path, _)| name(path) == one);
        let with_name: Vec<(usize, u32)> = with_name.map(|(root, _, number)| (root, number)).collect();
        let of_root = |root: usize| with_name.iter().filter(|(other, _)| *other == root).count();
        if with_name.len() <= 16 && (0..tree.repositories.len()).all(|root| of_root(root) <= 4) {
            places.push(with_name);
        }
    }
    let mut found = BTreeSet::new();
    for place in places {
        for (root, a) in &place {
            let others = place.iter().filter(|(other, _)| other != root);
            found.extend(others.map(|(_, b)| (*a.min(b), *a.max(b))).filter(|pair| pairs.contains(pair)));
        }
    }
    found.into_iter().collect()
}

/// Pairs at one place by the given folders: the deepest pair of folders first, each document once, and equal paths last.
fn aligned(tree: &Tree, contents: &[Facts], pairs: &BTreeSet<Pair>) -> Vec<Pair> {
    if tree.aligned.is_empty() {
        return Vec::new();
    }
    let content_at = |root: usize, path: &str| {
        let has = |facts: &Facts| facts.documents.iter().any(|(other, own)| *other == root && own == path);
        u32::try_from(contents.iter().position(has).unwrap()).unwrap()
    };
    let depth = |folders: &&[String; 2]| folders.iter().map(|folder| folder.split('/').count()).sum::<usize>();
    let mut folders: Vec<&[String; 2]> = tree.aligned.iter().collect();
    folders.sort_by_key(|folders| (Reverse(depth(folders)), *folders));
    let [first, second] = [0, 1].map(|root| &tree.repositories[root].documents);
    let mut matched: Vec<(&String, &String)> = Vec::new();
    let equal = ["".to_owned(), "".to_owned()];
    for [a, b] in folders.into_iter().chain([&equal]) {
        for path in first.keys() {
            let below = if a.is_empty() { Some(path.as_str()) } else { path.strip_prefix(&format!("{a}/")) };
            let opposite = below.map(|rest| if b.is_empty() { rest.to_owned() } else { format!("{b}/{rest}") });
            let Some((other, _)) = opposite.and_then(|opposite| second.get_key_value(&opposite)) else { continue };
            if !matched.iter().any(|(one, two)| *one == path || *two == other) {
                matched.push((path, other));
            }
        }
    }
    let numbers = matched.into_iter().map(|(a, b)| (content_at(0, a), content_at(1, b)));
    let found: BTreeSet<Pair> =
        numbers.map(|(a, b)| (a.min(b), a.max(b))).filter(|pair| pairs.contains(pair)).collect();
    found.into_iter().collect()
}

/// The contents without a copy in another repository, and without a known partner there with whom half of their slots agree.
fn seeking(tree: &Tree, contents: &[Facts], known: &BTreeSet<Pair>) -> BTreeSet<u32> {
    let is_control = |path: &str| {
        !tree.options.control.is_empty() && path.rsplit('/').next().is_some_and(|name| name.starts_with("control-"))
    };
    let roots = |content: u32| -> BTreeSet<usize> {
        let documents = contents[content as usize].documents.iter();
        documents.filter(|(_, path)| !is_control(path)).map(|(root, _)| *root).collect()
    };
    let several = tree.repositories.len() > 1;
    let filled = |content: u32| {
        let value = |slot: &usize| contents[content as usize].content.sketch.value(*slot);
        (0..SKETCH_SLOTS).filter(|slot| value(slot).is_some()).count()
    };
    let equal = |a: u32, b: u32| {
        let value = |content: u32, slot| contents[content as usize].content.sketch.value(slot);
        (0..SKETCH_SLOTS).filter(|slot| value(a, *slot).is_some() && value(a, *slot) == value(b, *slot)).count()
    };
    let has_partner = |content: u32| {
        let partners = known.iter().filter(|(a, b)| *a == content || *b == content);
        let mut partners = partners.map(|(a, b)| if *a == content { *b } else { *a });
        partners
            .any(|other| (!several || roots(content) != roots(other)) && 2 * equal(content, other) >= filled(content))
    };
    let has_copy = |content: u32| several && roots(content).len() > 1;
    let all = 0..u32::try_from(contents.len()).unwrap();
    all.filter(|content| !has_copy(*content) && !has_partner(*content)).collect()
}

/// Pairs whose sketches agree enough, of which one content has the other among its first eight. A slot counts for the more, the fewer
/// contents have its value.
fn agree(proposed: &mut ProposedPairs, contents: &[Facts], pairs: &[Pair], payloads: &[u64]) {
    let value = |content: u32, slot: usize| contents[content as usize].content.sketch.value(slot);
    let compared = |content: &u32| payloads[*content as usize] > 0;
    let holders = |slot: usize, wanted: Option<u32>| {
        let all = (0..u32::try_from(contents.len()).unwrap()).filter(compared);
        all.filter(|content| value(*content, slot) == wanted).count()
    };
    let agreement = |(a, b): Pair| {
        let slots = (0..SKETCH_SLOTS).filter(|slot| value(a, *slot).is_some() && value(a, *slot) == value(b, *slot));
        slots.map(|slot| 64 / holders(slot, value(a, slot))).sum::<usize>()
    };
    let all = pairs.iter().map(|pair| (*pair, agreement(*pair)));
    let agreeing: Vec<(Pair, usize)> = all.filter(|(_, agreement)| *agreement >= 8).collect();
    for (pair, agreement) in &agreeing {
        let is_taken_by = |content: u32, other: u32| {
            let before = agreeing.iter().filter(|((a, b), of_pair)| {
                let third = if *a == content { *b } else { *a };
                (*a == content || *b == content) && (Reverse(*of_pair), third) < (Reverse(*agreement), other)
            });
            before.count() < 8
        };
        match is_taken_by(pair.0, pair.1) || is_taken_by(pair.1, pair.0) {
            true => proposed.agreeing.push(*pair),
            false => proposed.cut_agreeing.push(*pair),
        }
    }
}
