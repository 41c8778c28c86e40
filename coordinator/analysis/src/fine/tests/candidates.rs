//! The definition of candidates, pair by pair.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use cognate_fingerprint::Tag;

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
    /// Pairs near a link that the bound takes, whose samples are too small to say anything.
    pub(super) near: Vec<Pair>,
    /// By their samples.
    pub(super) sampled: Vec<Pair>,
    /// Pairs of which nothing is left.
    complete: BTreeSet<Pair>,
    /// Pairs that share chunks and that the bound leaves out.
    pub(super) cut_sharing: Vec<Pair>,
    /// Pairs of a place that are no links, whose samples say that they share too little.
    pub(super) refuted: BTreeSet<Pair>,
    /// For each content the number of what may be its relatives where it has no place for them.
    pub(super) cut_sampled: usize,
    /// The bytes that each pair shares by whole chunks, of all pairs that would count as links.
    pub(super) coarse: BTreeMap<Pair, u64>,
}

impl ProposedPairs {
    /// All candidates.
    pub(super) fn candidates(&self) -> BTreeSet<Pair> {
        let placed = self.placed.iter().chain(&self.aligned).filter(|pair| !self.refuted.contains(pair));
        placed.chain([&self.linked, &self.near, &self.sampled].into_iter().flatten()).copied().collect()
    }

    /// Adds what is counted over all instances.
    pub(super) fn add(&mut self, other: ProposedPairs) {
        self.placed.extend(other.placed);
        self.aligned.extend(other.aligned);
        self.linked.extend(other.linked);
        self.near.extend(other.near);
        self.sampled.extend(other.sampled);
        self.refuted.extend(other.refuted);
        self.cut_sharing.extend(other.cut_sharing);
        self.cut_sampled += other.cut_sampled;
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
    let links: BTreeSet<Pair> = links.iter().map(|(_, pair)| *pair).collect();
    sample(&mut proposed, tree, contents, &pairs().collect());
    proposed.refuted.retain(|pair| !links.contains(pair));
    let candidates = proposed.candidates();
    proposed.cut_sharing.retain(|pair| !candidates.contains(pair));
    proposed
}

/// Takes links and then the pairs near them as long as one content of a pair has fewer than four.
fn share_out(proposed: &mut ProposedPairs, payloads: &[u64], links: &[Strength], near: &[Strength]) {
    let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
    let kinds = links.iter().map(|link| (true, link)).chain(near.iter().map(|near| (false, near)));
    for (is_link, (Reverse(shared), (a, b))) in kinds {
        if payloads[*a as usize] == *shared && payloads[*b as usize] == *shared {
            proposed.complete.insert((*a, *b));
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

/// Adds the pairs that the samples propose and those that they refute. Two samples are compared at the level of the sparser one.
fn sample(proposed: &mut ProposedPairs, tree: &Tree, contents: &[Facts], pairs: &BTreeSet<Pair>) {
    let roots = |content: u32| roots(tree, &contents[content as usize]);
    let numbers = || 0..u32::try_from(contents.len()).unwrap();
    let values: Vec<BTreeSet<u64>> = contents
        .iter()
        .map(|facts| if payload(facts) > 0 { facts.content.sample.values().collect() } else { BTreeSet::new() })
        .collect();
    let of = |content: u32| &values[content as usize];
    let level = |content: u32| of(content).first().map_or(15, |value| value >> 36);
    let from = |content: u32, least: u64| of(content).iter().filter(|value| *value >> 36 >= least).count();
    let in_common = |(a, b): &Pair| of(*a).intersection(of(*b)).count();
    // For each proposed pair, the number of values in common, of those that propose it, and what these count for.
    let mut common: BTreeMap<Pair, [usize; 3]> = BTreeMap::new();
    for value in values.iter().flatten().collect::<BTreeSet<_>>() {
        let holders: Vec<u32> = numbers().filter(|content| of(*content).contains(value)).collect();
        let first_of = |root: usize| holders.iter().filter(move |holder| roots(**holder).contains(&root)).take(4);
        let firsts: BTreeSet<u32> = (0..tree.repositories.len()).flat_map(first_of).copied().collect();
        for pair in holders.iter().flat_map(|a| holders.iter().map(move |b| (*a, *b))).filter(|(a, b)| a < b) {
            let proposes = holders.len() <= 32 || firsts.contains(&pair.0) || firsts.contains(&pair.1);
            if proposes && pairs.contains(&pair) {
                let [_, proposing, weight] = common.entry(pair).or_insert([in_common(&pair), 0, 0]);
                *proposing += 1;
                *weight += (64 / holders.len()).max(1);
            }
        }
    }
    let at = |(a, b): Pair| {
        let least = level(a).max(level(b));
        (least, from(a, least), from(b, least))
    };
    let may_be_relatives = |pair: &Pair, count: usize| {
        let (least, of_a, of_b) = at(*pair);
        count * 10 >= of_a.min(of_b) || 2 * count as u64 * (32 << least) >= tree.min_shared_bytes
    };
    common.retain(|pair, [count, ..]| may_be_relatives(pair, *count));
    let is_decided = |pair: &Pair| {
        let (_, of_a, of_b) = at(*pair);
        of_a.min(of_b) >= 16
    };
    proposed.near.retain(|pair| !is_decided(pair));
    let placed = proposed.placed.iter().chain(&proposed.aligned).copied();
    proposed.refuted = placed.filter(|pair| is_decided(pair) && in_common(pair) == 0).collect();
    let mut taken = BTreeSet::new();
    for content in numbers() {
        let own = roots(content);
        let of_level = |other: u32| from(content, level(content).max(level(other)));
        let has_part = |other: u32, count: usize, part: usize| part * count >= of_level(other);
        let ranked = |root: usize| {
            let mut all: Vec<_> = common
                .iter()
                .filter(|((a, b), _)| *a == content || *b == content)
                .map(|((a, b), [count, proposing, weight])| {
                    (Reverse(*weight), if *a == content { *b } else { *a }, *count, *proposing)
                })
                .filter(|(_, other, ..)| roots(*other).contains(&root))
                .collect();
            all.sort_unstable();
            all
        };
        let mut is_settled = own.len() > 1;
        let all_roots = 0..tree.repositories.len();
        let (home, abroad): (Vec<usize>, Vec<usize>) = all_roots.partition(|root| own.contains(root));
        for (places, most) in [(abroad, 2), (home, 5)] {
            if most == 5 && is_settled {
                continue;
            }
            for root in places {
                let all = ranked(root);
                let mut first = all[..all.len().min(most)].to_vec();
                if most == 2 {
                    let rest = all[first.len()..].iter().filter(|(_, other, count, _)| has_part(*other, *count, 4));
                    let mut largest: Vec<_> = rest.copied().collect();
                    let bytes = |other: u32, count: usize| count << level(content).max(level(other));
                    largest.sort_by_key(|(_, other, count, _)| (Reverse(bytes(*other, *count)), *other));
                    first.extend(largest.into_iter().take(4));
                }
                let satisfies = |(_, other, count, proposing): &(_, u32, usize, usize)| {
                    let has = |count: usize, part: usize| has_part(*other, count, part);
                    has(*count, 2) && (most == 5 || has(*proposing, 4) || 4 * count >= 3 * of_level(*other))
                };
                let last = first.iter().position(satisfies);
                first.truncate(last.map_or(first.len(), |last| last + 1 + usize::from(most == 5)));
                taken.extend(first.iter().map(|(_, other, ..)| (content.min(*other), content.max(*other))));
                is_settled |= last.is_some() && most == 2;
                proposed.cut_sampled += if last.is_none() { all.len() - first.len() } else { 0 };
            }
        }
    }
    proposed.sampled = taken.difference(&proposed.complete).copied().collect();
}

/// The repositories that have a content, but for controls.
fn roots(tree: &Tree, facts: &Facts) -> BTreeSet<usize> {
    let is_control = |path: &str| {
        !tree.options.control.is_empty() && path.rsplit('/').next().is_some_and(|name| name.starts_with("control-"))
    };
    facts.documents.iter().filter(|(_, path)| !is_control(path)).map(|(root, _)| *root).collect()
}
