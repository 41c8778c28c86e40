//! Alignments of trees that are written down as paths and contents.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use cognate_similarity::{ContentIndex, Link};

use super::*;
use crate::measure::Measures;
use crate::subject::Subject;
use crate::test_support::{Tree, frozen};

/// Contents that are so many numbers apart are versions of each other.
const EDITED: u32 = 100_000;
/// Contents from this number on are boilerplate: each is a version of each other.
const BOILERPLATE: u32 = 500_000;
/// Contents from this number on have 11 bytes.
const TINY: u32 = 900_000;

fn tree(documents: &[(&str, u32)]) -> Tree {
    documents.iter().map(|(path, content)| ((*path).to_owned(), *content)).collect()
}

/// A folder of documents `0.txt` and on, with contents that follow each other.
fn folder(name: &str, contents: std::ops::Range<u32>) -> Tree {
    let path = |number: u32| if name.is_empty() { format!("{number}.txt") } else { format!("{name}/{number}.txt") };
    contents.clone().map(|content| (path(content - contents.start), content)).collect()
}

fn all(folders: &[Tree]) -> Tree {
    folders.iter().flat_map(|folder| folder.clone()).collect()
}

fn paths(tree: &Tree) -> Vec<&[u8]> {
    tree.keys().map(String::as_bytes).collect()
}

/// The alignment of two trees, by their equal contents. Contents that are [`EDITED`] apart are linked.
fn aligned(a: &Tree, b: &Tree, given: &[(&str, &str)]) -> Alignment {
    let mut frozen = frozen(&[a, b]);
    let numbers: BTreeMap<u32, ContentIndex> =
        a.values().chain(b.values()).copied().zip(frozen.documents.iter().map(|document| document.content)).collect();
    numbers.range(TINY..).for_each(|(_, content)| frozen.contents[content.0 as usize].size_bytes = 11);
    let subject = Subject::of(&frozen, false);
    let link = |a: &ContentIndex, b: &ContentIndex| Link { a: *a, b: *b, shared_bytes: 800 };
    let edited = numbers
        .range(..BOILERPLATE)
        .filter_map(|(number, content)| Some(link(content, numbers.get(&(number + EDITED))?)));
    let alike: Vec<&ContentIndex> = numbers.range(BOILERPLATE..TINY).map(|(_, content)| content).collect();
    let alike = alike.iter().enumerate().flat_map(|(place, a)| alike[place + 1..].iter().map(|b| link(a, b)));
    let links: Vec<Link> = edited.chain(alike).collect();
    let measures = Measures::of_chunks();
    let given = given.iter().map(|(a, b)| [a.as_bytes().to_vec(), b.as_bytes().to_vec()]).collect();
    let each_link = |visit: &mut dyn FnMut(&Link)| {
        links.iter().for_each(visit);
        Ok(())
    };
    find(&subject, &each_link, &measures, &AlignmentRequest { given, search: true }, None).unwrap().alignment
}

fn check(a: &Tree, b: &Tree, given: &[(&str, &str)], pairs: &[(&str, &str)]) {
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    for [a, b, turned] in [[a, b, &Tree::new()], [b, a, &tree(&[("x", 1)])]] {
        let is_turned = !turned.is_empty();
        let given: Vec<_> = given.iter().map(|(a, b)| if is_turned { (*b, *a) } else { (*a, *b) }).collect();
        let found = aligned(a, b, &given);
        let found: BTreeSet<_> =
            found.pairs().iter().map(|pair| pair.folders.each_ref().map(|path| text(path))).collect();
        let wanted = pairs.iter().map(|(a, b)| if is_turned { [*b, *a] } else { [*a, *b] });
        assert_eq!(found, wanted.map(|pair| pair.map(str::to_owned)).collect(), "turned: {is_turned}");
    }
}

/// Documents of the first tree: the same, changed, moved, only there; then those only in the second.
fn counts(a: &Tree, b: &Tree, given: &[(&str, &str)]) -> [usize; 5] {
    let matched = aligned(a, b, given).matched([&paths(a), &paths(b)]);
    let (documents_b, mut counts): (Vec<_>, _) = (b.iter().collect(), [0; 5]);
    let has = |tree: &Tree, content: u32| tree.values().any(|one| *one == content);
    let mut taken = BTreeSet::new();
    for (content, counterpart) in a.values().zip(matched) {
        let counterpart = counterpart.map(|(place, _)| place as usize);
        let other = counterpart.map(|place| *documents_b[place].1);
        let status = match other {
            Some(other) if other == *content => 0,
            _ if has(b, *content) => 2,
            Some(other) if !has(a, other) => 1,
            _ => 3,
        };
        counts[status] += 1;
        taken.extend(counterpart.filter(|_| status == 1));
    }
    counts[4] = documents_b
        .iter()
        .zip(0..)
        .filter(|((_, content), place)| !has(a, **content) && !taken.contains(place))
        .count();
    counts
}

#[test]
fn equal_trees_need_no_alignment() {
    let a = all(&[folder("", 0..3), folder("x", 3..9), folder("y/z", 9..12)]);
    check(&a, &a, &[], &[]);
    assert_eq!(counts(&a, &a, &[]), [12, 0, 0, 0, 0]);
}

#[test]
fn a_folder_of_another_name_or_depth_is_aligned_at_its_highest_name() {
    let a = all(&[folder("doc/lib-1.74", 0..4), folder("doc/lib-1.74/html", 4..8), folder("src", 8..12)]);
    let b = all(&[folder("doc/lib-1.81", 0..4), folder("doc/lib-1.81/html", 4..8), folder("src", 8..12)]);
    check(&a, &b, &[], &[("doc/lib-1.74", "doc/lib-1.81")]);
    check(
        &all(&[folder("src/x", 0..3), folder("src", 3..5)]),
        &all(&[folder("x", 0..3), folder("", 3..5)]),
        &[],
        &[("src", "")],
    );
    check(&folder("", 0..3), &folder("lib/django", 0..3), &[], &[("", "lib/django")]);
}

#[test]
fn every_folder_with_a_version_in_its_name_is_found() {
    let tree = |version: &str| {
        let folders = (0..200).map(|number| {
            let name = format!("usr/lib-{version}/share/doc/pkg{number}-{version}/v{version}");
            folder(&name, 10 * number..10 * number + 1 + number % 5)
        });
        all(&folders.collect::<Vec<_>>())
    };
    let (a, b) = (tree("1.2"), tree("1.10"));
    assert_eq!(counts(&a, &b, &[]), [a.len(), 0, 0, 0, 0]);
}

#[test]
fn documents_that_leave_a_folder_which_stays_are_moved() {
    let a = folder("inbox", 0..20);
    let b = all(&[folder("inbox", 0..14), folder("archive", 14..20)]);
    // The names in the archive are other ones: nothing is evidence for it.
    check(&a, &b, &[], &[]);
    let kept: Tree = a
        .iter()
        .map(|(path, content)| (path.replace("inbox", if *content < 8 { "inbox" } else { "old" }), *content))
        .collect();
    check(&a, &kept, &[], &[]);
    assert_eq!(counts(&a, &kept, &[]), [8, 0, 12, 0, 0]);
    // Two thirds are clearly more than the rest.
    let most: Tree = a
        .iter()
        .map(|(path, content)| (path.replace("inbox", if *content < 5 { "inbox" } else { "old" }), *content))
        .collect();
    check(&a, &most, &[], &[("inbox", "old")]);
    assert_eq!(counts(&a, &most, &[]), [20, 0, 0, 0, 0]);
}

#[test]
fn one_document_alone_moves_no_folder_unless_its_name_differs_in_numbers() {
    check(&tree(&[("old/x", 1), ("y", 2)]), &tree(&[("new/x", 1), ("y", 2)]), &[], &[]);
    check(&tree(&[("v1/x", 1), ("y", 2)]), &tree(&[("v2/x", 1), ("y", 2)]), &[], &[("v1", "v2")]);
    check(&tree(&[("v1/x", 1), ("v2/y", 2)]), &tree(&[("v2/x", 1), ("v2/y", 2)]), &[], &[]);
}

#[test]
fn what_chance_and_boilerplate_give_moves_no_folder() {
    let own = |name: &str| all(&[folder("docs", 0..8), folder(name, if name == "x" { 8..12 } else { 20..24 })]);
    let role = |name: &str, inventory, test| {
        tree(&[(&format!("{name}/tests/inventory"), inventory), (&format!("{name}/tests/test.yml"), test)])
    };
    // A document of 11 bytes, and one of boilerplate.
    let a = all(&[own("x"), role("os6_ntp", TINY, BOILERPLATE)]);
    let b = all(&[own("y"), role("idrac", TINY, BOILERPLATE + 1)]);
    check(&a, &b, &[], &[]);
    check(&all(&[own("x"), role("os6", TINY, 50)]), &all(&[own("y"), role("os10", TINY, 60)]), &[], &[]);
    // Boilerplate alone, each of which is like all others, and copies that every folder has.
    let roles = |name: &str, first: u32, step| {
        let role = |number: u32| {
            let test = BOILERPLATE + first + step * number;
            role(&format!("{name}{number}x"), test, test + 50)
        };
        all(&[own(name), all(&(0..12).map(role).collect::<Vec<_>>())])
    };
    check(&roles("x", 0, 1), &roles("y", 100, 1), &[], &[]);
    check(&roles("x", 0, 0), &roles("y", 0, 0), &[], &[]);
}

#[test]
fn a_small_part_of_a_folder_moves_it_only_if_its_name_differs_in_numbers() {
    let a = |name: &str| all(&[folder(name, 0..40), folder("y", 100..110)]);
    let b = |name: &str| {
        let kept = folder(name, 0..40)
            .into_iter()
            .map(|(path, content)| (path, if content < 3 { content } else { content + 200 }));
        all(&[kept.collect(), folder("y", 100..110)])
    };
    check(&a("vendor/foo"), &b("third/bar"), &[], &[]);
    check(&a("vendor/lib-1.0.2"), &b("third/lib-1.1"), &[], &[("vendor/lib-1.0.2", "third/lib-1.1")]);
}

#[test]
fn a_copy_beside_the_original_leaves_everything_in_its_place() {
    let a = all(&[folder("", 0..3), folder("x", 3..9)]);
    let backup: Tree = a.iter().map(|(path, content)| (format!("backup/{path}"), *content)).collect();
    // The documents of the root were written anew, and their copies are in the backup.
    let b = all(&[folder("", 20..23), folder("x", 3..9), backup]);
    check(&a, &b, &[], &[]);
}

#[test]
fn a_part_of_the_root_is_aligned_where_another_part_stays() {
    let stays = folder("doc", 100..120);
    let a = all(&[folder("src", 0..10), folder("src/in", 10..15), stays.clone()]);
    let b = all(&[folder("", 0..10), folder("in", 10..15), stays.clone()]);
    check(&a, &b, &[], &[("src", "")]);
    assert_eq!(counts(&a, &b, &[]), [35, 0, 0, 0, 0]);
    let a = all(&[folder("x", 0..4), folder("y", 4..8), stays.clone()]);
    let b = all(&[folder("in/x", 0..4), folder("in/y", 4..8), stays]);
    check(&a, &b, &[], &[("x", "in/x"), ("y", "in/y")]);
}

#[test]
fn no_folder_is_in_two_pairs() {
    let a = folder("src", 0..10);
    let b: Tree = a
        .iter()
        .map(|(path, content)| (path.replace("src", if *content < 6 { "lib/a" } else { "lib/b" }), *content))
        .collect();
    check(&a, &b, &[], &[("src", "lib/a")]);
    assert_eq!(counts(&a, &b, &[]), [6, 0, 4, 0, 0]);
}

#[test]
fn what_is_given_comes_before_what_is_found() {
    let a = all(&[folder("x", 0..4), folder("x/v1", 10..14)]);
    let b = all(&[folder("y", 0..4), folder("z", 5..8), folder("z/v2", 10..14)]);
    check(&a, &b, &[], &[("x", "y"), ("x/v1", "z/v2")]);
    check(&a, &b, &[("x", "z")], &[("x", "z"), ("x/v1", "z/v2")]);
    assert_eq!(counts(&a, &b, &[("x", "z")]), [4, 0, 4, 0, 3]);
    check(&a, &b, &[("x/v1", "y")], &[("x/v1", "y")]);
}

#[test]
fn a_folder_has_the_place_that_the_deepest_pair_above_it_gives() {
    let pair = |a: &str, b: &str| AlignedPair { folders: [a.into(), b.into()], given: false };
    let alignment = Alignment::new(vec![pair("a", ""), pair("a/v1", "v2"), pair("c/d", "e/f/g")]);
    let check = |side, folder: &str, other: &str| {
        assert_eq!(alignment.opposite(side, folder.as_bytes()), other.as_bytes(), "{folder}");
    };
    check(0, "a", "");
    check(0, "a/x", "x");
    check(0, "a/v1/x", "v2/x");
    check(0, "a/v10", "v10");
    check(0, "c/d/e", "e/f/g/e");
    check(0, "c", "c");
    check(1, "", "a");
    check(1, "v2/x", "a/v1/x");
    check(1, "x", "a/x");
}

#[test]
fn likeness_is_counted_in_complete_names_from_the_end() {
    let check = |a: &[u8], b: &[u8], bytes| assert_eq!(search::common_end(a, b), bytes);
    check(b"a/x/y", b"b/x/y", 3);
    check(b"a/x/y", b"b/z/y", 1);
    check(b"foo", b"xfoo", 0);
    check(b"a/foo", b"a/xfoo", 0);
    check(b"y", b"b/y", 1);
    check(b"same/y", b"same/y", 6);
}

/// A tree of folders that share names and never contents.
fn trees() -> impl Strategy<Value = (Tree, Vec<u8>)> {
    let folders = prop::collection::vec((0..6_usize, 6..20_u32), 1..12);
    let tree = folders.prop_map(|folders| {
        let mut names: Vec<String> = Vec::new();
        let mut tree = Tree::new();
        for (number, (above, documents)) in folders.into_iter().enumerate() {
            let above = names.get(above).map(|above| format!("{above}/")).unwrap_or_default();
            names.push(format!("{above}f{number}"));
            let first = u32::try_from(number).unwrap() * 100;
            tree.extend(folder(names.last().unwrap(), first..first + documents));
        }
        tree
    });
    (tree, prop::collection::vec(any::<u8>(), 64))
}

/// The tree after some time: half of it is as it was. Of the rest, one document in eight is edited, one in eight written anew, one
/// in four is gone, and one in eight is elsewhere.
fn later(tree: &Tree, dice: &[u8]) -> Tree {
    let document = |((path, content), number): ((&String, &u32), usize)| match dice[number % dice.len()] {
        _ if content % 2 == 0 => Some((path.clone(), *content)),
        0..32 => Some((path.clone(), content + EDITED)),
        32..64 => Some((path.clone(), content + 10_000)),
        64..128 => None,
        128..160 => Some((format!("elsewhere/{content}/{}", path.rsplit('/').next().unwrap()), *content)),
        _ => Some((path.clone(), *content)),
    };
    tree.iter().zip(0..).filter_map(document).collect()
}

/// The same documents, with the names of all folders changed by `rename`, below another root.
fn elsewhere(tree: &Tree, root: &str, rename: impl Fn(&str) -> String) -> Tree {
    let path = |path: &str| {
        let (folders, name) = path.rsplit_once('/').unwrap();
        let folders: Vec<String> = folders.split('/').map(&rename).collect();
        format!("{root}{}/{name}", folders.join("/"))
    };
    tree.iter().map(|(old, content)| (path(old), *content)).collect()
}

proptest! {
    #[test]
    fn trees_that_do_not_line_up_have_the_counts_of_those_that_do((a, dice) in trees()) {
        let b = later(&a, &dice);
        let lined_up = counts(&a, &b, &[]);
        let same = |name: &str| name.to_owned();
        let version = |name: &str| format!("{name}-2.0");
        let [turned_same, changed, moved, only_a, only_b] = counts(&b, &a, &[]);
        prop_assert_eq!([turned_same, changed, moved, only_b, only_a], lined_up);
        for (root, rename) in [("lib/deep/", &same as &dyn Fn(&str) -> String), ("", &version), ("v3/", &version)] {
            prop_assert_eq!(counts(&a, &elsewhere(&b, root, rename), &[]), lined_up, "b at {:?}", root);
            prop_assert_eq!(counts(&elsewhere(&a, root, rename), &b, &[]), lined_up, "a at {:?}", root);
        }
    }

    #[test]
    fn copies_of_everything_do_not_lead_astray((tree, dice) in trees()) {
        let kept: Tree = tree.iter().map(|(path, content)| (format!("kept/{path}"), *content)).collect();
        let a = all(&[tree, kept]);
        let b = later(&a, &dice);
        let lined_up = counts(&a, &b, &[]);
        let below = elsewhere(&b, "lib/deep/", str::to_owned);
        prop_assert_eq!(counts(&a, &below, &[]), lined_up);
        prop_assert_eq!(counts(&elsewhere(&a, "lib/deep/", str::to_owned), &b, &[]), lined_up);
    }

    #[test]
    fn a_match_is_one_to_one_and_the_same_from_both_sides((a, dice) in trees()) {
        let b = elsewhere(&later(&a, &dice), "x/", |name| format!("{name}-1"));
        let forth = aligned(&a, &b, &[]).matched([&paths(&a), &paths(&b)]);
        let back = aligned(&b, &a, &[]).matched([&paths(&b), &paths(&a)]);
        let forth: BTreeSet<_> = forth.iter().zip(0_u32..).filter_map(|(to, from)| Some((from, (*to)?.0))).collect();
        let back: BTreeSet<_> = back.iter().zip(0_u32..).filter_map(|(to, from)| Some(((*to)?.0, from))).collect();
        prop_assert_eq!(&forth, &back);
        prop_assert_eq!(forth.iter().map(|(_, to)| to).collect::<BTreeSet<_>>().len(), forth.len());
    }
}

#[test]
fn paths_that_differ_in_case_or_in_the_way_of_accents_are_one_place_unless_a_repository_has_both() {
    let matched = |alignment: &Alignment, a: &[&str], b: &[&str]| {
        let [a, b] = [a, b].map(|paths| paths.iter().map(|path| path.as_bytes()).collect::<Vec<_>>());
        let found = alignment.matched([&a, &b]);
        found.into_iter().map(|found| found.map(|(other, _)| other)).collect::<Vec<_>>()
    };
    let none = Alignment::default();
    assert_eq!(matched(&none, &["README.TXT", "SRC/A"], &["readme.txt", "src/a"]), [Some(0), Some(1)]);
    assert_eq!(matched(&none, &["Re\u{301}sume\u{301}"], &["R\u{e9}sum\u{e9}"]), [Some(0)]);
    // An equal path is meant before one that is like it.
    assert_eq!(matched(&none, &["A", "a"], &["a"]), [None, Some(0)]);
    assert_eq!(matched(&none, &["A"], &["a", "\u{ff21}"]), [Some(0)]);
    assert_eq!(matched(&none, &["A.txt"], &["a.TXT", "a.txt"]), [None]);
    assert_eq!(matched(&none, &["A.txt", "a.TXT"], &["a.txt"]), [None, None]);
    let moved = Alignment::new(vec![AlignedPair { folders: [b"old".to_vec(), b"New".to_vec()], given: true }]);
    assert_eq!(matched(&moved, &["old/A.txt"], &["New/a.txt"]), [Some(0)]);
}
