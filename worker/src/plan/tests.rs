//! Tables of single decisions, and complete plans compared with a naive model.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use cognate_fingerprint::ContentDigest;
use cognate_proto::selection::SelectionRule;
use proptest::collection::btree_map;
use proptest::prelude::*;

use super::*;

/// A stamp of a file with this length; two versions of a file differ in their inode.
fn stamp(length_bytes: u64, version: u64) -> Stamp {
    Stamp { length_bytes, modified_ns: 1, changed_ns: 1, inode: version }
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    stamp: Stamp,
    chosen: bool,
    stored: bool,
}

impl Remembered for Memory {
    type Stored = Stamp;

    fn stamp(&self) -> Stamp {
        self.stamp
    }

    fn is_chosen(&self) -> bool {
        self.chosen
    }

    fn stored(&self) -> Option<Stamp> {
        self.stored.then_some(self.stamp)
    }
}

fn up_to(size_max_bytes: u64) -> Selection {
    Selection::new(SelectionRule { size_max_bytes: Some(size_max_bytes), ..SelectionRule::default() }).unwrap()
}

fn path(text: &str) -> DocumentPath {
    DocumentPath::new(text.as_bytes()).unwrap()
}

/// The row of a document with this stamp: its content depends on the version only.
fn row(stamp: Stamp) -> IndexedDocument {
    let digest = ContentDigest([u8::try_from(stamp.inode).unwrap(); 16]);
    IndexedDocument { state: DocumentState::Read, content: Some(digest), modified: 1, message_id_hash: None }
}

fn unreadable(state: DocumentState) -> IndexedDocument {
    IndexedDocument::from(&cognate_proto::batch::DocumentRow::without_content(path("x"), state))
}

#[test]
fn a_document_is_read_unless_its_stamp_and_its_result_are_remembered() {
    let selection = up_to(10);
    let rules = ReadRules { selection: &selection, refines: false };
    let check = |remembered: Option<Memory>, walked, step| {
        assert_eq!(rules.step(&path("a"), remembered.as_ref(), walked), step, "{remembered:?} {walked:?}");
    };
    let memory = |stamp, stored| Some(Memory { stamp, chosen: false, stored });
    let (small, changed, large) = (stamp(5, 1), stamp(5, 2), stamp(11, 1));
    check(None, Walked::File(small), Step::Read);
    check(memory(small, true), Walked::File(small), Step::Reuse(small));
    check(memory(small, true), Walked::File(changed), Step::Read);
    check(memory(small, false), Walked::File(small), Step::Read);
    check(memory(large, true), Walked::File(large), Step::NotSelected);
    check(memory(large, false), Walked::File(large), Step::Read);
    for state in [DocumentState::PermissionDenied, DocumentState::Vanished, DocumentState::InputOutput] {
        check(memory(small, true), Walked::Unreadable(state), Step::Report(state));
        check(None, Walked::Unreadable(state), Step::Report(state));
    }
}

#[test]
fn any_change_of_a_stamp_is_a_change_of_the_document() {
    let selection = Selection::all();
    let rules = ReadRules { selection: &selection, refines: false };
    let known = stamp(5, 1);
    let memory = Memory { stamp: known, chosen: false, stored: true };
    for changed in [
        Stamp { length_bytes: 6, ..known },
        Stamp { modified_ns: 2, ..known },
        Stamp { changed_ns: 2, ..known },
        Stamp { inode: 2, ..known },
    ] {
        assert_eq!(rules.step(&path("a"), Some(&memory), Walked::File(changed)), Step::Read, "{changed:?}");
    }
}

#[test]
fn a_refinement_reads_only_chosen_documents_that_have_not_changed() {
    let selection = Selection::all();
    let rules = ReadRules { selection: &selection, refines: true };
    let (old, new) = (stamp(5, 1), stamp(5, 2));
    let check = |remembered: Option<Memory>, walked, step| {
        assert_eq!(rules.step(&path("a"), remembered.as_ref(), walked), step, "{remembered:?} {walked:?}");
    };
    let memory = |chosen, stored| Some(Memory { stamp: old, chosen, stored });
    check(None, Walked::File(old), Step::Outdated);
    check(memory(false, true), Walked::File(old), Step::Outdated);
    check(memory(true, false), Walked::File(old), Step::Read);
    check(memory(true, true), Walked::File(old), Step::Reuse(old));
    check(memory(true, true), Walked::File(new), Step::Outdated);
    check(memory(true, true), Walked::Unreadable(DocumentState::Vanished), Step::Outdated);
    let denied = DocumentState::PermissionDenied;
    check(memory(true, true), Walked::Unreadable(denied), Step::Report(denied));
    assert!(!rules.is_outdated(Some(old), old, false));
    assert!(rules.is_outdated(Some(old), old, true));
    assert!(rules.is_outdated(Some(old), new, false));
    assert!(rules.is_outdated(None, new, false));
    let complete = ReadRules { selection: &selection, refines: false };
    assert!(!complete.is_outdated(None, new, true));
}

#[test]
fn only_rows_and_contents_that_the_coordinator_does_not_have_are_sent() {
    let (old, new, failed) = (row(stamp(5, 1)), row(stamp(5, 2)), unreadable(DocumentState::PermissionDenied));
    let check = |sent, row: IndexedDocument, content_sent, step| {
        assert_eq!(send_step(sent, &row, content_sent), step, "{sent:?} {row:?} {content_sent}");
    };
    check(None, new, false, SendStep::ContentAndRow);
    check(None, new, true, SendStep::Row);
    check(Some(old), new, false, SendStep::ContentAndRow);
    check(Some(old), new, true, SendStep::Row);
    check(Some(new), new, true, SendStep::Keep);
    check(Some(IndexedDocument { modified: 9, ..new }), new, true, SendStep::Row);
    check(Some(IndexedDocument { message_id_hash: Some([1; 16]), ..new }), new, true, SendStep::Row);
    check(Some(IndexedDocument { state: DocumentState::Changing, ..new }), new, true, SendStep::Row);
    check(Some(old), failed, false, SendStep::Row);
    check(Some(failed), failed, false, SendStep::Keep);
    check(Some(unreadable(DocumentState::Vanished)), failed, false, SendStep::Row);
}

#[test]
fn an_unselected_row_stays_only_if_it_was_unselected_when_it_was_sent() {
    let check = |selection: &Selection, is_text, sent_size_bytes, stays| {
        let rules = RemovalRules { selection, is_text, unreadable: &HashSet::new() };
        assert_eq!(rules.keeps_unselected(&path("a"), sent_size_bytes), stays, "{is_text} {sent_size_bytes:?}");
    };
    let selection = up_to(10);
    check(&selection, false, Some(11), true);
    check(&selection, false, Some(10), false);
    check(&selection, false, None, false);
    check(&Selection::all(), false, Some(u64::MAX), false);
    // The size of a text is not the size of its file.
    check(&selection, true, Some(11), false);
}

#[test]
fn what_may_still_exist_is_not_removed() {
    let rule = SelectionRule { include: vec!["*.txt".into(), "*.zip".into()], ..SelectionRule::default() };
    let selection = Selection::new(rule).unwrap();
    let unreadable = HashSet::from([path("closed"), path("a.zip")]);
    let check = |text: &str, is_text, removed| {
        let rules = RemovalRules { selection: &selection, is_text, unreadable: &unreadable };
        assert_eq!(rules.is_removed(&path(text)), removed, "{text} {is_text}");
    };
    check("a.txt", false, true);
    check("a.pdf", false, false);
    check("closed/a.txt", false, false);
    check("closed/deeper/a.txt", false, false);
    check("closed.txt", false, true);
    check("closed2/a.txt", false, true);
    check("a.zip!/inner", true, false);
    check("b.zip!/inner", true, true);
    check("b.pdf!/inner.txt", true, false);
}

#[test]
fn an_empty_root_that_held_documents_is_asked_about() {
    let check = |documents_before, entries, doubt| {
        let change = RootChange { documents_before, entries, gone: 0, there: 0, is_other_folder: false };
        assert_eq!(change.doubt(), doubt, "{change:?}");
    };
    check(5, 0, Some(RootDoubt::Empty));
    check(0, 0, None);
    check(5, 1, None);
}

#[test]
fn a_root_where_more_files_are_gone_than_are_there_is_asked_about() {
    let check = |gone, there, is_other_folder, doubt| {
        let change = RootChange { documents_before: 40, entries: 1, gone, there, is_other_folder };
        assert_eq!(change.doubt(), doubt, "{change:?}");
    };
    // The mount point holds one file of its own.
    check(20, 1, true, Some(RootDoubt::Shrunk));
    check(20, 1, false, None);
    check(21, 20, false, Some(RootDoubt::Shrunk));
    check(21, 21, false, None);
    // A folder that was renamed is gone and there.
    check(500, 500, true, None);
    check(1, 0, true, Some(RootDoubt::Shrunk));
}

/// The complete plan for one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Action {
    Read,
    Resend,
    Keep,
    Report,
    Skip,
    Remove,
}

/// The memory of one path, and the version that was sent.
#[derive(Clone, Copy, Debug)]
struct Earlier {
    memory: Option<Memory>,
    sent: Option<Stamp>,
}

/// A complete plan, by the decisions of this module, and the index that the coordinator holds after it.
fn execute(
    selection: &Selection,
    earlier: &BTreeMap<DocumentPath, Earlier>,
    walked: &BTreeMap<DocumentPath, Walked>,
) -> (BTreeMap<DocumentPath, Action>, BTreeMap<DocumentPath, IndexedDocument>) {
    let rules = ReadRules { selection, refines: false };
    let mut index: BTreeMap<_, _> =
        earlier.iter().filter_map(|(path, earlier)| Some((path.clone(), row(earlier.sent?)))).collect();
    let (mut actions, mut seen, mut failed) = (BTreeMap::new(), BTreeSet::new(), HashSet::new());
    for (path, walked) in walked {
        let earlier = earlier.get(path).copied().unwrap_or(Earlier { memory: None, sent: None });
        let step = rules.step(path, earlier.memory.as_ref(), *walked);
        let (new, was_read) = match (step, *walked) {
            (Step::Read, Walked::File(stamp)) if !selection.selects(&stamp.facts(path)) => (None, true),
            (Step::Read, Walked::File(stamp)) => (Some(row(stamp)), true),
            (Step::Reuse(stamp), _) => (Some(row(stamp)), false),
            (Step::Report(state), _) => {
                failed.insert(path.clone());
                (Some(unreadable(state)), false)
            }
            (Step::NotSelected | Step::Outdated | Step::Read, _) => (None, false),
        };
        let Some(new) = new else {
            let rules = RemovalRules { selection, is_text: false, unreadable: &HashSet::new() };
            if rules.keeps_unselected(path, earlier.sent.map(|stamp| stamp.length_bytes)) {
                seen.insert(path.clone());
            }
            actions.insert(path.clone(), Action::Skip);
            continue;
        };
        seen.insert(path.clone());
        let send = send_step(earlier.sent.map(row), &new, false);
        actions.insert(
            path.clone(),
            match (new.content.is_some(), was_read, send) {
                (false, ..) => Action::Report,
                (true, true, _) => Action::Read,
                (true, false, SendStep::Keep) => Action::Keep,
                (true, false, _) => Action::Resend,
            },
        );
        index.insert(path.clone(), new);
    }
    let removal = RemovalRules { selection, is_text: false, unreadable: &failed };
    for path in index.keys().filter(|path| !seen.contains(*path)).cloned().collect::<Vec<_>>() {
        if removal.is_removed(&path) {
            actions.insert(path.clone(), Action::Remove);
            index.remove(&path);
        }
    }
    (actions, index)
}

#[test]
fn remembered_and_walked_documents_make_a_plan() {
    let (old, new, large) = (stamp(5, 1), stamp(5, 2), stamp(11, 3));
    let memory = |stamp| Some(Memory { stamp, chosen: false, stored: true });
    let check = |memory, sent, walked: Option<Walked>, expected: Option<Action>| {
        let earlier = [(path("a"), Earlier { memory, sent })].into();
        let walked = walked.map(|walked| (path("a"), walked)).into_iter().collect();
        let (actions, _) = execute(&up_to(10), &earlier, &walked);
        assert_eq!(actions.get(&path("a")).copied(), expected, "{memory:?} {sent:?} {walked:?}");
    };
    let file = |stamp| Some(Walked::File(stamp));
    let denied = Some(Walked::Unreadable(DocumentState::PermissionDenied));
    check(None, None, file(old), Some(Action::Read));
    check(memory(old), Some(old), file(old), Some(Action::Keep));
    check(memory(old), Some(old), file(new), Some(Action::Read));
    // The coordinator lost the index, or it holds an earlier version.
    check(memory(old), None, file(old), Some(Action::Resend));
    check(memory(new), Some(old), file(new), Some(Action::Resend));
    // The cache was lost.
    check(None, Some(old), file(old), Some(Action::Read));
    check(memory(old), Some(old), None, Some(Action::Remove));
    check(None, Some(old), None, Some(Action::Remove));
    check(memory(old), None, None, None);
    check(memory(old), Some(old), denied, Some(Action::Report));
    check(memory(large), None, file(large), Some(Action::Skip));
    check(memory(large), Some(large), file(large), Some(Action::Skip));
    // A small version was sent, and the large one is not selected.
    check(memory(old), Some(old), file(large), Some(Action::Remove));
}

fn versions() -> impl Strategy<Value = Stamp> {
    (prop_oneof![Just(5u64), Just(11)], 1u64..4).prop_map(|(length_bytes, version)| stamp(length_bytes, version))
}

fn paths() -> impl Strategy<Value = DocumentPath> {
    prop_oneof!["[ab]", "[ab]/[ab]", "[ab]/[ab]/[ab]"].prop_map(|text| path(&text))
}

fn earlier() -> impl Strategy<Value = Earlier> {
    let memory = (versions(), any::<bool>()).prop_map(|(stamp, stored)| Memory { stamp, chosen: false, stored });
    (proptest::option::of(memory), proptest::option::of(versions())).prop_map(|(memory, sent)| Earlier { memory, sent })
}

fn walked() -> impl Strategy<Value = Walked> {
    prop_oneof![
        4 => versions().prop_map(Walked::File),
        1 => Just(Walked::Unreadable(DocumentState::PermissionDenied)),
    ]
}

proptest! {
    /// The model knows nothing of steps: the index after a sync is what the walk found, and what may still exist.
    #[test]
    fn the_index_after_a_plan_is_the_one_of_a_naive_model(
        earlier in btree_map(paths(), earlier(), 0..12),
        walked in btree_map(paths(), walked(), 0..12),
    ) {
        let selection = up_to(10);
        let (actions, index) = execute(&selection, &earlier, &walked);
        let mut model = BTreeMap::new();
        for path in earlier.keys().chain(walked.keys()) {
            let sent = earlier.get(path).and_then(|earlier| earlier.sent);
            let is_hidden = walked.iter().any(|(folder, walked)| {
                matches!(walked, Walked::Unreadable(_)) && path.to_string().starts_with(&format!("{folder}/"))
            });
            let new = match walked.get(path) {
                Some(Walked::File(stamp)) if stamp.length_bytes <= 10 => Some(row(*stamp)),
                // Too large now: the row stays if it was too large when it was sent, or if it may be hidden.
                Some(Walked::File(_)) => sent.filter(|sent| sent.length_bytes > 10 || is_hidden).map(row),
                Some(Walked::Unreadable(state)) => Some(unreadable(*state)),
                None => sent.filter(|_| is_hidden).map(row),
            };
            model.extend(new.map(|row| (path.clone(), row)));
        }
        prop_assert_eq!(&index, &model);
        for (path, action) in &actions {
            let memory = earlier.get(path).and_then(|earlier| earlier.memory).filter(|memory| memory.stored);
            let is_known = memory.is_some_and(|memory| walked.get(path) == Some(&Walked::File(memory.stamp)));
            prop_assert!(!(is_known && *action == Action::Read), "{path} is read although it is known");
            let sends = matches!(action, Action::Read | Action::Resend | Action::Report | Action::Remove);
            let changes = index.get(path) != earlier.get(path).and_then(|earlier| earlier.sent).map(row).as_ref();
            prop_assert!(sends || !changes, "{path} changes by {action:?}");
        }
    }

    /// A second sync of an unchanged repository reads nothing, sends nothing and removes nothing.
    #[test]
    fn a_second_sync_of_the_same_documents_keeps_them(documents in btree_map(paths(), versions(), 0..12)) {
        let earlier = documents.iter().map(|(path, stamp)| {
            let memory = Some(Memory { stamp: *stamp, chosen: false, stored: true });
            (path.clone(), Earlier { memory, sent: Some(*stamp) })
        });
        let walked = documents.iter().map(|(path, stamp)| (path.clone(), Walked::File(*stamp))).collect();
        let (actions, index) = execute(&Selection::all(), &earlier.collect(), &walked);
        prop_assert!(actions.values().all(|action| *action == Action::Keep));
        prop_assert_eq!(index.len(), documents.len());
    }
}
