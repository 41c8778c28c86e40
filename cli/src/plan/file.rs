//! The plan of one site: schema `cognate.plan/1`. Fields may be added, never renamed.

use cognate_coordinator::plan::{Decision, Keep};
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
    pub(crate) totals: PlanTotals,
    pub(crate) sets: Vec<Set>,
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
}

#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct Going {
    pub(crate) repository: String,
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path_escaped: Option<bool>,
    pub(crate) modified: String,
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
        });
        let go = decision.gone().filter(|member| member.document.site == site).map(|member| Going {
            repository: member.document.repository.clone(),
            path: member.document.path.clone(),
            path_escaped: member.document.path_escaped,
            modified: member.document.modified.clone(),
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
                    Cell::None,
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
