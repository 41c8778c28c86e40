//! What was found, as pages show it: of a find, of a watch, of a case. All are read from the object that programs read.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use crate::{PageError, filters};

/// How many documents are shown of a match: the command line shows more.
const HOLDERS_SHOWN: usize = 50;

/// An answer, schema `cognate.find/1`, as far as it is shown.
#[derive(Template, Deserialize)]
#[template(path = "found.html")]
pub(crate) struct Answer {
    under: Under,
    run_lengths: Option<Lengths>,
    coverage: Vec<Coverage>,
    documents: Vec<Document>,
    /// The command that makes what was not searched searchable, or nothing.
    #[serde(skip)]
    launch: String,
}

#[derive(Deserialize)]
struct Under {
    method: String,
    view: String,
    chunk_bytes: u64,
}

#[derive(Deserialize)]
struct Lengths {
    p50: Option<u64>,
    p95: Option<u64>,
    p99: Option<u64>,
}

#[derive(Deserialize)]
struct Coverage {
    site: String,
    repository: String,
    covered: bool,
    #[serde(default)]
    documents: u64,
    #[serde(default)]
    unread: u64,
    #[serde(default)]
    sealed: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct Document {
    path: String,
    size_bytes: u64,
    template_bytes: u64,
    run_lengths: Option<Lengths>,
    documents_omitted: u64,
    matches: Vec<Match>,
}

#[derive(Deserialize)]
struct Match {
    relation: String,
    size_bytes: u64,
    shared_bytes: Option<u64>,
    resemblance: Option<f64>,
    sought_in_found: Option<f64>,
    found_in_sought: Option<f64>,
    #[serde(default)]
    estimated: bool,
    #[serde(default)]
    intervals: Intervals,
    holders: Vec<Holder>,
}

#[derive(Deserialize, Default)]
struct Intervals {
    resemblance: Option<[f64; 2]>,
    sought_in_found: Option<[f64; 2]>,
    found_in_sought: Option<[f64; 2]>,
}

#[derive(Deserialize)]
struct Holder {
    site: String,
    repository: String,
    path: String,
    modified: String,
}

impl Answer {
    /// Reads an answer.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn read(record: Value) -> Result<Answer, PageError> {
        let wrong = |error| PageError::internal(format!("the answer cannot be shown: {error}"));
        serde_json::from_value(record).map_err(wrong)
    }

    /// The same with the command that makes what was not searched searchable.
    pub(crate) fn with_launch(self, launch: String) -> Answer {
        Answer { launch, ..self }
    }

    fn is_estimated(&self) -> bool {
        self.documents.iter().flat_map(|document| &document.matches).any(|one| one.estimated)
    }

    fn lengths(&self) -> Vec<(&'static str, u64)> {
        lengths(self.run_lengths.as_ref())
    }
}

impl Document {
    fn omitted(&self) -> u64 {
        let left_out = self.matches.iter().map(|one| one.holders.len().saturating_sub(HOLDERS_SHOWN) as u64);
        self.documents_omitted + left_out.sum::<u64>()
    }

    fn lengths(&self) -> Vec<(&'static str, u64)> {
        lengths(self.run_lengths.as_ref())
    }
}

impl Match {
    fn shown(&self) -> &[Holder] {
        &self.holders[..self.holders.len().min(HOLDERS_SHOWN)]
    }

    fn sought(&self) -> String {
        let (share, interval) = match self.sought_in_found {
            None => (self.resemblance, self.intervals.resemblance),
            share => (share, self.intervals.sought_in_found),
        };
        percent(share, interval)
    }

    fn found(&self) -> String {
        let (share, interval) = match self.found_in_sought {
            None => (self.resemblance, self.intervals.resemblance),
            share => (share, self.intervals.found_in_sought),
        };
        percent(share, interval)
    }
}

/// A share in percent; less than all is never shown as all, and more than nothing never as nothing.
fn percent(share: Option<f64>, interval: Option<[f64; 2]>) -> String {
    let shown = |share: f64| match share {
        share if share <= 0.0 => "0 %".to_owned(),
        share if share < 0.001 => "<0.1 %".to_owned(),
        share if share >= 1.0 => "100 %".to_owned(),
        share => format!("{:.1} %", (share * 1000.0 + 1e-6).floor() / 10.0),
    };
    match (share, interval) {
        (None, _) => "–".to_owned(),
        (Some(share), None) => shown(share),
        (Some(share), Some([low, high])) => format!("{} ({} to {})", shown(share), shown(low), shown(high)),
    }
}

fn lengths(lengths: Option<&Lengths>) -> Vec<(&'static str, u64)> {
    let Some(Lengths { p50, p95, p99 }) = lengths else { return Vec::new() };
    let all = [("every second time", p50), ("19 times in 20", p95), ("99 times in 100", p99)];
    all.into_iter().filter_map(|(how, length)| Some((how, (*length)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_as_it_is_and_never_as_all_or_nothing() {
        let shown = |share: f64| percent(Some(share), None);
        assert_eq!([0.0, 0.0004, 0.5, 0.9999, 1.0].map(shown), ["0 %", "<0.1 %", "50.0 %", "99.9 %", "100 %"]);
        assert_eq!(percent(Some(0.29), Some([0.1, 0.4])), "29.0 % (10.0 % to 40.0 %)");
        assert_eq!(percent(None, None), "–");
    }
}
