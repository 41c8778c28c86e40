//! The plan of one site: schema `cognate.plan/1`. Fields may be added, never renamed.

use cognate_proto::limits::PATH_BYTES_MAX;
use cognate_proto::name::{NameError, RepositoryName, SiteName, one_line};
use cognate_result::plan::{Decision, Keep, Left, Member, Said, Version, Versions};
use cognate_result::report::{LayerRow, Report};
use serde::{Deserialize, Serialize};

use crate::grid::{Cell, Column, CsvRows, Rows as _, hidden};

/// The name of the schema.
pub const SCHEMA: &str = "cognate.plan/1";

/// A plan: the documents that one site could remove, and the copies that stay.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct PlanFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The site whose documents would go.
    pub site: String,
    /// The scan that it is based on, and the digest of its report.
    pub scan: String,
    /// The digest of the report, in hexadecimal digits.
    pub report_digest: String,
    /// The method whose digests name the documents.
    pub method: MethodOf,
    /// True if the sites had a key.
    pub keyed: bool,
    /// The rules by which one copy of a set stays, the first one first.
    pub keep: Vec<String>,
    /// Copies of each set that stay at least.
    pub min_copies: u64,
    /// If the plan has versions: the greatest number of bytes that one of them may lose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lose_bytes_max: Option<u64>,
    /// The method of each view, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<MethodOf>,
    /// True if the verdicts were known: the file of a result does not hold them.
    #[serde(default)]
    pub verdicts_known: bool,
    /// The sums over all sets.
    pub totals: PlanTotals,
    /// Sets with documents that go at this site.
    pub sets: Vec<Set>,
    /// Sets with documents at this site that verdicts leave out.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

/// The method whose digests name the documents.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct MethodOf {
    /// The name of the method, such as `tttd`.
    pub name: String,
    /// `raw` or `text`.
    pub view: String,
    /// The mean length of a chunk, if the method cuts chunks.
    pub chunk_bytes: Option<u64>,
    /// Further parameters of the method, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
}

/// The sums of a plan.
#[derive(Clone, Copy, Default, Serialize, Deserialize, Debug)]
pub struct PlanTotals {
    /// Sets with documents that go.
    pub sets: u64,
    /// Documents that go.
    pub documents: u64,
    /// The bytes of these documents.
    pub bytes: u64,
    /// Sets that verdicts leave out.
    #[serde(default)]
    pub left_out: u64,
    /// Of the documents, those that go because another has nearly all of them.
    #[serde(default)]
    pub versions: u64,
    /// The bytes that no document which stays has for them, each content once.
    #[serde(default)]
    pub lost_bytes: u64,
}

/// A set that verdicts leave out.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct LeftOut {
    /// The digest of the content that all of them hold.
    pub digest: String,
    /// The size of that content.
    pub size_bytes: u64,
    /// At this site.
    pub documents: u64,
    /// The verdicts on the set, its clusters and its documents.
    pub verdicts: Vec<Verdict>,
}

/// A verdict that a person set.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct Verdict {
    /// `cluster`, `identical` or `document`.
    pub about: String,
    /// The id of the cluster or set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The view of the cluster, the tier of the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// The word for the verdict.
    pub verdict: String,
    /// The person who set it.
    pub by: String,
    /// The time at which it was set, as reports write times.
    pub time: String,
    /// The note of that person, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
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
pub struct Set {
    /// The digest of the content that all of them hold.
    pub digest: String,
    /// The size of that content, under the view of the comparison.
    pub size_bytes: u64,
    /// If the documents are not copies of those that stay: the content of those, and what would be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_of: Option<VersionOf>,
    /// At any site.
    pub kept: Vec<StayingCopy>,
    /// At this one.
    pub go: Vec<Going>,
}

/// The content that stays for another one.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct VersionOf {
    /// The view under which the two were compared: `raw` or `text`. Digests and sizes are under this view.
    pub view: String,
    /// The mean length of a chunk under this view.
    pub chunk_bytes: Option<u64>,
    /// Further parameters of the method, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The digest of the content that stays.
    pub digest: String,
    /// Its size.
    pub size_bytes: u64,
    /// The relation of what goes to what stays: `near` or `contained`.
    pub relation: String,
    /// Bytes of what goes that are in what stays.
    pub shared_bytes: u64,
    /// The other bytes: they would be lost.
    pub lost_bytes: u64,
}

/// A copy that stays.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct StayingCopy {
    /// Its site.
    pub site: String,
    /// Its repository.
    pub repository: String,
    /// Its path in the repository.
    pub path: String,
    /// True if the path is escaped because it is no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// The time of its last change, as reports write times.
    pub modified: String,
    /// The reason for which it stays.
    pub rule: String,
    /// The verdict on it, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A document that goes.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub struct Going {
    /// Its repository.
    pub repository: String,
    /// Its path in the repository.
    pub path: String,
    /// True if the path is escaped because it is no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// The time of its last change, as reports write times.
    pub modified: String,
    /// The verdict on it, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

impl Set {
    /// The part of a decision that concerns a site.
    pub fn of(decision: &Decision, site: &str) -> Set {
        let kept = decision.staying().map(StayingCopy::of).collect();
        let go = decision.gone().filter(|member| member.document.site == site).map(Going::of).collect();
        Set { digest: decision.group.clone(), size_bytes: decision.size_bytes, version_of: None, kept, go }
    }

    /// The part of a version that concerns a site. `head` is the plan of which it will be part.
    pub fn of_version(version: &Version, site: &str, head: &PlanFile) -> Set {
        let method = head.views.iter().find(|method| method.view == version.view).unwrap_or(&head.method);
        Set {
            digest: version.digest.clone(),
            size_bytes: version.size_bytes,
            version_of: Some(VersionOf {
                view: version.view.clone(),
                chunk_bytes: method.chunk_bytes,
                param: method.param.clone(),
                digest: version.kept_digest.clone(),
                size_bytes: version.kept_size_bytes,
                relation: version.relation.to_owned(),
                shared_bytes: version.shared_bytes,
                lost_bytes: version.lost_bytes,
            }),
            kept: version.kept.iter().map(StayingCopy::of).collect(),
            go: version.gone.iter().filter(|member| member.document.site == site).map(Going::of).collect(),
        }
    }
}

impl StayingCopy {
    fn of(member: &Member) -> StayingCopy {
        StayingCopy {
            site: member.document.site.clone(),
            repository: member.document.repository.clone(),
            path: member.document.path.clone(),
            path_escaped: member.document.path_escaped,
            modified: member.document.modified.clone(),
            rule: member.kept.as_ref().map(ToString::to_string).unwrap_or_default(),
            verdict: member.said.as_ref().map(Verdict::of),
        }
    }
}

impl Going {
    fn of(member: &Member) -> Going {
        Going {
            repository: member.document.repository.clone(),
            path: member.document.path.clone(),
            path_escaped: member.document.path_escaped,
            modified: member.document.modified.clone(),
            verdict: member.said.as_ref().map(Verdict::of),
        }
    }
}

const COLUMNS: [Column; 13] = [
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
    hidden("relation"),
    hidden("lost_bytes"),
];

impl PlanFile {
    /// A plan with nothing in it yet.
    pub fn of(report: &Report, keep: &Keep, versions: Option<Versions>) -> crate::Result<PlanFile> {
        let scan = report.scan()?;
        let layer = scan.layers.as_ref().and_then(|layers| layers.first());
        let of_layer = |layer: &LayerRow| MethodOf {
            name: scan.method.clone(),
            view: layer.view.clone(),
            chunk_bytes: layer.chunk_bytes,
            param: layer.param.clone(),
        };
        let views = scan.layers.iter().flatten().map(of_layer).collect();
        Ok(PlanFile {
            schema: SCHEMA.to_owned(),
            site: String::new(),
            scan: scan.id.clone().unwrap_or_default(),
            report_digest: report.digest()?,
            method: MethodOf {
                name: scan.method.clone(),
                // Copies are of the same bytes, and belong to that view alone.
                view: "raw".to_owned(),
                chunk_bytes: layer.map_or(scan.chunk_bytes, |layer| layer.chunk_bytes),
                param: layer.map_or(scan.param.clone(), |layer| layer.param.clone()),
            },
            keyed: scan.keyed,
            keep: keep.rules.iter().map(ToString::to_string).collect(),
            min_copies: keep.min_copies as u64,
            lose_bytes_max: versions.map(|versions| versions.lose_bytes_max),
            views,
            totals: PlanTotals::default(),
            sets: Vec::new(),
            verdicts_known: report.has_verdicts(),
            left_out: Vec::new(),
        })
    }

    /// The same empty plan for another site.
    pub fn for_site(&self, site: &str) -> PlanFile {
        PlanFile { site: site.to_owned(), ..self.clone() }
    }

    /// Adds a set, and counts it in the totals.
    pub fn add(&mut self, set: Set) {
        self.totals.sets += 1;
        self.totals.documents += set.go.len() as u64;
        self.totals.bytes += set.go.len() as u64 * set.size_bytes;
        if let Some(version_of) = &set.version_of {
            self.totals.versions += set.go.len() as u64;
            self.totals.lost_bytes += version_of.lost_bytes;
        }
        self.sets.push(set);
    }

    /// Writes down that a set is left out, if verdicts leave it out and this site has documents of it.
    pub fn leave_out(&mut self, decision: &Decision) {
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

    /// Checks a plan that was read from a file, which may be from anybody: its names are names, and its digests are digests.
    ///
    /// # Errors
    /// Fails with the field and its value.
    pub fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("its schema is `{}`, this version reads `{SCHEMA}`", one_line(&self.schema)));
        }
        let is_digest = |text: &str| text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digest = |field: &str, text: &str| match is_digest(text) {
            true => Ok(()),
            false => Err(format!("its {field} `{}` is not a number of hexadecimal digits", one_line(text))),
        };
        let name = |error: NameError| one_line(&error.to_string());
        // Three characters stand for a byte that is escaped.
        let path = |path: &str| match path.len() <= 3 * PATH_BYTES_MAX {
            true => Ok(()),
            false => Err(format!("it has a path of {} bytes, longer than any document has", path.len())),
        };
        self.site.parse::<SiteName>().map_err(name)?;
        digest("scan", &self.scan)?;
        digest("report_digest", &self.report_digest)?;
        for set in &self.sets {
            digest("digest", &set.digest)?;
            set.version_of.as_ref().map_or(Ok(()), |of| digest("digest", &of.digest))?;
            for going in &set.go {
                going.repository.parse::<RepositoryName>().map_err(name)?;
                // The worker checks where a path leads when it uses the path, and its error names the path.
                path(&going.path)?;
            }
            for copy in &set.kept {
                path(&copy.path)?;
                copy.site.parse::<SiteName>().map_err(name)?;
                copy.repository.parse::<RepositoryName>().map_err(name)?;
            }
        }
        Ok(())
    }

    /// The plan as indented JSON with a newline at its end.
    pub fn json(&self) -> crate::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// One row for each document, those that go and those that stay.
    pub fn csv(&self) -> crate::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut rows = CsvRows::new(&COLUMNS, &mut bytes)?;
        for set in &self.sets {
            let copies: Vec<String> =
                set.kept.iter().map(|copy| format!("{}/{}: {}", copy.site, copy.repository, copy.path)).collect();
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
                    set.version_of.as_ref().map_or(Cell::from("identical"), |of| of.relation.as_str().into()),
                    set.version_of.as_ref().map_or(0, |of| of.lost_bytes).into(),
                ])?;
            }
            for copy in &set.kept {
                rows.row(vec![
                    "keep".into(),
                    set.digest.as_str().into(),
                    copy.site.as_str().into(),
                    copy.repository.as_str().into(),
                    copy.path.as_str().into(),
                    Cell::yes(copy.path_escaped.is_some()),
                    set.version_of.as_ref().map_or(set.size_bytes, |of| of.size_bytes).into(),
                    copy.modified.as_str().into(),
                    set.version_of.as_ref().map_or(set.digest.as_str(), |of| of.digest.as_str()).into(),
                    copy.rule.as_str().into(),
                    Cell::None,
                    Cell::None,
                    Cell::None,
                ])?;
            }
        }
        rows.finish()?;
        Ok(bytes)
    }
}
