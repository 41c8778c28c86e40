//! Damaged plans, which may come from anybody, and damaged journals of their moves.

use super::check;
use super::journal::{Entry, Journal, begin};
use crate::fuzz::run;

#[test]
fn any_plan_is_read_or_refused() {
    let plan = r#"{"schema":"cognate.plan/1","site":"a","scan":"1f","report_digest":"00","method":{"method":"tttd","parameters":"",
        "view":"raw","method_id":""},"keyed":false,"keep":[],"min_copies":1,"sets":[]}"#;
    run("plan", &[plan], |path| check::read(path).map(drop));
}

#[test]
fn any_journal_of_a_plan_is_read_or_refused() {
    let lines = [begin("a", "1f", "00", "now".to_owned()), Entry::Moved { number: 1 }];
    let lines = lines.map(|entry| serde_json::to_string(&entry).unwrap() + "\n").concat();
    run("plan-journal", &[&lines], |path| {
        let folder = path.parent().unwrap();
        std::fs::rename(path, folder.join(super::journal::NAME)).unwrap();
        Journal::open(folder).map(drop)
    });
}
