//! The folders that a loss of power may leave, after the model of "All File Systems Are Not Created Equal" (Pillai et al., OSDI 2014,
//! section 3): what was synced is there; of the rest, each call may have reached the disk or not, whatever came before it.
//!
//! A write that was not synced is there, is missing, ends early, or has only its length, with zeros. A new name that was not synced with
//! its folder is there or not, whatever the state of the file. A rename of a file happens as a whole or not at all.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::call::{Call, Node};
use cognate_fuzzing::Dice;

/// Bytes that a disk writes at once or not at all.
const SECTOR_BYTES: usize = 512;

/// Files and folders, each with its names.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tree {
    folders: BTreeMap<Node, BTreeMap<OsString, Node>>,
    files: BTreeMap<Node, Vec<u8>>,
}

impl Tree {
    pub(crate) fn folder(&mut self, node: Node) {
        self.folders.entry(node).or_default();
    }

    pub(crate) fn file(&mut self, node: Node, content: Vec<u8>) {
        self.files.insert(node, content);
    }

    pub(crate) fn name(&mut self, folder: Node, name: &OsStr, node: Node) {
        self.folders.entry(folder).or_default().insert(name.to_owned(), node);
    }

    fn apply(&mut self, call: &Call, fate: Fate) {
        match call {
            _ if fate == Fate::Lost => {}
            Call::Create { folder, name, node, is_folder } => {
                self.name(*folder, name, *node);
                if *is_folder {
                    self.folder(*node);
                } else {
                    self.files.entry(*node).or_default();
                }
            }
            Call::Remove { folder, name } => drop(self.folders.entry(*folder).or_default().remove(name)),
            Call::Rename { from, old, to, new } => {
                // The file may be there without its first name.
                if let Some(node) = self.folders.entry(*from).or_default().remove(old) {
                    self.name(*to, new, node);
                }
            }
            Call::Write { node, offset, bytes } => {
                let file = self.files.entry(*node).or_default();
                let offset = usize::try_from(*offset).expect("tests write small files");
                let length = match fate {
                    // What was there already is written sector by sector.
                    Fate::Cut(length) if offset + bytes.len() <= file.len() => {
                        ((offset + length) / SECTOR_BYTES * SECTOR_BYTES).saturating_sub(offset)
                    }
                    Fate::Cut(length) => length,
                    _ => bytes.len(),
                };
                file.resize(file.len().max(offset + length), 0);
                if fate != Fate::Zeros {
                    file[offset..offset + length].copy_from_slice(&bytes[..length]);
                }
            }
            Call::Resize { node, length } => {
                let length = usize::try_from(*length).expect("tests write small files");
                self.files.entry(*node).or_default().resize(length, 0);
            }
            Call::Sync { .. } | Call::Mark(_) => {}
        }
    }

    fn write_to(&self, folder: &Path, node: Node) -> std::io::Result<()> {
        // For its owner alone: the product refuses secrets that others can read.
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        for (name, node) in self.folders.get(&node).into_iter().flatten() {
            let path = folder.join(name);
            if self.folders.contains_key(node) {
                self.write_to(&path, *node)?;
            } else {
                let content = self.files.get(node).map_or(&[][..], Vec::as_slice);
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(content)?;
            }
        }
        Ok(())
    }
}

/// What happened to a call that was not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Done,
    Lost,
    /// Only so many bytes of it were written.
    Cut(usize),
    /// Its length is there and its bytes are not.
    Zeros,
}

/// All folders that a loss of power at any moment of a recording may leave.
#[derive(Clone, Default, Debug)]
pub struct CrashStates {
    start: Tree,
    calls: Vec<Call>,
}

/// One such folder.
#[derive(Debug)]
pub struct State {
    /// The last mark before the loss of power.
    pub acknowledged: Option<u64>,
    /// In which call the power was lost, and what became of those before it, for messages.
    pub description: String,
    tree: Tree,
}

impl State {
    /// Writes it to the disk.
    ///
    /// # Errors
    /// Fails if the folder cannot be written.
    pub fn write_to(&self, folder: &Path) -> std::io::Result<()> {
        self.tree.write_to(folder, 0)
    }
}

impl CrashStates {
    pub(crate) fn new(start: Tree, calls: Vec<Call>) -> CrashStates {
        CrashStates { start, calls }
    }

    /// The recorded calls.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Number of moments at which the power may be lost: before the first call, and after each.
    pub fn moments(&self) -> usize {
        self.calls.len() + 1
    }

    /// The states after a loss of power at a moment: all of them, if they are at most `states_max`, and otherwise as many that `seed`
    /// chooses, with those where all or none of the calls that were not synced are done.
    pub fn at(&self, moment: usize, states_max: usize, seed: u64) -> Vec<State> {
        let calls = &self.calls[..moment];
        let open: Vec<usize> = (0..moment).filter(|place| !self.is_synced(*place, moment)).collect();
        let choices: Vec<Vec<Fate>> = open.iter().map(|place| fates(&calls[*place])).collect();
        let total = choices.iter().try_fold(1_usize, |total, choices| total.checked_mul(choices.len()));
        let mut dice = Dice::new(seed ^ (moment as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let picks: Vec<Vec<Fate>> = match total {
            Some(total) if total <= states_max => (0..total).map(|number| nth(&choices, number)).collect(),
            _ => {
                let first = [Fate::Lost, Fate::Done].map(|fate| vec![fate; open.len()]);
                let random =
                    (2..states_max).map(|_| open.iter().map(|place| random_fate(&mut dice, &calls[*place])).collect());
                first.into_iter().chain(random).take(states_max.max(1)).collect()
            }
        };
        picks.into_iter().map(|picks| self.state(moment, &open, &picks)).collect()
    }

    /// So many states of random moments.
    pub fn sample(&self, states: usize, seed: u64) -> Vec<State> {
        let mut dice = Dice::new(seed);
        let moment = |dice: &mut Dice| dice.below(self.moments());
        (0..states).flat_map(|_| self.at(moment(&mut dice), 3, dice.roll()).pop()).collect()
    }

    fn state(&self, moment: usize, open: &[usize], picks: &[Fate]) -> State {
        let mut tree = self.start.clone();
        let mut open = open.iter().zip(picks).peekable();
        let mut description = format!("power lost after call {moment} of {}", self.calls.len());
        let mut acknowledged = None;
        for (place, call) in self.calls[..moment].iter().enumerate() {
            let fate = open.next_if(|(at, _)| **at == place).map(|(_, fate)| *fate);
            if let Some(fate) = fate {
                description.push_str(&format!("; {place} {} {fate:?}", short(call)));
            }
            if let Call::Mark(mark) = call {
                acknowledged = Some(*mark);
            }
            tree.apply(call, fate.unwrap_or(Fate::Done));
        }
        State { acknowledged, description, tree }
    }

    /// True if a call is on the disk for certain.
    fn is_synced(&self, place: usize, moment: usize) -> bool {
        let synced = |wanted: Node| {
            self.calls[place..moment].iter().any(|call| matches!(call, Call::Sync { node } if *node == wanted))
        };
        match &self.calls[place] {
            Call::Sync { .. } | Call::Mark(_) => true,
            Call::Write { node, .. } | Call::Resize { node, .. } => synced(*node),
            Call::Create { folder, .. } | Call::Remove { folder, .. } => synced(*folder),
            Call::Rename { from, to, .. } => synced(*from) && synced(*to),
        }
    }
}

fn fates(call: &Call) -> Vec<Fate> {
    match call {
        Call::Write { bytes, .. } if bytes.len() > 1 => {
            vec![Fate::Lost, Fate::Done, Fate::Cut(bytes.len() / 2), Fate::Zeros]
        }
        _ => vec![Fate::Lost, Fate::Done],
    }
}

fn nth(choices: &[Vec<Fate>], mut number: usize) -> Vec<Fate> {
    choices
        .iter()
        .map(|choices| {
            let fate = choices[number % choices.len()];
            number /= choices.len();
            fate
        })
        .collect()
}

fn short(call: &Call) -> String {
    match call {
        Call::Create { name, .. } => format!("create {}", name.display()),
        Call::Remove { name, .. } => format!("remove {}", name.display()),
        Call::Rename { old, new, .. } => format!("rename {} {}", old.display(), new.display()),
        Call::Write { node, offset, bytes } => format!("write {node} at {offset}, {} bytes", bytes.len()),
        Call::Resize { node, length } => format!("resize {node} to {length}"),
        Call::Sync { node } => format!("sync {node}"),
        Call::Mark(mark) => format!("mark {mark}"),
    }
}

/// What becomes of a call.
fn random_fate(dice: &mut Dice, call: &Call) -> Fate {
    match (dice.below(4), call) {
        (0, Call::Write { bytes, .. }) => Fate::Cut(dice.below(bytes.len())),
        (1, Call::Write { .. }) => Fate::Zeros,
        (fate, _) if fate % 2 == 0 => Fate::Lost,
        _ => Fate::Done,
    }
}

#[cfg(test)]
mod tests;
