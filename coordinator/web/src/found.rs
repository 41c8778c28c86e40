//! Matches as pages show them: of a find, a watch or a case. All are read from the object that programs read.

use askama::Template;
use cognate_desk::find::record::{CoarseRow, DocumentRow, FindRecord, HolderRow, LengthsRow, MatchRow, UnderRow};
use cognate_result::report::Ratio;
use serde_json::Value;

use crate::{PageError, filters};
use cognate_export::human;

/// Documents of a match that a page shows; the command line shows more.
pub(crate) const HOLDERS_SHOWN: usize = 50;

/// An answer as pages show it.
#[derive(Template)]
#[template(path = "found.html")]
pub(crate) struct Answer {
    record: FindRecord,
    /// The command that indexes the repositories that were not searched, or empty.
    launch: String,
}

impl Answer {
    /// An answer, with the command that indexes the repositories that were not searched.
    pub(crate) fn new(record: FindRecord, launch: String) -> Answer {
        Answer { record, launch }
    }

    /// Reads an answer that a case has stored.
    ///
    /// # Errors
    /// Fails if it is not an answer.
    pub(crate) fn read(record: Value) -> Result<Answer, PageError> {
        let wrong = |error| PageError::internal(format!("the answer cannot be shown: {error}"));
        Ok(Answer::new(serde_json::from_value(record).map_err(wrong)?, String::new()))
    }

    /// The reasons why matches are coarse, each with the number of matches.
    fn coarse_lines(&self) -> Vec<String> {
        self.record.coarse.iter().map(coarse_line).collect()
    }

    /// True if matches were proposed, and not verified.
    fn is_proposed(&self) -> bool {
        self.matches().any(|one| one.relation == "candidate" && one.coarse.is_some())
    }

    /// True if matches were proposed, and verified by words.
    fn is_verified(&self) -> bool {
        self.record.head.under.method == "fuzzy" && self.is_estimated()
    }

    fn matches(&self) -> impl Iterator<Item = &MatchRow> {
        self.record.documents.iter().flat_map(|document| &document.matches)
    }

    fn is_estimated(&self) -> bool {
        self.matches().any(|one| one.estimated)
    }
}

/// The method of a search, in the words of people.
pub(crate) fn searched_by(under: &UnderRow) -> String {
    human::method(&under.method, &under.view, under.chunk_bytes, &under.param)
}

/// The reason why matches are coarse, with their number.
pub(crate) fn coarse_line(row: &CoarseRow) -> String {
    let matches = row.matches.unwrap_or_default();
    let unit = if matches == 1 { "match" } else { "matches" };
    format!("{} {unit}: {}", human::count(matches), row.line())
}

fn omitted(document: &DocumentRow) -> u64 {
    let left_out = document.matches.iter().map(|one| one.holders.len().saturating_sub(HOLDERS_SHOWN) as u64);
    document.documents_omitted + left_out.sum::<u64>()
}

fn shown(one: &MatchRow) -> &[HolderRow] {
    &one.holders[..one.holders.len().min(HOLDERS_SHOWN)]
}

/// The share of the query's document that is in the match, or their resemblance.
pub(crate) fn in_match(one: &MatchRow) -> String {
    let intervals = one.intervals.as_ref();
    match one.sought_in_found {
        None => percent(one.resemblance, intervals.and_then(|all| all.resemblance)),
        share => percent(share, intervals.and_then(|all| all.sought_in_found)),
    }
}

/// The share of the match that is in the query's document, or their resemblance.
pub(crate) fn in_query(one: &MatchRow) -> String {
    let intervals = one.intervals.as_ref();
    match one.found_in_sought {
        None => percent(one.resemblance, intervals.and_then(|all| all.resemblance)),
        share => percent(share, intervals.and_then(|all| all.found_in_sought)),
    }
}

/// A share in percent, and the interval of an estimate.
fn percent(share: Option<Ratio>, interval: Option<[Ratio; 2]>) -> String {
    let shown = |share: Ratio| human::share(share.0);
    match (share, interval) {
        (None, _) => "–".to_owned(),
        (Some(share), None) => shown(share),
        (Some(share), Some([low, high])) => format!("{} ({} to {})", shown(share), shown(low), shown(high)),
    }
}

/// The lengths of a passage that is found, each with how often.
pub(crate) fn lengths(lengths: Option<&LengthsRow>) -> Vec<(&'static str, u64)> {
    let Some(LengthsRow { p50, p95, p99 }) = lengths else { return Vec::new() };
    let all = [("every second time", p50), ("19 times in 20", p95), ("99 times in 100", p99)];
    all.into_iter().filter_map(|(how, length)| Some((how, (*length)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_match_is_marked_and_the_reason_has_its_site() {
        let reason =
            serde_json::json!({"site": "tokyo", "repository": "kb", "reason": "its site is <away>", "matches": 2});
        let one = |precision: &str, coarse: Value| {
            serde_json::json!({
                "content": "", "documents": 1, "found_in_sought": 0.5, "holders": [{"modified": "", "party": "", "path": "x", "repository": "kb", "site": "tokyo"}],
                "precision": precision, "coarse": coarse, "relation": "shares", "resemblance": 0.5, "shared_bytes": 7, "size_bytes": 9, "sought_in_found": 0.5,
            })
        };
        let shown = |precision: &str, coarse: Value, reasons: Value| {
            let document = serde_json::json!({
                "documents": 1, "documents_omitted": 0, "matches": [one(precision, coarse)], "path": "a", "run_lengths": null, "size_bytes": 9, "template_bytes": 0,
            });
            let under = serde_json::json!({"chunk_bytes": 1000, "keyed": false, "method": "tttd", "method_id": "", "param": "", "view": "raw"});
            let record = serde_json::json!({
                "coarse": reasons, "coverage": [], "documents": [document], "precision": precision, "run_lengths": null, "schema": "cognate.find/1", "under": under,
            });
            Answer::read(record).unwrap().render().unwrap()
        };
        let coarse = shown("coarse", reason.clone(), serde_json::json!([reason])).replace("<wbr>", "");
        assert!(coarse.contains("2 matches: tokyo/kb: its site is") && !coarse.contains("<away>"), "{coarse}");
        assert!(coarse.contains("<small>whole chunks</small>"));
        let fine = shown("fine", Value::Null, serde_json::json!([]));
        assert!(!fine.contains("whole chunks"), "{fine}");
    }

    #[test]
    fn a_share_is_shown_as_it_is_and_never_as_all_or_nothing() {
        let shown = |share: i64| percent(Some(Ratio(share)), None);
        assert_eq!([0, 4, 5000, 9999, 10_000].map(shown), ["0.0 %", "< 0.1 %", "50.0 %", "99.9 %", "100.0 %"]);
        assert_eq!(percent(Some(Ratio(2900)), Some([Ratio(1000), Ratio(4000)])), "29.0 % (10.0 % to 40.0 %)");
        assert_eq!(percent(None, None), "–");
    }
}
