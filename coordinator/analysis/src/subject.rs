//! A frozen set as the engine sees it: contents by number, numbers of copies of each holder, and labels of holders.

use cognate_similarity::{ContentIndex, Group, Holders, Holding, Input, Level};

use crate::copies::Copies;
use crate::freeze::FrozenSet;

/// The input of an analysis.
pub(crate) struct Subject<'a> {
    pub(crate) frozen: &'a FrozenSet,
    pub(crate) copies: Copies,
    /// Roots labelled by site and by party.
    pub(crate) levels: [Level; 2],
    pub(crate) across_only: bool,
    weights: Vec<u64>,
    holders: Holders,
    groups: Groups,
}

/// Holders and their copies, as the engine counts them. Each root is a group. Its controls are held by another, which has the
/// root's label where links are concerned, and one beyond all labels where overlap is counted.
struct Groups {
    levels: [Level; 2],
    across: Vec<u16>,
}

impl<'a> Subject<'a> {
    pub(crate) fn of(frozen: &'a FrozenSet, across_only: bool) -> Subject<'a> {
        let copies = Copies::of(frozen);
        let level = |labels: Vec<u16>| Level { label_count: labels.iter().max().map_or(0, |most| most + 1), labels };
        let sites = level(frozen.roots.iter().map(|root| root.site_number).collect());
        let parties = level(frozen.roots.iter().map(|root| root.party_number).collect());
        let levels = [sites, parties];
        Subject {
            holders: holders(frozen, &copies),
            groups: Groups::of(frozen, &levels),
            weights: frozen.contents.iter().map(|content| content.weight).collect(),
            frozen,
            copies,
            levels,
            across_only,
        }
    }

    /// The labels that a link has to cross where only what crosses counts: those of parties where there are two or more,
    /// else those of sites. Groups are roots.
    pub(crate) fn labels(&self) -> &[u16] {
        let [sites, parties] = &self.levels;
        if parties.label_count > 1 { &parties.labels } else { &sites.labels }
    }

    /// The same labels, where only what crosses counts.
    pub(crate) fn across(&self) -> Option<&[u16]> {
        self.across_only.then_some(self.labels())
    }

    pub(crate) fn input(&self) -> Input<'_> {
        Input {
            payload_bytes: &self.weights,
            holders: &self.holders,
            levels: &self.groups.levels,
            across: self.across_only.then_some(&self.groups.across),
        }
    }

    /// The label under which all copies of a content are, if there is just one.
    pub(crate) fn home(&self, content: usize) -> Option<u16> {
        let copies = self.copies.of_content(index(content)).iter();
        let mut labels = copies.map(|place| self.labels()[usize::from(self.frozen.root_of(*place))]);
        let first = labels.next()?;
        labels.all(|label| label == first).then_some(first)
    }

    /// True if documents of two contents are at different places.
    pub(crate) fn is_across(&self, contents: [u32; 2]) -> bool {
        let [a, b] = contents.map(|content| self.home(content as usize));
        a.is_none() || a != b
    }

    /// The roots of the documents of a content that are no controls, every copy counted.
    pub(crate) fn roots_of(&self, content: u32) -> impl Iterator<Item = u16> + use<'_, 'a> {
        let places = self.copies.of_content(ContentIndex(content)).iter();
        places.filter(|place| !self.frozen.is_control(**place)).map(|place| self.frozen.root_of(*place))
    }

    /// For each content, true if its copies form an identical set that counts.
    pub(crate) fn identical(&self) -> Vec<bool> {
        let counts = |content: usize| !self.across_only || self.home(content).is_none();
        let contents = self.frozen.contents.iter().enumerate();
        contents
            .map(|(content, frozen)| {
                self.copies.of_content(index(content)).len() > 1 && frozen.size_bytes > 0 && counts(content)
            })
            .collect()
    }
}

pub(crate) fn index(place: usize) -> ContentIndex {
    ContentIndex(u32::try_from(place).expect("fewer than 2^32 contents"))
}

impl Groups {
    fn of(frozen: &FrozenSet, levels: &[Level; 2]) -> Groups {
        let [_, parties] = levels;
        let mut across = if parties.label_count > 1 { &levels[1] } else { &levels[0] }.labels.clone();
        let mut levels = levels.clone();
        if !frozen.controls.is_empty() {
            across.extend_from_within(..);
            for level in &mut levels {
                level.labels.resize(2 * frozen.roots.len(), level.label_count);
                level.label_count += 1;
            }
        }
        Groups { levels, across }
    }
}

fn holders(frozen: &FrozenSet, copies: &Copies) -> Holders {
    let mut holders = Holders::new();
    let mut holdings: Vec<Holding> = Vec::new();
    let roots = u16::try_from(frozen.roots.len()).expect("sites are few");
    for content in 0..frozen.contents.len() {
        holdings.clear();
        // Documents are ordered by root, so that the copies of a root are adjacent.
        for place in copies.of_content(index(content)) {
            let planted = if frozen.is_control(*place) { roots } else { 0 };
            let group = Group(frozen.root_of(*place) + planted);
            match holdings.last_mut() {
                Some(last) if last.group == group => last.copies += 1,
                _ => holdings.push(Holding { group, copies: 1 }),
            }
        }
        holders.push(holdings.iter().copied());
    }
    holders
}
