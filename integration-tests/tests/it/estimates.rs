//! Estimates of a federation from a sample: what is read for one, what it says, and the complete scan after it.

use cognate_integration_tests::{Browser, Federation, Files};
use serde_json::Value;

/// A third of the documents are copies at another path, a sixth are versions at the same place, and half are nobody else's.
fn releases(own_seed: u64) -> Federation {
    let mut federation = Federation::new(own_seed);
    let (mut old, mut new) = (Files::new(), Files::new());
    for number in 0..600_usize {
        let bytes = 2000 + federation.dice.between(0, 3000);
        let text = federation.dice.bytes(bytes);
        old.insert(format!("release-1/part {}/{number}.txt", number % 9), text.clone());
        match number % 6 {
            0 | 1 => drop(new.insert(format!("release-2/moved/{number} of old.txt"), text)),
            2 => {
                let edited = [&text[..], &federation.dice.bytes(300)[..]].concat();
                new.insert(format!("release-2/part {}/{number}.txt", number % 9), edited);
            }
            _ => {
                let bytes = 2000 + federation.dice.between(0, 3000);
                new.insert(format!("release-2/part {}/other {number}.txt", number % 9), federation.dice.bytes(bytes));
            }
        }
    }
    federation.add("old", &old);
    federation.add("new", &new);
    federation.sandbox.settle();
    federation.start_all();
    federation
}

fn launch(federation: &Federation, more: &[&str]) -> cognate_integration_tests::Run {
    let repositories = federation.repositories();
    federation.operate(&[&["scan", "launch", "--yes", "--repositories", &repositories], more].concat())
}

#[test]
fn a_sample_says_what_two_sites_have_in_common_and_a_complete_scan_goes_on_from_it() {
    let federation = releases(1171);
    let said = launch(&federation, &["--estimate=20"]).expect(0);
    assert!(said.text().contains("About ") && said.text().contains("in 95 of 100 cases"), "{}", said.text());
    let sample = federation.operate(&["report", "latest", "--format", "json"]).expect(0).json();
    assert_eq!(sample["scan"]["selection"]["sample_percent"], 20);
    let estimates = sample["scan"]["estimates"].as_array().unwrap();
    assert_eq!(estimates.len(), 2, "{estimates:?}");
    for row in estimates {
        let [share, low, high] = [0, 1, 2].map(|place| row["documents"][place].as_f64().unwrap());
        assert!(low <= 0.5 && 0.5 <= high && low <= share && share <= high && high - low < 0.35, "{row}");
        let sampled = row["sampled"].as_u64().unwrap();
        // Each of two draws takes a fifth.
        assert!((130..=310).contains(&sampled), "{row}");
    }
    let read = |report: &Value| -> u64 {
        let sites = report["scan"]["run"]["sites"].as_array().unwrap();
        sites.iter().map(|site| site["read_documents"].as_u64().unwrap()).sum()
    };
    let of_sample = read(&sample);
    assert!(of_sample < 620, "{of_sample} of 1,200 documents were read for the estimate");
    // What was sent is not read again, and the result is that of a comparison from nothing.
    let complete = federation.scan(&["--view", "raw"]).report();
    assert_eq!(read(&complete), 1200 - of_sample);
    let expected = federation.expected(&["--view", "raw"]);
    assert_eq!(complete["scan"]["digest"], expected["scan"]["digest"]);
    assert!(complete["scan"].get("estimates").is_none());
    // An index of everything is not reduced to a sample.
    let refused = launch(&federation, &["--estimate=20"]).refusal(1);
    assert!(refused.contains("has an index, which an estimate would reduce to a sample"), "{refused}");
    launch(&federation, &["--estimate=100"]).refusal(2);
    launch(&federation, &["--estimate=0"]).refusal(2);
}

#[test]
fn each_method_says_next_to_its_estimates_how_good_they_are() {
    let mut federation = Federation::new(1172);
    let text = federation.dice.bytes(60_000);
    let edited = [&text[..50_000], &federation.dice.bytes(10_000)[..]].concat();
    let policy = "[policy]\nmethods = [\"tttd\", \"min\"]\n";
    federation.add_with("paris", None, &Files::from([("a.txt".to_owned(), text)]), policy);
    federation.add_with("tokyo", None, &Files::from([("b.txt".to_owned(), edited)]), policy);
    federation.sandbox.settle();
    federation.start_all();
    let id = federation.scan(&["--method", "min"]).report()["scan"]["id"].as_str().unwrap().to_owned();
    let precision = "an estimate: the true share is from ";
    let close = "; such estimates are within 10 points of it in ";
    let text = federation.operate(&["report", &id]).expect(0);
    let folded: Vec<&str> = text.text().split_whitespace().collect();
    let folded = folded.join(" ");
    assert!(folded.contains(precision) && folded.contains(close), "{}", text.text());
    let (a, b) = ("paris/kb/a.txt", "tokyo/kb/b.txt");
    let explained = federation.operate(&["explain", &id, a, b]).expect(0);
    assert!(explained.text().contains(precision) && explained.text().contains(close), "{}", explained.text());
    let view = federation.operate(&["explain", &id, a, b, "--format", "json"]).expect(0).json()["views"][0].take();
    let [low, high] = [0, 1].map(|end| view["interval"][end].as_f64().unwrap());
    let share = view["resemblance"].as_f64().unwrap();
    assert!(low <= share && share <= high && view["within_tenth"].as_f64().unwrap() > 0.9, "{view}");
    let Some(browser) = Browser::signed_in(&federation) else { return };
    for page in [format!("/scans/{id}/clusters"), format!("/scans/{id}/explain?a={a}&b={b}")] {
        browser.open(&page);
        browser.see_in("main", precision);
    }
    browser.check();
}
