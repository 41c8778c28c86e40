//! The bytes of an answer.

use cognate_fingerprint::{ContentDigest, View};

use super::*;
use crate::find::{Measure, Searched};

fn under() -> Under {
    let method = Method::parse("tttd", View::Text, Some(1000), "").unwrap();
    Under { method, id: method.id(&Key::none()) }
}

fn found(relation: FindRelation, estimated: bool, path: &[u8]) -> Match {
    let share = |ratio| {
        let (interval, within_tenth) =
            (estimated.then_some([Ratio(1), Ratio(9_000)]), estimated.then_some(Ratio(9_700)));
        Some(Share { ratio: Ratio(ratio), interval, within_tenth })
    };
    let measure = Measure {
        relation,
        shared_bytes: Some(7),
        resemblance: share(10_000),
        sought_in_found: share(2_900),
        found_in_sought: None,
        estimated,
    };
    let holder = Holder {
        site: "paris".parse().unwrap(),
        repository: "kb".parse().unwrap(),
        path: cognate_proto::path::DocumentPath::new(path).unwrap(),
        modified: 61,
        party: "home".to_owned(),
    };
    let place = (holder.site.clone(), holder.repository.clone());
    let coarse = || Coarse { place: Some(place), reason: "its site is not attached".to_owned(), refused: false };
    Match {
        digest: ContentDigest([7; 16]),
        size_bytes: 9,
        measure,
        precision: Some(if estimated { Precision::Coarse } else { Precision::Fine }),
        coarse: estimated.then(coarse),
        documents: 1,
        holders: vec![holder],
    }
}

fn answer() -> Answer {
    let coverage = |searched| Coverage {
        party: "home".to_owned(),
        site: "paris".to_owned(),
        repository: "kb".to_owned(),
        searched,
    };
    let searched = Searched { documents: 4, unread: 1, sealed: 61 };
    let lengths = RunLengths { p50: Some(1), p95: Some(2), p99: None };
    let matches =
        vec![found(FindRelation::Identical, false, b"a.txt"), found(FindRelation::Candidate, true, b"b\xff.txt")];
    let document = Found {
        size_bytes: 10,
        template_bytes: 2,
        run_lengths: Some(lengths),
        matches,
        documents: 3,
        documents_omitted: 1,
    };
    let empty =
        Found { run_lengths: None, matches: Vec::new(), documents: 0, documents_omitted: 0, ..document.clone() };
    Answer {
        coverage: vec![coverage(Ok(searched)), coverage(Err(Unsearched::NoIndex)), coverage(Err(Unsearched::OtherKey))],
        run_lengths: None,
        precision: Some(Precision::Coarse),
        coarse: vec![(Coarse { place: None, reason: "too long".to_owned(), refused: false }, 3)],
        documents: vec![document, empty],
        wanted: Vec::new(),
    }
}

fn record() -> FindRecord {
    FindRecord::of(&under(), &answer(), &["plan.docx".to_owned(), "none.txt".to_owned()])
}

#[test]
fn an_answer_is_written_as_it_always_was_with_its_fields_in_the_order_of_their_names() {
    let written = serde_json::to_string_pretty(&record()).unwrap() + "\n";
    assert_eq!(written, include_str!("find.json"));
    // A `Value` sorts its keys.
    assert_eq!(written, format!("{:#}\n", serde_json::json!(record())));
}

#[test]
fn an_answer_that_was_read_is_the_answer_that_was_written() {
    let written = serde_json::json!(record());
    let read: FindRecord = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::json!(read.documents), written["documents"]);
}
