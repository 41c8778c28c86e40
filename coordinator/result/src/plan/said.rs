//! Verdicts that affect a plan: on a document, on the set that it is in, and on the cluster, the set of
//! the same text and the message that the set belongs to.

use std::collections::HashMap;

use cognate_result_file::row;
use serde::Serialize;

use crate::error::Error;
use crate::report::{Report, VerdictSection, hex, loose_tier};

/// A verdict that bears on a plan.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Said {
    /// `cluster`, `identical` or `document`.
    pub about: &'static str,
    /// The id of the cluster or set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The view of the cluster, the tier of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// The verdict, its author and its time.
    #[serde(flatten)]
    pub verdict: VerdictSection,
}

/// Effect of a verdict on copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bearing {
    /// They stay, each as good as any other.
    Stay,
    /// No plan is made of them.
    Apart,
    /// Some of them go.
    Go,
    /// Nothing.
    None,
}

/// A verdict without its author and time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word {
    pub(crate) verdict: &'static str,
    pub(crate) bearing: Bearing,
    /// True if the subject has not changed since.
    pub(crate) holds: bool,
}

impl Word {
    pub(crate) fn new(verdict: &'static str, holds: bool) -> Word {
        let bearing = match verdict {
            "keep" => Bearing::Stay,
            "intentional" | "not-a-duplicate" => Bearing::Apart,
            "duplicate" => Bearing::Go,
            _ => Bearing::None,
        };
        Word { verdict, bearing, holds }
    }

    /// True if nothing of what it is about goes.
    pub(super) fn protects(&self) -> bool {
        matches!(self.bearing, Bearing::Stay | Bearing::Apart)
    }

    pub(super) fn is_duplicate(&self) -> bool {
        self.holds && self.bearing == Bearing::Go
    }
}

impl Said {
    pub(super) fn word(&self) -> Word {
        Word::new(self.verdict.verdict, self.holds())
    }

    pub(super) fn bearing(&self) -> Bearing {
        self.word().bearing
    }

    /// True if the subject has not changed since.
    pub(super) fn holds(&self) -> bool {
        self.verdict.changed.is_none()
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let VerdictSection { verdict, by, changed, .. } = &self.verdict;
        write!(f, "{verdict} ({}", self.about)?;
        if let Some(id) = &self.id {
            write!(f, " {}", id.get(..12).unwrap_or(id))?;
        }
        write!(f, ", by {by}")?;
        match changed {
            Some(why) => write!(f, "; since then {why})"),
            None => f.write_str(")"),
        }
    }
}

/// Verdicts on the groups that the sets of the same bytes belong to.
#[derive(Default)]
pub(super) struct Around {
    said: Vec<Said>,
    /// By the digest of a set, places in `said`.
    of: HashMap<String, Vec<usize>>,
}

row! {
    /// What a document of a set of the same bytes belongs to: its clusters, its set of the same text, and its loose set.
    struct Belonging {
        digest: [u8; 16] = "c.digest",
        cluster: Option<String> = "k.name",
        view: Option<String> = "l.view",
        other_cluster: Option<String> = "ok.name",
        other_view: Option<String> = "ol.view",
        text: Option<[u8; 16]> = "CASE WHEN oc.identical IS NOT NULL THEN oc.digest END",
        loose_set: Option<[u8; 16]> = "s.name",
        same_lines: Option<bool> = "s.same_lines",
    }
}

impl Around {
    /// Goes through the documents of all sets, where anything at all was decided about clusters, texts or messages.
    pub(super) fn of(report: &Report) -> Result<Around, Error> {
        let mut around = Around::default();
        let mut places: HashMap<(bool, &str, &str), usize> = HashMap::new();
        let mut decided: Vec<_> = report.decided().filter(|((_, view, _), _)| *view != "same bytes").collect();
        decided.sort_by_key(|(key, _)| *key);
        for (key @ (is_cluster, view, id), verdict) in decided {
            places.insert(key, around.said.len());
            let about = if is_cluster { "cluster" } else { "identical" };
            let (id, view) = (Some(id.to_owned()), Some(view.to_owned()));
            around.said.push(Said { about, id, view, verdict: verdict.clone() });
        }
        if places.is_empty() {
            return Ok(around);
        }
        let sql = format!(
            "SELECT {} FROM content c JOIN document d ON d.content = c.id JOIN layer cl ON cl.number = c.layer
                  LEFT JOIN cluster k ON k.id = c.cluster LEFT JOIN layer l ON l.number = k.layer
                  LEFT JOIN document o ON o.id = d.other LEFT JOIN content oc ON oc.id = o.content
                  LEFT JOIN cluster ok ON ok.id = oc.cluster LEFT JOIN layer ol ON ol.number = ok.layer
                  LEFT JOIN loose_set s ON s.id = d.loose_set
             WHERE c.identical IS NOT NULL AND cl.view = 'raw'",
            Belonging::select()
        );
        report.each_row(&sql, (), |row: Belonging| {
            let (of_text, loose_set) = (row.text.map(|digest| hex(&digest)), row.loose_set.map(|name| hex(&name)));
            let keys = [
                row.cluster.as_deref().zip(row.view.as_deref()).map(|(name, view)| (true, view, name)),
                row.other_cluster.as_deref().zip(row.other_view.as_deref()).map(|(name, view)| (true, view, name)),
                of_text.as_deref().map(|id| (false, "same text", id)),
                loose_set.as_deref().zip(row.same_lines).map(|(id, same_lines)| (false, loose_tier(same_lines), id)),
            ];
            for place in keys.into_iter().flatten().filter_map(|key| places.get(&key)) {
                let known = around.of.entry(hex(&row.digest)).or_default();
                if let Err(at) = known.binary_search(place) {
                    known.insert(at, *place);
                }
            }
            Ok::<_, Error>(())
        })?;
        Ok(around)
    }

    /// Of a set, by its digest.
    pub(super) fn said(&self, digest: &str) -> impl Iterator<Item = Said> {
        self.of.get(digest).into_iter().flatten().map(|place| self.said[*place].clone())
    }
}
