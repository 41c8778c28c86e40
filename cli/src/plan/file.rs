//! The plan of one site: schema `cognate.plan/1`. Fields may be added, never renamed.

use cognate_coordinator::plan::{Decision, Keep, Left, Said};
use cognate_coordinator::report::Report;
use serde::{Deserialize, Serialize};

use crate::output::grid::{Cell, Column, CsvRows, Rows as _, hidden};

/// The name of the schema.
pub(crate) const SCHEMA: &str = "cognate.plan/1";

#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct PlanFile {
    pub(crate) schema: String,
    /// The site whose documents would go.
    pub(crate) site: String,
    /// The scan that it rests on, and the digest of its report.
    pub(crate) scan: String,
    pub(crate) report_digest: String,
    pub(crate) method: MethodOf,
    /// Whether the sites had a key.
    pub(crate) keyed: bool,
    pub(crate) keep: Vec<String>,
    pub(crate) min_copies: u64,
    /// Whether it was known what people decided: a file of a result does not say it.
    #[serde(default)]
    pub(crate) verdicts_known: bool,
    pub(crate) totals: PlanTotals,
    pub(crate) sets: Vec<Set>,
    /// Sets with documents at this site that verdicts leave out.
    #[serde(default)]
    pub(crate) left_out: Vec<LeftOut>,
}

/// The method whose digests name the documents.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct MethodOf {
    pub(crate) name: String,
    pub(crate) view: String,
    pub(crate) chunk_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) param: Option<String>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize, Debug)]
pub(crate) struct PlanTotals {
    pub(crate) sets: u64,
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
    #[serde(default)]
    pub(crate) left_out: u64,
}

/// A set that verdicts leave out.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct LeftOut {
    pub(crate) digest: String,
    pub(crate) size_bytes: u64,
    /// At this site.
    pub(crate) documents: u64,
    pub(crate) verdicts: Vec<Verdict>,
}

/// What somebody decided.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct Verdict {
    /// `cluster`, `identical` or `document`.
    pub(crate) about: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) view: Option<String>,
    pub(crate) verdict: String,
    pub(crate) by: String,
    pub(crate) time: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl Verdict {
    fn of(said: &Said) -> Verdict {
        Verdict {
            about: said.about.to_owned(),
            id: said.id.clone(),
            view: said.view.clone(),
            verdict: said.verdict.verdict.to_owned(),
            by: said.verdict.by.clone(),
            time: said.verdict.time.clone(),
            note: said.verdict.note.clone(),
        }
    }
}

/// Documents that are the same, some of which go.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct Set {
    /// What all of them hold.
    pub(crate) digest: String,
    pub(crate) size_bytes: u64,
    /// At any site.
    pub(crate) kept: Vec<Kept>,
    /// At this one.
    pub(crate) go: Vec<Going>,
}

#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct Kept {
    pub(crate) site: String,
    pub(crate) repository: String,
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path_escaped: Option<bool>,
    pub(crate) modified: String,
    /// Why it is kept.
    pub(crate) rule: String,
    /// What was decided about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<Verdict>,
}

#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct Going {
    pub(crate) repository: String,
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path_escaped: Option<bool>,
    pub(crate) modified: String,
    /// What was decided about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<Verdict>,
}

impl Set {
    /// What a decision is to a site.
    pub(super) fn of(decision: &Decision, site: &str) -> Set {
        let kept = decision.kept().map(|member| Kept {
            site: member.document.site.clone(),
            repository: member.document.repository.clone(),
            path: member.document.path.clone(),
            path_escaped: member.document.path_escaped,
            modified: member.document.modified.clone(),
            rule: member.kept.as_ref().map(ToString::to_string).unwrap_or_default(),
            verdict: member.said.as_ref().map(Verdict::of),
        });
        let go = decision.gone().filter(|member| member.document.site == site).map(|member| Going {
            repository: member.document.repository.clone(),
            path: member.document.path.clone(),
            path_escaped: member.document.path_escaped,
            modified: member.document.modified.clone(),
            verdict: member.said.as_ref().map(Verdict::of),
        });
        let (kept, go) = (kept.collect(), go.collect());
        Set { digest: decision.group.clone(), size_bytes: decision.size_bytes, kept, go }
    }
}

const COLUMNS: [Column; 11] = [
    hidden("action"),
    hidden("set"),
    hidden("site"),
    hidden("repository"),
    hidden("path"),
    hidden("path_escaped"),
    hidden("size_bytes"),
    hidden("modified"),
    hidden("digest"),
    hidden("rule"),
    hidden("kept_copies"),
];

impl PlanFile {
    /// A plan with nothing in it yet.
    pub(super) fn of(report: &Report, keep: &Keep) -> anyhow::Result<PlanFile> {
        let scan = report.scan()?;
        let layer = scan.layers.as_ref().and_then(|layers| layers.first());
        Ok(PlanFile {
            schema: SCHEMA.to_owned(),
            site: String::new(),
            scan: scan.id.clone().unwrap_or_default(),
            report_digest: report.digest()?,
            method: MethodOf {
                name: scan.method.clone(),
                // Copies are of the same bytes, and stand under that view alone.
                view: "raw".to_owned(),
                chunk_bytes: layer.map_or(scan.chunk_bytes, |layer| layer.chunk_bytes),
                param: layer.map_or(scan.param.clone(), |layer| layer.param.clone()),
            },
            keyed: scan.keyed,
            keep: keep.rules.iter().map(ToString::to_string).collect(),
            min_copies: keep.min_copies as u64,
            totals: PlanTotals::default(),
            sets: Vec::new(),
            verdicts_known: report.has_verdicts(),
            left_out: Vec::new(),
        })
    }

    pub(super) fn for_site(&self, site: &str) -> PlanFile {
        PlanFile { site: site.to_owned(), ..self.clone() }
    }

    pub(crate) fn add(&mut self, set: Set) {
        self.totals.sets += 1;
        self.totals.documents += set.go.len() as u64;
        self.totals.bytes += set.go.len() as u64 * set.size_bytes;
        self.sets.push(set);
    }

    /// Writes down that a set is left out, if verdicts leave it out and this site has documents of it.
    pub(super) fn leave_out(&mut self, decision: &Decision) {
        let at_site = decision.members.iter().filter(|member| member.document.site == self.site).count() as u64;
        if decision.left == Some(Left::Verdict) && at_site > 0 {
            self.totals.left_out += 1;
            self.left_out.push(LeftOut {
                digest: decision.group.clone(),
                size_bytes: decision.size_bytes,
                documents: at_site,
                verdicts: decision.said.iter().map(Verdict::of).collect(),
            });
        }
    }

    pub(crate) fn json(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// One row for each document, those that go and those that are kept.
    pub(crate) fn csv(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut rows = CsvRows::new(&COLUMNS, &mut bytes)?;
        for set in &self.sets {
            let copies: Vec<String> =
                set.kept.iter().map(|kept| format!("{}/{}: {}", kept.site, kept.repository, kept.path)).collect();
            for going in &set.go {
                rows.row(vec![
                    "go".into(),
                    set.digest.as_str().into(),
                    self.site.as_str().into(),
                    going.repository.as_str().into(),
                    going.path.as_str().into(),
                    Cell::yes(going.path_escaped.is_some()),
                    set.size_bytes.into(),
                    going.modified.as_str().into(),
                    set.digest.as_str().into(),
                    going.verdict.as_ref().map_or(Cell::None, |said| format!("verdict: {}", said.verdict).into()),
                    copies.join("; ").into(),
                ])?;
            }
            for kept in &set.kept {
                rows.row(vec![
                    "keep".into(),
                    set.digest.as_str().into(),
                    kept.site.as_str().into(),
                    kept.repository.as_str().into(),
                    kept.path.as_str().into(),
                    Cell::yes(kept.path_escaped.is_some()),
                    set.size_bytes.into(),
                    kept.modified.as_str().into(),
                    set.digest.as_str().into(),
                    kept.rule.as_str().into(),
                    Cell::None,
                ])?;
            }
        }
        rows.finish()?;
        Ok(bytes)
    }
}
