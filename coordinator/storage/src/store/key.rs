//! The keys of the store: every tree and every key with its lifetime, its bytes and the type of its value. This file
//! and [`super::value`] are the format.
//!
//! Integers in keys are big-endian, so that rows sort by number. Names of sites, repositories and watches never contain
//! a byte of 0, which ends them in a key.

use cognate_fingerprint::MethodId;
use cognate_proto::name::{RepositoryName, ScanId, SiteName};
use cognate_proto::scope::ScopeId;
use cognate_proto::v1;

use super::value::{ActionPart, Value as _, ValueType};
use crate::journal::{PartyNamed, Position};
use crate::rows::{IndexId, IndexRow, MemberRow, ScanRow, SeenRow, SlotKey, SlotRow, WatchedRow};
use crate::sample::SampleRow;
use crate::verdict::{self, ActionRow, SavedFilter, VerdictRow};

/// A tree of sled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tree {
    Meta,
    Members,
    Seen,
    Slots,
    Used,
    Indexes,
    Scans,
    Profiles,
    Schedules,
    Watches,
    Watched,
    Cases,
    Templates,
    Verdicts,
    VerdictActions,
    VerdictLog,
    SavedFilters,
    Samples,
    Parties,
}

/// The record that a row comes from, which decides how long it lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lifetime {
    /// The row is about the store itself; every new store begins with its own.
    Store,
    /// Events of the journal give the row again, until one of them removes it.
    Journal,
    /// The segments give the row again, until their site sends another epoch or is forgotten.
    Segments,
    /// No record has the row. A new store takes it over from the one before, where that can be read.
    Temporary,
}

impl Tree {
    /// All trees, each at the position of its discriminant.
    pub(super) const ALL: [Tree; 19] = [
        Tree::Meta,
        Tree::Members,
        Tree::Seen,
        Tree::Slots,
        Tree::Used,
        Tree::Indexes,
        Tree::Scans,
        Tree::Profiles,
        Tree::Schedules,
        Tree::Watches,
        Tree::Watched,
        Tree::Cases,
        Tree::Templates,
        Tree::Verdicts,
        Tree::VerdictActions,
        Tree::VerdictLog,
        Tree::SavedFilters,
        Tree::Samples,
        Tree::Parties,
    ];

    /// The name under which sled knows the tree.
    pub(super) fn name(self) -> &'static str {
        match self {
            Tree::Meta => "meta",
            Tree::Members => "member",
            Tree::Seen => "seen",
            Tree::Slots => "slot",
            Tree::Used => "used",
            Tree::Indexes => "index",
            Tree::Scans => "scan",
            Tree::Profiles => "profile",
            Tree::Schedules => "schedule",
            Tree::Watches => "watch",
            Tree::Watched => "watched",
            Tree::Cases => "case",
            Tree::Templates => "template",
            Tree::Verdicts => "verdict",
            Tree::VerdictActions => "verdict_action",
            Tree::VerdictLog => "verdict_log",
            Tree::SavedFilters => "saved_filter",
            Tree::Samples => "sample",
            Tree::Parties => "party",
        }
    }

    /// The lifetime of the rows of the tree.
    pub(super) fn lifetime(self) -> Lifetime {
        match self {
            Tree::Meta => Lifetime::Store,
            Tree::Slots | Tree::Indexes => Lifetime::Segments,
            Tree::Seen | Tree::Used | Tree::Watched => Lifetime::Temporary,
            Tree::Members | Tree::Scans | Tree::Profiles | Tree::Schedules | Tree::Watches | Tree::Cases => {
                Lifetime::Journal
            }
            Tree::Templates | Tree::Verdicts | Tree::VerdictActions | Tree::VerdictLog => Lifetime::Journal,
            Tree::SavedFilters | Tree::Samples | Tree::Parties => Lifetime::Journal,
        }
    }
}

/// A key of the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Key {
    /// Tree `meta`, as long as the store. Key: `schema`. Value: the version of the rows (u32).
    Schema,
    /// Tree `meta`, as long as the store. Key: `journal`. Value: how much of the journal the store includes.
    Journal,
    /// Tree `meta`, as long as the store. Key: `number`. Value: the last number that was given out (u64).
    Number,
    /// Tree `member`, until the member is forgotten. Key: kind (u8), name. Value: [`MemberRow`].
    Member(v1::MemberKind, String),
    /// Tree `seen`, until the site is forgotten or enrols again. Key: site. Value: [`SeenRow`].
    Seen(SiteName),
    /// Tree `slot`, until the repository is forgotten. Key: site, 0, repository, 0, method id (16), and where the index
    /// is of a part of the repository its scope (16). Value: [`SlotRow`].
    Slot(SlotKey),
    /// Tree `used`, as long as the slot. Key: that of the slot. Value: time of the last analysis (i64).
    Used(SlotKey),
    /// Tree `index`, until another epoch of the slot is sealed. Key: number (u64). Value: [`IndexRow`].
    Index(IndexId),
    /// Tree `scan`, until the scan is deleted. Key: id (u64). Value: [`ScanRow`].
    Scan(ScanId),
    /// Tree `profile`, until the profile is removed. Key: name. Value: [`v1::Profile`].
    Profile(String),
    /// Tree `schedule`, until the schedule is removed. Key: name. Value: [`v1::Schedule`].
    Schedule(String),
    /// Tree `watch`, until the watch is removed. Key: name. Value: [`v1::Watch`].
    Watch(String),
    /// Tree `watched`, until the watch is removed. Key: watch, 0, site, 0, repository, 0. Value: [`WatchedRow`].
    Watched(String, SiteName, RepositoryName),
    /// Tree `case`, for ever. Key: name. Value: [`v1::Case`].
    Case(String),
    /// Tree `template`, for ever, since scans refer to templates that are no longer in force. Key: id (u64).
    /// Value: [`v1::Template`].
    Template(u64),
    /// Tree `verdict`, until the verdict is taken back. Key: kind, view or tier, 16 bytes. Value: [`VerdictRow`].
    Verdict(verdict::Key),
    /// Tree `verdict_action`, for ever. Key: [`ActionPart`]. Value: [`ActionRow`].
    VerdictAction(ActionPart),
    /// Tree `verdict_log`, for ever. Key: number (u64). Value: the [`ActionPart`] that was done or undone.
    VerdictLog(u64),
    /// Tree `saved_filter`, until the filter is removed. Key: name. Value: [`SavedFilter`].
    SavedFilter(String),
    /// Tree `sample`, for ever. Key: number (u64). Value: [`SampleRow`].
    Sample(u64),
    /// Tree `party`, until the full name is removed. Key: name of the party. Value: [`PartyNamed`].
    Party(String),
}

impl Key {
    pub(super) fn tree(&self) -> Tree {
        match self {
            Key::Schema | Key::Journal | Key::Number => Tree::Meta,
            Key::Member(..) => Tree::Members,
            Key::Seen(_) => Tree::Seen,
            Key::Slot(_) => Tree::Slots,
            Key::Used(_) => Tree::Used,
            Key::Index(_) => Tree::Indexes,
            Key::Scan(_) => Tree::Scans,
            Key::Profile(_) => Tree::Profiles,
            Key::Schedule(_) => Tree::Schedules,
            Key::Watch(_) => Tree::Watches,
            Key::Watched(..) => Tree::Watched,
            Key::Case(_) => Tree::Cases,
            Key::Template(_) => Tree::Templates,
            Key::Verdict(_) => Tree::Verdicts,
            Key::VerdictAction(_) => Tree::VerdictActions,
            Key::VerdictLog(_) => Tree::VerdictLog,
            Key::SavedFilter(_) => Tree::SavedFilters,
            Key::Sample(_) => Tree::Samples,
            Key::Party(_) => Tree::Parties,
        }
    }

    /// The type of the value.
    pub(super) fn value_type(&self) -> ValueType {
        match self {
            Key::Schema => ValueType::of::<u32>(),
            Key::Journal => ValueType::of::<Position>(),
            Key::Number => ValueType::of::<u64>(),
            Key::Member(..) => ValueType::of::<MemberRow>(),
            Key::Seen(_) => ValueType::of::<SeenRow>(),
            Key::Slot(_) => ValueType::of::<SlotRow>(),
            Key::Used(_) => ValueType::of::<i64>(),
            Key::Index(_) => ValueType::of::<IndexRow>(),
            Key::Scan(_) => ValueType::of::<ScanRow>(),
            Key::Profile(_) => ValueType::of::<v1::Profile>(),
            Key::Schedule(_) => ValueType::of::<v1::Schedule>(),
            Key::Watch(_) => ValueType::of::<v1::Watch>(),
            Key::Watched(..) => ValueType::of::<WatchedRow>(),
            Key::Case(_) => ValueType::of::<v1::Case>(),
            Key::Template(_) => ValueType::of::<v1::Template>(),
            Key::Verdict(_) => ValueType::of::<VerdictRow>(),
            Key::VerdictAction(_) => ValueType::of::<ActionRow>(),
            Key::VerdictLog(_) => ValueType::of::<ActionPart>(),
            Key::SavedFilter(_) => ValueType::of::<SavedFilter>(),
            Key::Sample(_) => ValueType::of::<SampleRow>(),
            Key::Party(_) => ValueType::of::<PartyNamed>(),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Key::Schema => b"schema".to_vec(),
            Key::Journal => b"journal".to_vec(),
            Key::Number => b"number".to_vec(),
            Key::Member(kind, name) => [&[kind_byte(*kind)], name.as_bytes()].concat(),
            Key::Seen(site) => site.as_str().as_bytes().to_vec(),
            Key::Slot(slot) | Key::Used(slot) => slot_bytes(slot),
            Key::Profile(name)
            | Key::Schedule(name)
            | Key::Watch(name)
            | Key::Case(name)
            | Key::SavedFilter(name)
            | Key::Party(name) => name.as_bytes().to_vec(),
            Key::Watched(watch, site, repository) => ended_by_0([watch, site.as_str(), repository.as_str()]),
            Key::Index(IndexId(number))
            | Key::Scan(ScanId(number))
            | Key::Template(number)
            | Key::VerdictLog(number)
            | Key::Sample(number) => number.to_be_bytes().to_vec(),
            Key::Verdict(subject) => subject.0.to_vec(),
            Key::VerdictAction(part) => part.to_bytes(),
        }
    }

    /// Reads the bytes of [`Key::to_bytes`].
    pub(super) fn from_bytes(tree: Tree, bytes: &[u8]) -> Option<Key> {
        let text = || std::str::from_utf8(bytes).ok().map(str::to_owned);
        let number = || bytes.try_into().ok().map(u64::from_be_bytes);
        Some(match tree {
            Tree::Meta => match bytes {
                b"schema" => Key::Schema,
                b"journal" => Key::Journal,
                b"number" => Key::Number,
                _ => return None,
            },
            Tree::Members => {
                let (kind, name) = bytes.split_first()?;
                let kind = v1::MemberKind::try_from(i32::from(*kind)).ok()?;
                Key::Member(kind, std::str::from_utf8(name).ok()?.to_owned())
            }
            Tree::Seen => Key::Seen(text()?.parse().ok()?),
            Tree::Slots => Key::Slot(slot_from_bytes(bytes)?),
            Tree::Used => Key::Used(slot_from_bytes(bytes)?),
            Tree::Indexes => Key::Index(IndexId(number()?)),
            Tree::Scans => Key::Scan(ScanId(number()?)),
            Tree::Profiles => Key::Profile(text()?),
            Tree::Schedules => Key::Schedule(text()?),
            Tree::Watches => Key::Watch(text()?),
            Tree::Watched => {
                let ([watch, site, repository], []) = split_at_0(bytes)? else { return None };
                Key::Watched(watch.to_owned(), site.parse().ok()?, repository.parse().ok()?)
            }
            Tree::Cases => Key::Case(text()?),
            Tree::Templates => Key::Template(number()?),
            Tree::Verdicts => Key::Verdict(verdict::Key::parse(bytes)?),
            Tree::VerdictActions => Key::VerdictAction(ActionPart::from_bytes(bytes)?),
            Tree::VerdictLog => Key::VerdictLog(number()?),
            Tree::SavedFilters => Key::SavedFilter(text()?),
            Tree::Samples => Key::Sample(number()?),
            Tree::Parties => Key::Party(text()?),
        })
    }
}

/// Keys of a tree that begin alike.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) tree: Tree,
    pub(super) bytes: Vec<u8>,
}

impl Prefix {
    /// All keys of a tree.
    pub(super) fn all(tree: Tree) -> Prefix {
        Prefix { tree, bytes: Vec::new() }
    }

    /// The members of a kind.
    pub(super) fn members(kind: v1::MemberKind) -> Prefix {
        Prefix { tree: Tree::Members, bytes: vec![kind_byte(kind)] }
    }

    /// The repositories that a watch has looked at.
    pub(super) fn watched(watch: &str) -> Prefix {
        Prefix { tree: Tree::Watched, bytes: ended_by_0([watch]) }
    }

    /// The parts of an action of reviewers.
    pub(super) fn action(action: u64) -> Prefix {
        Prefix { tree: Tree::VerdictActions, bytes: action.to_be_bytes().to_vec() }
    }
}

fn kind_byte(kind: v1::MemberKind) -> u8 {
    u8::try_from(i32::from(kind)).expect("there are few kinds")
}

fn slot_bytes(slot: &SlotKey) -> Vec<u8> {
    let scope = slot.scope.as_ref().map_or(&[][..], |scope| &scope.0);
    let names = ended_by_0([slot.site.as_str(), slot.repository.as_str()]);
    [&names, &slot.method_id.0[..], scope].concat()
}

fn slot_from_bytes(bytes: &[u8]) -> Option<SlotKey> {
    let ([site, repository], ids) = split_at_0(bytes)?;
    let (method_id, scope) = ids.split_first_chunk()?;
    Some(SlotKey {
        site: site.parse().ok()?,
        repository: repository.parse().ok()?,
        method_id: MethodId(*method_id),
        scope: ScopeId::from_field(scope).ok()?,
    })
}

fn ended_by_0<const NAMES: usize>(names: [&str; NAMES]) -> Vec<u8> {
    names.into_iter().flat_map(|name| name.bytes().chain([0])).collect()
}

/// Names that each end with a byte of 0, and the bytes after them.
fn split_at_0<const NAMES: usize>(mut bytes: &[u8]) -> Option<([&str; NAMES], &[u8])> {
    let mut names = [""; NAMES];
    for name in &mut names {
        let end = bytes.iter().position(|byte| *byte == 0)?;
        *name = std::str::from_utf8(&bytes[..end]).ok()?;
        bytes = &bytes[end + 1..];
    }
    Some((names, bytes))
}

#[cfg(test)]
mod tests;
