//! Evidence for a result: controls, received batches, and documents that only one site or party has.

use cognate_result_file::{Census, Evidence, OnlyHere};
use serde::Serialize;

use super::documents::LISTED;
use super::{DocumentPlace, Located, Report, path_of};
use crate::error::Error;

/// Documents of a folder at the top of a repository that no other side has anything of.
#[derive(Clone, Serialize, Debug)]
pub struct OnlyHereRow {
    /// Their bytes, of what was compared.
    pub bytes: u64,
    /// Number of documents.
    pub documents: u64,
    /// The folder; nothing: the repository itself.
    pub folder: String,
    /// Set when the folder is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder_escaped: Option<bool>,
    /// The party of the site.
    pub party: String,
    /// The repository.
    pub repository: String,
    /// The site.
    pub site: String,
    /// Bytes of documents that share standard text, and nothing else.
    pub standard_text_bytes: u64,
    /// Number of documents that share standard text with another side, and nothing else.
    pub standard_text_documents: u64,
    /// Bytes of documents of which it is not decided.
    pub undecided_bytes: u64,
    /// Number of documents of which it is not decided whether another side has anything of them.
    pub undecided_documents: u64,
}

/// The number of documents of a side that were decided alike.
#[derive(Clone, Serialize, Debug)]
pub struct DecidedRow {
    /// Number of documents.
    pub documents: u64,
    /// What another side has of them: `yes`, `standard text`, `no` (they are only here) or `not decided`; none: they have nothing to compare.
    pub elsewhere: Option<String>,
    /// What decided it: `identical` or `measured`; where nothing did, the reason in the words of the documents' list.
    pub how: Option<String>,
    /// The party, where there are several, else the site.
    pub side: String,
}

/// A kind of files, with its bytes.
#[derive(Clone, Serialize, Debug)]
pub struct CensusSection {
    /// Their bytes.
    pub bytes: u64,
    /// `plain`, `archive`, `office`, `pdf` or `media`.
    pub class: String,
    /// Number of documents.
    pub documents: u64,
    /// The repository.
    pub repository: String,
    /// The site.
    pub site: String,
}

/// By what both sides know that an index is what its site sent.
#[derive(Clone, Serialize, Debug)]
pub struct EvidenceRow {
    /// Number of received batches.
    pub batches: u64,
    /// Sum of their bodies.
    pub bytes: u64,
    /// Epoch of the index, chosen by the site.
    pub epoch: String,
    /// The chain over the batches, as in the site's ledger.
    pub head: String,
    /// The multiset hash over documents and contents that both sides arrived at.
    pub index_root: String,
    /// The repository.
    pub repository: String,
    /// The site.
    pub site: String,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// A document that was planted so that it must be found.
#[derive(Clone, Serialize, Debug)]
pub struct ControlRow {
    /// Matches of the control, with their relation.
    pub found: Vec<ControlMatch>,
    /// The sides at which nothing like it was found.
    pub missed: Vec<String>,
    /// Its path.
    pub path: String,
    /// Set when the path is percent-escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_escaped: Option<bool>,
    /// The repository.
    pub repository: String,
    /// The party, where there are several, else the site.
    pub side: String,
    /// The site.
    pub site: String,
    /// Its size.
    pub size_bytes: u64,
}

/// A match of a control.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Debug)]
pub struct ControlMatch {
    /// `identical`, `near`, `contains`, `contained` or `shares`.
    pub relation: String,
    /// The side that has it.
    pub side: String,
}

impl Report {
    /// Documents that only one site or party has, and those of which that is not decided.
    ///
    /// # Errors
    /// Fails if the file cannot be read; so for every method below.
    pub fn only_here(&self) -> Result<Vec<OnlyHereRow>, Error> {
        let by = self.by_root();
        let rest = format!("JOIN root r ON r.id = t.root ORDER BY {by}, t.bytes DESC, t.folder");
        let row = |only: OnlyHere| {
            let (folder, folder_escaped) = path_of(&only.folder);
            let root = self.root(only.root)?;
            Ok(OnlyHereRow {
                bytes: only.bytes,
                documents: only.documents,
                folder,
                folder_escaped,
                party: root.party.clone(),
                repository: root.repository.clone(),
                site: root.site.clone(),
                standard_text_bytes: only.standard_text_bytes,
                standard_text_documents: only.standard_text_documents,
                undecided_bytes: only.undecided_bytes,
                undecided_documents: only.undecided_documents,
            })
        };
        self.records(&rest)?.into_iter().map(row).collect()
    }

    /// Counts the documents of each side by what was decided about them, and by what decided it. Controls do not count.
    pub fn decided_documents(&self) -> Result<Vec<DecidedRow>, Error> {
        let side = self.side()?;
        let sql = format!(
            "SELECT r.{side}, d.elsewhere,
                 CASE WHEN d.elsewhere = 'not decided' THEN d.undecided
                      WHEN d.elsewhere = 'yes' AND t.partner_relation = 'identical' THEN 'identical'
                      WHEN d.elsewhere IS NOT NULL THEN 'measured' END AS how,
                 count(*)
             FROM {LISTED} JOIN root r ON r.id = d.root
             WHERE d.listed AND d.id NOT IN (SELECT document FROM control)
             GROUP BY 1, 2, 3"
        );
        let mut rows = Vec::new();
        self.each_row(&sql, (), |(side, elsewhere, how, documents)| {
            rows.push(DecidedRow { documents, elsewhere, how, side });
            Ok::<_, Error>(())
        })?;
        let places = ["yes", "standard text", "no", "not decided"];
        let place = |row: &DecidedRow| places.iter().position(|place| Some(*place) == row.elsewhere.as_deref());
        rows.sort_by_key(|row| (self.place_of(&side, &row.side), place(row).unwrap_or(places.len()), row.how.clone()));
        Ok(rows)
    }

    /// Kinds of files.
    pub fn census(&self) -> Result<Vec<CensusSection>, Error> {
        let rest = format!("JOIN root r ON r.id = t.root ORDER BY {}, t.bytes DESC, t.class", self.by_root());
        let row = |Census { root, class, documents, bytes }| {
            let root = self.root(root)?;
            let (site, repository) = (root.site.clone(), root.repository.clone());
            Ok(CensusSection { bytes, class: class.into_owned(), documents, repository, site })
        };
        self.records(&rest)?.into_iter().map(row).collect()
    }

    /// Batches and bytes received of each repository.
    pub fn evidence(&self) -> Result<Vec<EvidenceRow>, Error> {
        let row = |evidence: Evidence| {
            let root = self.root(evidence.root)?;
            Ok(EvidenceRow {
                batches: evidence.batches,
                bytes: evidence.bytes,
                epoch: evidence.epoch,
                head: evidence.head,
                index_root: evidence.index_root,
                repository: root.repository.clone(),
                site: root.site.clone(),
                view: self.view(evidence.layer),
            })
        };
        let rest = format!("JOIN root r ON r.id = t.root ORDER BY t.layer, {}", self.by_root());
        self.records(&rest)?.into_iter().map(row).collect()
    }

    /// The controls, each with where it was found.
    pub fn controls(&self) -> Result<Vec<ControlRow>, Error> {
        let side = self.side()?;
        let mut sides: Vec<String> = self.rows(&format!("SELECT DISTINCT {side} FROM root ORDER BY 1"), ())?;
        sides.sort_by_key(|name| self.place_of(&side, name));
        let sql = format!(
            "SELECT {}, d.size_bytes, d.content, r.{side}
             FROM control c JOIN document d ON d.id = c.document JOIN root r ON r.id = d.root ORDER BY {}",
            DocumentPlace::select(),
            self.by_document()
        );
        let mut rows = Vec::new();
        self.each_row(&sql, (), |(place, size_bytes, content, side): (DocumentPlace, u64, i64, String)| {
            let Located { path, path_escaped, repository, site, .. } = self.located(&place)?;
            let (found, missed) = (Vec::new(), Vec::new());
            rows.push((content, ControlRow { found, missed, path, path_escaped, repository, side, site, size_bytes }));
            Ok::<_, Error>(())
        })?;
        for (content, row) in &mut rows {
            let own = row.side.clone();
            row.found = self.held_by(&side, *content, "identical", &own)?;
            for (other, relation) in self.linked(*content)? {
                row.found.extend(self.held_by(&side, other, &relation, &own)?);
            }
            row.found.sort_by(|a, b| {
                let key = |found: &ControlMatch| self.place_of(&side, &found.side);
                a.relation.cmp(&b.relation).then_with(|| key(a).cmp(&key(b)))
            });
            row.found.dedup();
            let is_missed = |side: &&String| **side != own && row.found.iter().all(|found| found.side != **side);
            row.missed = sides.iter().filter(is_missed).cloned().collect();
        }
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// Between what a comparison of sides is: parties where there are two or more, else sites.
    pub fn side(&self) -> Result<String, Error> {
        let parties: u64 = self.row("SELECT count(DISTINCT party) FROM root", ())?;
        Ok(if parties > 1 { "party" } else { "site" }.to_owned())
    }

    /// The other sides that have a content.
    fn held_by(&self, side: &str, content: i64, relation: &str, own: &str) -> Result<Vec<ControlMatch>, Error> {
        let sql = format!(
            "SELECT DISTINCT r.{side} FROM document d JOIN root r ON r.id = d.root WHERE d.content = {content} ORDER BY 1"
        );
        let sides: Vec<String> = self.rows(&sql, ())?;
        let others = sides.into_iter().filter(|side| side != own);
        Ok(others.map(|side| ControlMatch { relation: relation.to_owned(), side }).collect())
    }

    /// The contents that one is linked with, and how it relates to them.
    fn linked(&self, content: i64) -> Result<Vec<(i64, String)>, Error> {
        let sql = format!(
            "SELECT a, b, relation FROM link WHERE cluster = (SELECT cluster FROM content WHERE id = {content})
             AND {content} IN (a, b) ORDER BY a, b"
        );
        let links: Vec<(i64, i64, String)> = self.rows(&sql, ())?;
        let from = |(a, b, relation): (i64, i64, String)| match a == content {
            true => (b, relation),
            false => (a, cognate_result_file::reversed(&relation).to_owned()),
        };
        Ok(links.into_iter().map(from).collect())
    }

    /// Digests of contents of a repository under a layer with their numbers of chunks, spread evenly over all digests: at
    /// most about `count`, none with more than `chunks_max`.
    pub fn some_contents(
        &self,
        layer: usize,
        site: &str,
        repository: &str,
        count: u64,
        chunks_max: u64,
    ) -> Result<Vec<[u8; 16]>, Error> {
        let sql = format!("SELECT min(id), max(id) FROM content WHERE layer = {layer}");
        let contents = self.numbers(&sql)?;
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        // Contents are numbered by their digests, which are as good as random.
        let stride = (contents.end - contents.start) / i64::try_from(count.max(1)).unwrap_or(i64::MAX);
        let sql = "SELECT c.digest FROM content c
                   WHERE c.layer = ?1 AND (c.id - ?2) % ?3 = 0 AND c.chunks BETWEEN 1 AND ?4 AND EXISTS
                     (SELECT 1 FROM document d JOIN root r ON r.id = d.root
                      WHERE d.content = c.id AND r.site = ?5 AND r.repository = ?6)
                   ORDER BY c.id";
        self.rows(sql, (layer, contents.start, stride.max(1), chunks_max, site, repository))
    }
}
