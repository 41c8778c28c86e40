//! What an analysis is told about contents beside their postings, and how it is to work.
//!
//! The engine knows neither sites nor parties: it sees *groups* that hold copies of contents, and *levels* that label
//! the groups. A level that gives each group a label of its own stands for sites, one that labels by owner for parties.

use std::num::NonZeroUsize;
use std::path::Path;

use crate::error::Error;
use crate::posting::ContentIndex;
use crate::threshold::Thresholds;

/// Most contents of one analysis: half of what 32 bits number, because one bit marks a content's prefix.
pub const CONTENTS_MAX: u64 = (1 << 31) - 1;

/// A holder of copies, such as a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Group(pub u16);

/// How many copies of a content a group holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holding {
    /// Who holds them.
    pub group: Group,
    /// How many documents have this content there.
    pub copies: u32,
}

/// The holders of every content, packed in content order.
#[derive(Clone, Debug)]
pub struct Holders {
    /// Where each content's holdings begin, and the end.
    starts: Vec<usize>,
    holdings: Vec<Holding>,
}

impl Default for Holders {
    fn default() -> Holders {
        Holders { starts: vec![0], holdings: Vec::new() }
    }
}

impl Holders {
    /// Nobody holds anything yet; contents follow through [`push`](Holders::push).
    pub fn new() -> Holders {
        Holders::default()
    }

    /// Adds the holders of the next content; a group may come several times.
    pub fn push(&mut self, holdings: impl IntoIterator<Item = Holding>) {
        self.holdings.extend(holdings);
        self.starts.push(self.holdings.len());
    }

    /// How many contents have been described.
    pub fn contents(&self) -> usize {
        self.starts.len() - 1
    }

    /// The holders of a content.
    pub fn of(&self, content: ContentIndex) -> &[Holding] {
        &self.holdings[self.starts[content.at()]..self.starts[content.at() + 1]]
    }
}

/// A way to label groups for which overlap is counted.
#[derive(Clone, Debug)]
pub struct Level {
    /// The label of each group, below `label_count`.
    pub labels: Vec<u16>,
    /// How many labels there are. Overlap takes 24 bytes for each pair of labels and thread.
    pub label_count: u16,
}

/// What is known of the contents.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Per content its size less the bytes of its template chunks.
    pub payload_bytes: &'a [u64],
    /// Per content who holds how many copies; may be empty where neither levels nor `across` ask for it.
    pub holders: &'a Holders,
    /// The levels at which overlap is counted.
    pub levels: &'a [Level],
    /// When given, the label of each group: a link counts only when the holders of its two contents together have at
    /// least two labels.
    pub across: Option<&'a [u16]>,
}

/// How an analysis is to work.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What makes a link.
    pub thresholds: Thresholds,
    /// Working memory, beside the input itself, about 24 bytes per content and the result.
    pub memory_budget_bytes: u64,
    /// Threads that work at the same time.
    pub threads: NonZeroUsize,
    /// Where rows go that do not fit the budget; a folder of our own is made in it, and removed.
    pub spill_dir: &'a Path,
}

/// Refuses an input whose parts contradict each other, before anything is computed from it.
pub(crate) fn check(input: &Input<'_>) -> Result<(), Error> {
    let invalid = |detail| Err(Error::InvalidInput { detail });
    let contents = input.payload_bytes.len();
    if contents as u64 > CONTENTS_MAX {
        return Err(Error::TooMany { what: "contents", count: contents as u64, count_max: CONTENTS_MAX });
    }
    let needs_holders = !input.levels.is_empty() || input.across.is_some();
    if input.holders.contents() != contents && (needs_holders || input.holders.contents() > 0) {
        return invalid("holders and payloads describe different numbers of contents");
    }
    let groups = input.holders.holdings.iter().map(|h| usize::from(h.group.0) + 1);
    let groups = groups.max().unwrap_or(0);
    let labels = input.levels.iter().map(|level| level.labels.len());
    if labels.chain(input.across.map(<[u16]>::len)).any(|labels| labels < groups) {
        return invalid("a group has no label");
    }
    let beyond = |level: &Level| level.labels.iter().any(|&label| label >= level.label_count);
    if input.levels.iter().any(beyond) {
        return invalid("a label is beyond its level's count");
    }
    Ok(())
}

/// The one label under which a content is held, where there is just one.
///
/// Most contents are at home in one place; knowing so spares a look at their holders at every posting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Home(u32);

impl Home {
    /// Nobody holds the content.
    pub(crate) const NONE: Home = Home(u32::MAX);
    /// Holders of several labels do.
    pub(crate) const SEVERAL: Home = Home(u32::MAX - 1);

    /// The home of every content under these labels of groups.
    pub(crate) fn of_all(holders: &Holders, labels: &[u16]) -> Vec<Home> {
        let windows = holders.starts.windows(2);
        let slices = windows.map(|ends| &holders.holdings[ends[0]..ends[1]]);
        slices.map(|holdings| Home::of(holdings, labels)).collect()
    }

    fn of(holdings: &[Holding], labels: &[u16]) -> Home {
        let held = holdings.iter().filter(|holding| holding.copies > 0);
        let mut homes = held.map(|h| Home(u32::from(labels[usize::from(h.group.0)])));
        let Some(first) = homes.next() else {
            return Home::NONE;
        };
        if homes.all(|home| home == first) { first } else { Home::SEVERAL }
    }

    /// Whether the holders of two contents together have at least two labels.
    pub(crate) fn is_across(self, other: Home) -> bool {
        match (self, other) {
            (Home::SEVERAL, _) | (_, Home::SEVERAL) => true,
            (Home::NONE, _) | (_, Home::NONE) => false,
            _ => self != other,
        }
    }
}
