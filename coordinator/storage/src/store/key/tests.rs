//! Every key is the same after a round trip, no two keys of a tree are mixed up, and a prefix covers what it names.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Names of two letters and a separator, so that one name is often the beginning of another.
fn name<N: std::str::FromStr + std::fmt::Debug>() -> impl Strategy<Value = N> {
    "[ab][ab-]{0,2}".prop_filter_map("a valid name", |name| name.parse().ok())
}

fn kind() -> impl Strategy<Value = v1::MemberKind> {
    prop_oneof![Just(v1::MemberKind::Site), Just(v1::MemberKind::Operator)]
}

/// Sixteen bytes, often of zeros, with which names end too.
fn sixteen() -> impl Strategy<Value = [u8; 16]> {
    prop_oneof![Just([0; 16]), any::<[u8; 16]>()]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4_u64, any::<u64>()]
}

fn slot() -> impl Strategy<Value = SlotKey> {
    (name(), name(), sixteen(), proptest::option::of(sixteen())).prop_map(|(site, repository, method_id, scope)| {
        SlotKey { site, repository, method_id: MethodId(method_id), scope: scope.map(ScopeId) }
    })
}

fn part() -> impl Strategy<Value = ActionPart> {
    (number(), 0..3_u32).prop_map(|(action, part)| ActionPart { action, part })
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        prop_oneof![Just(Key::Schema), Just(Key::Journal), Just(Key::Number)],
        (kind(), name()).prop_map(|(kind, name)| Key::Member(kind, name)),
        name().prop_map(Key::Seen),
        slot().prop_map(Key::Slot),
        slot().prop_map(Key::Used),
        number().prop_map(|number| Key::Index(IndexId(number))),
        number().prop_map(|number| Key::Scan(ScanId(number))),
        prop_oneof![name().prop_map(Key::Profile), name().prop_map(Key::Schedule)],
        prop_oneof![name().prop_map(Key::Watch), name().prop_map(Key::Case)],
        (name(), name(), name()).prop_map(|(watch, site, repository)| Key::Watched(watch, site, repository)),
        number().prop_map(Key::Template),
        sixteen().prop_map(|id| Key::Verdict(verdict::Key::parse(&[&[1, 0], &id[..]].concat()).unwrap())),
        part().prop_map(Key::VerdictAction),
        number().prop_map(Key::VerdictLog),
        name().prop_map(Key::SavedFilter),
        prop_oneof![any::<u64>().prop_map(Key::Sample), name().prop_map(Key::Party)],
    ]
}

fn begins_with(key: &Key, prefix: &Prefix) -> bool {
    key.tree() == prefix.tree && key.to_bytes().starts_with(&prefix.bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_key_is_read_back(key in key()) {
        prop_assert_eq!(Key::from_bytes(key.tree(), &key.to_bytes()), Some(key));
    }

    #[test]
    fn two_keys_of_a_tree_have_different_bytes(keys in vec(key(), 2..40)) {
        for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
            if a != b && a.tree() == b.tree() {
                prop_assert_ne!(a.to_bytes(), b.to_bytes());
            }
        }
    }

    #[test]
    fn any_bytes_are_a_key_or_nothing_and_a_key_has_one_form(tree in 0..Tree::ALL.len(), bytes in vec(0..3_u8, 0..40)) {
        if let Some(key) = Key::from_bytes(Tree::ALL[tree], &bytes) {
            prop_assert_eq!(key.tree(), Tree::ALL[tree]);
            prop_assert_eq!(key.to_bytes(), bytes);
        }
    }

    #[test]
    fn a_prefix_covers_the_keys_that_it_names_and_no_others(
        keys in vec(key(), 1..40), kind in kind(), watch in name::<String>(), action in number(),
    ) {
        for key in &keys {
            let of_kind = matches!(key, Key::Member(own, _) if *own == kind);
            prop_assert_eq!(begins_with(key, &Prefix::members(kind)), of_kind);
            let of_watch = matches!(key, Key::Watched(own, ..) if *own == watch);
            prop_assert_eq!(begins_with(key, &Prefix::watched(&watch)), of_watch);
            let of_action = matches!(key, Key::VerdictAction(part) if part.action == action);
            prop_assert_eq!(begins_with(key, &Prefix::action(action)), of_action);
            for tree in Tree::ALL {
                prop_assert_eq!(begins_with(key, &Prefix::all(tree)), key.tree() == tree);
            }
        }
    }

    #[test]
    fn rows_sort_by_number(a in any::<u64>(), b in any::<u64>()) {
        let keys = |number| {
            let part = ActionPart { action: number, part: 0 };
            [Key::Index(IndexId(number)), Key::VerdictLog(number), Key::VerdictAction(part)].map(|key| key.to_bytes())
        };
        for (one, other) in keys(a).iter().zip(keys(b)) {
            prop_assert_eq!(one.cmp(&other), a.cmp(&b));
        }
    }
}

#[test]
fn the_list_of_trees_is_complete_and_each_has_its_own_name() {
    let names: std::collections::BTreeSet<_> = Tree::ALL.iter().map(|tree| tree.name()).collect();
    assert_eq!(names.len(), Tree::ALL.len());
    assert!(Tree::ALL.iter().enumerate().all(|(place, tree)| *tree as usize == place));
}
