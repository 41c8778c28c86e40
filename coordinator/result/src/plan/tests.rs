use proptest::prelude::*;

use super::*;
use crate::report::VerdictSection;

fn document(site: &str, path: &str, modified: &str) -> Located {
    Located {
        message_id_hash: None,
        recognised: None,
        modified: modified.to_owned(),
        path: path.to_owned(),
        path_escaped: None,
        repository: "main".to_owned(),
        site: site.to_owned(),
        size_bytes: None,
    }
}

fn keep(rules: &[&str], min_copies: usize) -> Keep {
    Keep { rules: rules.iter().map(|rule| rule.parse().unwrap()).collect(), min_copies }
}

fn group(documents: Vec<(Located, Option<Said>)>, said: Vec<Said>) -> Group {
    Group { digest: "set".to_owned(), size_bytes: 10, documents, said }
}

fn said(about: &'static str, verdict: &'static str, changed: bool) -> Said {
    let changed = changed.then(|| "1 member added".to_owned());
    let (by, time) = ("anna".to_owned(), "2026".to_owned());
    Said { about, id: None, view: None, verdict: VerdictSection { by, changed, note: None, time, verdict } }
}

fn decided(documents: &[(&str, &str, &str)], keep: &Keep) -> (Vec<String>, Option<Left>) {
    let documents: Vec<_> = documents.iter().map(|document| (*document, "")).collect();
    decided_with(&documents, &[], keep)
}

/// The same with a verdict about each document, if it is not empty, and with verdicts about all of them.
fn decided_with(
    documents: &[((&str, &str, &str), &'static str)],
    all: &[Said],
    keep: &Keep,
) -> (Vec<String>, Option<Left>) {
    let documents = documents.iter().map(|((site, path, modified), verdict)| {
        let said = (!verdict.is_empty()).then(|| said("document", verdict, false));
        (document(site, path, modified), said)
    });
    let decision = decide(group(documents.collect(), all.to_vec()), keep);
    let shown = decision.members.iter().map(|member| {
        format!("{} {}", member.document.path, member.kept.as_ref().map_or("goes".to_owned(), ToString::to_string))
    });
    (shown.collect(), decision.left)
}

#[test]
fn the_first_rule_that_tells_two_apart_counts() {
    let documents = [("a", "x", "2020"), ("a", "y", "2021"), ("b", "z", "2021")];
    let (shown, left) = decided(&documents, &keep(&["newest", "prefer:b"], 1));
    assert_eq!((shown, left), (vec!["x goes".to_owned(), "y goes".to_owned(), "z prefer:b".to_owned()], None));
    let (shown, _) = decided(&documents, &keep(&["oldest"], 1));
    assert_eq!(shown[0], "x oldest");
}

#[test]
fn what_the_rules_do_not_tell_apart_is_left_and_said() {
    let documents = [("a", "x", "2021"), ("a", "y", "2021"), ("b", "z", "2020")];
    let (shown, left) = decided(&documents, &keep(&["newest"], 1));
    assert_eq!((shown, left), (vec!["x tie".to_owned(), "y tie".to_owned(), "z tie".to_owned()], Some(Left::Tie)));
    // Both of them are wanted: the tie is not where the line is drawn.
    let (shown, left) = decided(&documents, &keep(&["newest"], 2));
    assert_eq!((shown, left), (vec!["x newest".to_owned(), "y min-copies".to_owned(), "z goes".to_owned()], None));
    assert_eq!(decided(&documents, &keep(&[], 1)).1, Some(Left::Tie));
}

#[test]
fn a_reference_retains_all_documents_below_it() {
    let documents = [("a", "r/x", "2021"), ("a", "r/y", "2020"), ("b", "z", "2020"), ("b", "w", "2020")];
    let (shown, left) = decided(&documents, &keep(&["reference:a/main/r"], 1));
    let expected = ["r/x reference:a/main/r", "r/y reference:a/main/r", "z goes", "w goes"].map(str::to_owned);
    assert_eq!((shown, left), (expected.to_vec(), None));
    // A third copy is wanted, and nothing says which.
    assert_eq!(decided(&documents, &keep(&["reference:a/main/r"], 3)).1, Some(Left::Tie));
    assert_eq!(decided(&documents, &keep(&["reference:a", "shortest-path"], 4)).1, Some(Left::Few));
}

#[test]
fn a_document_inside_of_another_stays_and_serves_no_other() {
    let documents = [("a", "m.zip!/x", "2021"), ("a", "x", "2020")];
    let expected = ["m.zip!/x inside of another document", "x no more than must be kept"];
    // Not even below a reference, or with a verdict to keep it.
    for rule in ["newest", "reference:a/main/m.zip!"] {
        let (shown, left) = decided(&documents, &keep(&[rule], 1));
        assert_eq!((shown, left), (expected.map(str::to_owned).to_vec(), Some(Left::Few)), "{rule}");
    }
    let (shown, _) = decided_with(&[(documents[0], "keep"), (documents[1], "")], &[], &keep(&["newest"], 1));
    assert_eq!(shown, expected);
}

#[test]
fn what_is_to_be_left_alone_is_left_out_and_whoever_says_otherwise_makes_it_a_tie() {
    let documents = [(("a", "x", "2021"), ""), (("b", "y", "2020"), "")];
    let newest = keep(&["newest"], 1);
    let left = |all: &[Said]| decided_with(&documents, all, &newest);
    for (word, shown) in [
        ("intentional", "verdict: intentional"),
        ("not-a-duplicate", "verdict: not-a-duplicate"),
        ("keep", "verdict: keep"),
    ] {
        for about in ["identical", "cluster"] {
            let expected = [format!("x {shown}"), format!("y {shown}")];
            assert_eq!(left(&[said(about, word, false)]), (expected.to_vec(), Some(Left::Verdict)), "{word} {about}");
        }
        // Another person says that it is a duplicate: all of the group, or one of its documents.
        assert_eq!(left(&[said("cluster", word, false), said("identical", "duplicate", false)]).1, Some(Left::Tie));
        let one = [(documents[0].0, "duplicate"), documents[1]];
        assert_eq!(decided_with(&one, &[said("cluster", word, false)], &newest).1, Some(Left::Tie), "{word}");
        // It was another cluster of which that was said: nothing goes until somebody has looked again.
        assert_eq!(left(&[said("cluster", word, true)]).1, Some(Left::Tie), "{word}");
        assert_eq!(left(&[said("cluster", word, true), said("identical", "duplicate", false)]).1, None, "{word}");
    }
    for word in ["duplicate", "done"] {
        for changed in [false, true] {
            assert_eq!(left(&[said("identical", word, changed)]), decided(&[documents[0].0, documents[1].0], &newest));
        }
    }
    let decision = decide(
        group(
            vec![(document("a", "x", "2021"), None)],
            vec![said("cluster", "keep", false), said("identical", "duplicate", false)],
        ),
        &newest,
    );
    assert_eq!(decision.said.len(), 2, "both contradicting verdicts are listed");
    let mut totals = Totals::default();
    totals.add(&decision, &newest);
    assert_eq!((totals.ties, totals.unclear, totals.left_out), (1, 1, 0));
}

#[test]
fn a_document_with_verdict_keep_is_a_copy_that_stays_and_a_copy_on_purpose_stays_too() {
    let of = |verdicts: [&'static str; 3], rules: &[&str], min_copies: usize| {
        let places = [("a", "x", "2021"), ("a", "y", "2020"), ("b", "z", "2019")];
        let documents: Vec<_> = places.into_iter().zip(verdicts).collect();
        decided_with(&documents, &[], &keep(rules, min_copies))
    };
    let lines = |lines: [&str; 3]| lines.map(str::to_owned).to_vec();
    // The rule would have preferred x.
    assert_eq!(of(["", "", "keep"], &["newest"], 1), (lines(["x goes", "y goes", "z verdict: keep"]), None));
    assert_eq!(of(["", "", "keep"], &["newest"], 2), (lines(["x min-copies", "y goes", "z verdict: keep"]), None));
    assert_eq!(of(["", "keep", "keep"], &[], 1), (lines(["x goes", "y verdict: keep", "z verdict: keep"]), None));
    // A copy on purpose serves no other.
    let both_stay = lines(["x newest", "y goes", "z verdict: intentional"]);
    assert_eq!(of(["", "", "intentional"], &["newest"], 1), (both_stay, None));
    assert_eq!(of(["", "intentional", "not-a-duplicate"], &["newest"], 1).1, Some(Left::Few));
    // Nothing of it was decided to go, and all of it to stay.
    assert_eq!(of(["keep", "keep", "keep"], &["newest"], 1).1, Some(Left::Few));
}

#[test]
fn a_document_that_is_a_duplicate_goes_before_others_and_never_all_of_them_do() {
    let of = |verdicts: [&'static str; 3], rules: &[&str], min_copies: usize| {
        let places = [("a", "x", "2021"), ("a", "y", "2020"), ("b", "z", "2019")];
        let documents: Vec<_> = places.into_iter().zip(verdicts).collect();
        decided_with(&documents, &[], &keep(rules, min_copies))
    };
    let lines = |lines: [&str; 3]| lines.map(str::to_owned).to_vec();
    // The rule would have preferred x. Without one, verdicts alone distinguish documents.
    assert_eq!(of(["duplicate", "", ""], &["newest"], 1), (lines(["x goes", "y newest", "z goes"]), None));
    let expected = lines(["x goes", "y goes", "z verdict: the others are duplicates"]);
    assert_eq!(of(["duplicate", "duplicate", ""], &[], 1), (expected, None));
    assert_eq!(of(["duplicate", "", ""], &[], 1).1, Some(Left::Tie));
    assert_eq!(of(["duplicate", "", ""], &[], 2).1, None);
    // All of them: the rules say which stays.
    assert_eq!(of(["duplicate"; 3], &["newest"], 1), (lines(["x newest", "y goes", "z goes"]), None));
    assert_eq!(of(["duplicate"; 3], &[], 1).1, Some(Left::Tie));
    assert_eq!(of(["duplicate"; 3], &["newest"], 3).1, Some(Left::Few));
    // As many stay as the options ask for, and no document goes from a reference.
    let expected = lines(["x verdict: the others are duplicates", "y min-copies", "z goes"]);
    assert_eq!(of(["", "duplicate", "duplicate"], &["newest"], 2), (expected, None));
    assert_eq!(of(["duplicate", "", ""], &["reference:a", "newest"], 1).0[0], "x reference:a");
}

#[test]
fn names_of_copies_go_first() {
    let documents = [("a", "Copy of plan.doc", "2021"), ("a", "plan.doc", "2021"), ("a", "plan (1).doc", "2021")];
    let (shown, _) = decided(&documents, &keep(&["not-a-copy"], 1));
    assert_eq!(shown, ["Copy of plan.doc goes", "plan.doc not-a-copy", "plan (1).doc goes"]);
}

fn any_rule() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("newest"),
        Just("oldest"),
        Just("shortest-path"),
        Just("longest-path"),
        Just("not-a-copy"),
        Just("prefer:a"),
        Just("prefer:b/main/x"),
        Just("reference:c"),
        Just("reference:b/main/x"),
        Just("path:x/*"),
        Just("not-path:*.bak"),
    ]
}

fn any_verdict() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        6 => Just(""),
        2 => Just("duplicate"),
        1 => Just("keep"),
        1 => Just("intentional"),
        1 => Just("not-a-duplicate"),
        1 => Just("done"),
    ]
}

proptest! {
    #[test]
    fn never_all_go_and_never_too_few_stay(
        documents in proptest::collection::vec(("[abc]", "(x/)?[pq]{1,3}(\\.bak)?", "202[0-3]"), 2..9),
        rules in proptest::collection::vec(any_rule(), 0..4),
        verdicts in proptest::collection::vec(any_verdict(), 9),
        all in proptest::collection::vec(("[ab]", any_verdict(), any::<bool>()), 0..3),
        min_copies in 0usize..5,
        rotate in 0usize..9,
    ) {
        let documents = documents.iter().zip(verdicts).map(|((site, path, modified), verdict)| {
            (document(site, path, modified), (!verdict.is_empty()).then(|| said("document", verdict, false)))
        });
        let mut documents: Vec<_> = documents.collect();
        documents.sort_by(|(a, _), (b, _)| (&a.site, &a.path).cmp(&(&b.site, &b.path)));
        documents.dedup_by(|(a, _), (b, _)| (&a.site, &a.path) == (&b.site, &b.path));
        let all = all.iter().filter(|(.., verdict, _)| !verdict.is_empty()).map(|(about, verdict, changed)| {
            said(if about == "a" { "cluster" } else { "identical" }, verdict, *changed)
        });
        let all: Vec<Said> = all.collect();
        let keep = keep(&rules, min_copies);
        let decision = decide(group(documents.clone(), all.clone()), &keep);
        let (staying, gone) = (decision.staying().count(), decision.gone().count());
        prop_assert_eq!(staying + gone, documents.len());
        prop_assert!(staying >= min_copies.max(1).min(documents.len()), "{:?}", decision);
        prop_assert!(decision.left.is_none() == (gone > 0));
        for member in decision.gone() {
            prop_assert!(!keep.rules.iter().any(|rule| rule.is_reference_of(&member.document)), "a reference goes");
            let verdict = member.said.as_ref().map_or("", |said| said.verdict.verdict);
            prop_assert!(matches!(verdict, "" | "duplicate" | "done"), "what somebody protects goes: {:?}", decision);
            // A document that stays by choice is better than one that goes, by a verdict or a rule.
            for better in decision.staying() {
                if !matches!(better.kept, Some(Why::Reference(_) | Why::Verdict(_))) {
                    prop_assert_eq!(compare(&keep.rules, better, member).0, Ordering::Less);
                }
            }
        }
        if gone > 0 {
            let protects = |said: &Said| matches!(said.verdict.verdict, "keep" | "intentional" | "not-a-duplicate");
            prop_assert!(!all.iter().any(|said| protects(said) && said.verdict.changed.is_none()));
        }
        // The order of the documents does not change the decision.
        let count = documents.len();
        documents.rotate_left(rotate % count);
        let again = decide(group(documents, all), &keep);
        let of = |decision: &Decision| {
            let mut gone: Vec<_> =
                decision.gone().map(|member| (member.document.site.clone(), member.document.path.clone())).collect();
            gone.sort();
            gone
        };
        prop_assert_eq!(of(&decision), of(&again));
    }
}
