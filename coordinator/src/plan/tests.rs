use proptest::prelude::*;

use super::*;

fn document(site: &str, path: &str, modified: &str) -> Located {
    Located {
        message_id_hash: None,
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

fn told(documents: &[(&str, &str, &str)], keep: &Keep) -> (Vec<String>, Option<Left>) {
    let documents = documents.iter().map(|(site, path, modified)| document(site, path, modified)).collect();
    let decision = decide("set".to_owned(), 10, documents, keep);
    let shown = decision.members.iter().map(|member| {
        format!("{} {}", member.document.path, member.kept.as_ref().map_or("goes".to_owned(), ToString::to_string))
    });
    (shown.collect(), decision.left)
}

#[test]
fn the_first_rule_that_tells_two_apart_counts() {
    let documents = [("a", "x", "2020"), ("a", "y", "2021"), ("b", "z", "2021")];
    let (shown, left) = told(&documents, &keep(&["newest", "prefer:b"], 1));
    assert_eq!((shown, left), (vec!["x goes".to_owned(), "y goes".to_owned(), "z prefer:b".to_owned()], None));
    let (shown, _) = told(&documents, &keep(&["oldest"], 1));
    assert_eq!(shown[0], "x oldest");
}

#[test]
fn what_the_rules_do_not_tell_apart_is_left_and_said() {
    let documents = [("a", "x", "2021"), ("a", "y", "2021"), ("b", "z", "2020")];
    let (shown, left) = told(&documents, &keep(&["newest"], 1));
    assert_eq!((shown, left), (vec!["x tie".to_owned(), "y tie".to_owned(), "z tie".to_owned()], Some(Left::Tie)));
    // Both of them are wanted: the tie is not where the line is drawn.
    let (shown, left) = told(&documents, &keep(&["newest"], 2));
    assert_eq!((shown, left), (vec!["x newest".to_owned(), "y min-copies".to_owned(), "z goes".to_owned()], None));
    assert_eq!(told(&documents, &keep(&[], 1)).1, Some(Left::Tie));
}

#[test]
fn a_reference_keeps_all_that_stands_there() {
    let documents = [("a", "r/x", "2021"), ("a", "r/y", "2020"), ("b", "z", "2020"), ("b", "w", "2020")];
    let (shown, left) = told(&documents, &keep(&["reference:a/main/r"], 1));
    let expected = ["r/x reference:a/main/r", "r/y reference:a/main/r", "z goes", "w goes"].map(str::to_owned);
    assert_eq!((shown, left), (expected.to_vec(), None));
    // A third copy is wanted, and nothing says which.
    assert_eq!(told(&documents, &keep(&["reference:a/main/r"], 3)).1, Some(Left::Tie));
    assert_eq!(told(&documents, &keep(&["reference:a", "shortest-path"], 4)).1, Some(Left::Few));
}

#[test]
fn what_stands_inside_of_another_document_stays_and_stands_for_nothing() {
    let documents = [("a", "m.zip!/x", "2021"), ("a", "x", "2020")];
    let (shown, left) = told(&documents, &keep(&["newest"], 1));
    assert_eq!(left, Some(Left::Few));
    assert_eq!(shown, ["m.zip!/x inside of another document", "x no more than must be kept"]);
}

#[test]
fn names_of_copies_go_first() {
    let documents = [("a", "Copy of plan.doc", "2021"), ("a", "plan.doc", "2021"), ("a", "plan (1).doc", "2021")];
    let (shown, _) = told(&documents, &keep(&["not-a-copy"], 1));
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

proptest! {
    #[test]
    fn never_all_go_and_never_too_few_stay(
        documents in proptest::collection::vec(("[abc]", "(x/)?[pq]{1,3}(\\.bak)?", "202[0-3]"), 2..9),
        rules in proptest::collection::vec(any_rule(), 0..4),
        min_copies in 0usize..5,
        rotate in 0usize..9,
    ) {
        let mut documents: Vec<Located> =
            documents.iter().map(|(site, path, modified)| document(site, path, modified)).collect();
        documents.sort_by(|a, b| (&a.site, &a.path).cmp(&(&b.site, &b.path)));
        documents.dedup_by(|a, b| (&a.site, &a.path) == (&b.site, &b.path));
        let keep = keep(&rules, min_copies);
        let decision = decide("set".to_owned(), 10, documents.clone(), &keep);
        let (kept, gone) = (decision.kept().count(), decision.gone().count());
        prop_assert_eq!(kept + gone, documents.len());
        prop_assert!(kept >= min_copies.max(1).min(documents.len()), "{:?}", decision);
        prop_assert!(decision.left.is_none() == (gone > 0));
        for member in decision.gone() {
            prop_assert!(!keep.rules.iter().any(|rule| rule.is_reference_of(&member.document)), "a reference goes");
            // Whatever is kept by choice is better than what goes, and that is told by a rule.
            for better in decision.kept().filter(|kept| !matches!(kept.kept, Some(Why::Reference(_)))) {
                prop_assert_eq!(compare(&keep.rules, &better.document, &member.document).0, Ordering::Less);
            }
        }
        // In whatever order they come, the same ones are kept.
        let count = documents.len();
        documents.rotate_left(rotate % count);
        let again = decide("set".to_owned(), 10, documents, &keep);
        let of = |decision: &Decision| {
            let mut gone: Vec<_> =
                decision.gone().map(|member| (member.document.site.clone(), member.document.path.clone())).collect();
            gone.sort();
            gone
        };
        prop_assert_eq!(of(&decision), of(&again));
    }
}
