//! The scan, its layers, and the repositories that took part.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Counts, Ratio};

/// The scan and its options.
#[derive(Clone, Serialize, Debug)]
pub struct ScanSection {
    /// True if only pairs across sites or parties counted.
    pub across_only: bool,
    /// The clusters to which a report is limited by what people decided, in words; absent in the complete report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// The mean chunk in bytes, or the bytes to a feature; none where signatures have a fixed size.
    pub chunk_bytes: Option<u64>,
    /// `greedy`, where clusters are not the connected components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The digest of the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What a sample of the documents says about all of them, where the scan compared one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub estimates: Vec<crate::report::SampledOverlap>,
    /// The pairs that were measured by fine chunks, where any were to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fine: Option<FineSection>,
    /// The scan's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// True if the sites had a key.
    pub keyed: bool,
    /// Layers of the scan, if it compared two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<LayerRow>>,
    /// Set when messages with the same EDRM Message ID Hash form a set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_message_ids: Option<bool>,
    /// The method's name.
    pub method: String,
    /// A link needs this share of the smaller content.
    pub min_containment: Ratio,
    /// Or this many bytes; none where the method knows of none.
    pub min_shared_bytes: Option<u64>,
    /// Repositories that could not take part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingRow>,
    /// Warning that readers of the result must see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<&'static str>,
    /// The parameters of the method, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// Set when paragraphs were compared, each as a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<bool>,
    /// `fine` or `coarse`; none where the method has no fine chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// The documents chosen from the scan that this one refines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refined: Option<RefinedSection>,
    /// The scan that this one refines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refines: Option<String>,
    /// Fields that may differ between equal runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunSection>,
    /// What blind samples of its links say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<crate::report::SampleSection>,
    /// Which documents the scan chose; absent where it chose all, and for people who do not see all of the scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionSection>,
    /// The site of a slice; absent in the complete report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// `complete` or `partial`.
    pub status: String,
    /// The digest of the templates that were set aside, where any were marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub templates_digest: Option<String>,
    /// Method that verified the pairs that the method only proposes: `tttd` or `cosine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_by: Option<String>,
    /// `raw`, `text` or `both`.
    pub view: String,
}

/// The choice of documents.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Debug)]
pub struct SelectionSection {
    /// Patterns of documents that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Set if targets of symbolic links were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
    /// Patterns of the documents that were read; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// The share of the documents that were read, in percent: an estimate for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_percent: Option<u32>,
    /// The size of the largest document that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_max_bytes: Option<u64>,
}

/// The pairs that were measured by fine chunks.
#[derive(Clone, Serialize, Debug)]
pub struct FineSection {
    /// Candidates of which some chunk could not be cut again: less than they share may be reported.
    pub coarse_pairs: u64,
    /// Pairs that were measured by fine chunks.
    pub fine_pairs: u64,
    /// Clusters that rest on a frame.
    pub frame_clusters: u64,
    /// Listed links that rest on a frame.
    pub frame_links: u64,
    /// Frames: what many otherwise unlike documents have, and links rest on.
    pub frames: u64,
    /// The repositories that did not give all fine chunks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<FineRepository>,
    /// Pairs whose documents have closer relatives or are too long: they keep the figures of whole chunks.
    pub omitted_pairs: u64,
    /// Rows of fine chunks that templates leave out.
    pub template_rows: u64,
}

/// A repository that did not give all fine chunks.
#[derive(Clone, Serialize, Debug)]
pub struct FineRepository {
    /// Contents whose documents are gone or have changed.
    pub changed_contents: u64,
    /// Chunks that the site was asked to cut.
    pub chunks: u64,
    /// Of these, chunks that it cut.
    pub expanded_chunks: u64,
    /// The reason, if the site gave no more.
    pub reason: Option<String>,
    /// True if the reason is the policy of the site, or that the scan asks no site.
    pub refused: bool,
    /// The repository.
    pub repository: String,
    /// Its site.
    pub site: String,
}

impl FineRepository {
    /// True if the chunks were to be had: the site's policy allows them, and no document has changed.
    pub fn is_not_given(&self) -> bool {
        self.reason.is_some() && !self.refused
    }
}

impl ScanSection {
    /// The repositories that did not give all fine chunks, though they were to be had.
    pub fn not_given(&self) -> impl Iterator<Item = &FineRepository> {
        self.fine.iter().flat_map(|fine| &fine.incomplete).filter(|fine| fine.is_not_given())
    }
}

/// Comparison under one of two views.
#[derive(Clone, Serialize, Debug)]
pub struct LayerRow {
    /// The mean chunk in bytes, or the bytes to a feature.
    pub chunk_bytes: Option<u64>,
    /// A link needs this many bytes, or the scan's share of the smaller content.
    pub min_shared_bytes: Option<u64>,
    /// The parameters of the method, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The digest of the templates that were set aside, where any were marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub templates_digest: Option<String>,
    /// `raw` or `text`.
    pub view: String,
}

/// A tag that was left out of the comparison.
#[derive(Clone, Serialize, Debug)]
pub struct SetAsideRow {
    /// True if it would have made more pairs than a scan may compare; absent of a template.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub crowded: bool,
    /// Documents that have it, every copy counted.
    pub documents: u64,
    /// The length of its chunk.
    pub length_bytes: u64,
    /// The tag, in hexadecimal digits.
    pub tag: String,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// A repository that could not take part.
#[derive(Clone, Serialize, Debug)]
pub struct MissingRow {
    /// Why.
    pub reason: String,
    /// The repository.
    pub repository: String,
    /// Its site.
    pub site: String,
}

/// The documents of an earlier scan that a refinement is about.
#[derive(Clone, Serialize, Debug)]
pub struct RefinedSection {
    /// Of them, documents that are gone or not what they were, and were left out.
    pub changed: u64,
    /// Documents chosen, at the repositories that took part.
    pub documents: u64,
    /// Of those that were unmatched, no smaller ones; none where they were not chosen.
    pub size_min_bytes: Option<u64>,
    /// `linked`, `unmatched` or `both`.
    pub what: String,
}

/// How far the shares of a result are from what documents truly share.
#[derive(Clone, Serialize, Debug)]
pub struct ExpectedError {
    /// Half of the shares are as close to the truth as this, or closer.
    pub median: Ratio,
    /// Nine of ten are.
    pub p90: Ratio,
    /// Pairs that it follows from, each with a share of either document.
    pub pairs: u64,
    /// The sites that have pairs of the sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<ExactSiteRow>,
    /// Pairs that the sites of the scan measured exactly, and that are links or should be.
    pub sites_pairs: u64,
    /// `sites`: from pairs of this scan; `public`: these are too few, and it is that of public documents.
    pub source: &'static str,
}

/// A site that has pairs of the sample of which the expected error follows.
#[derive(Clone, Serialize, Debug)]
pub struct ExactSiteRow {
    /// Pairs that it measured, now or for an earlier scan.
    pub measured_pairs: u64,
    /// Bytes of documents that it read for them now.
    pub read_bytes: u64,
    /// The reason why it measured no more, if there is one.
    pub reason: Option<String>,
    /// True if the reason is the policy of the site, or that the scan asks no site.
    pub refused: bool,
    /// Its pairs of the sample.
    pub sampled_pairs: u64,
    /// The site.
    pub site: String,
}

/// Times and counters of this run alone.
#[derive(Clone, Serialize, Debug)]
pub struct RunSection {
    /// The expected error of the shares; none where the method has no chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_error: Option<ExpectedError>,
    /// Time of its end.
    pub finished: String,
    /// The repositories in the order of the launch, each as `site/repository`.
    pub order: Vec<String>,
    /// Work of each site.
    pub sites: Vec<RunSite>,
    /// Time of its start.
    pub started: String,
    /// The program that wrote this report, with its version.
    pub tool: &'static str,
}

/// Work of a site in this run.
#[derive(Clone, Serialize, Debug)]
pub struct RunSite {
    /// Bytes of documents read once more for fine chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fine_read_bytes: Option<u64>,
    /// Bytes of documents read.
    pub read_bytes: u64,
    /// Documents read.
    pub read_documents: u64,
    /// The repository.
    pub repository: String,
    /// Bytes of messages sent.
    pub sent_bytes: u64,
    /// The site.
    pub site: String,
}

/// A repository and its documents in numbers.
#[derive(Clone, Serialize, Debug)]
pub struct SiteSection {
    /// Bytes of all documents.
    pub bytes: u64,
    /// Documents that changed each time they were read.
    pub changed: u64,
    /// Chunks of all documents.
    pub chunks: u64,
    /// Bytes in compressed containers.
    pub compressed_bytes: u64,
    /// Contents of which other sites sent other chunks under the same digest: most of them, or any where there are no most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradicted_contents: Option<u64>,
    /// Documents looked into, empty ones too.
    pub documents: u64,
    /// Empty documents.
    pub empty: u64,
    /// Excluded documents by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub excluded: Counts,
    /// Bytes of hard links, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard_link_bytes: Option<u64>,
    /// Hard links: names beyond the first of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard_links: Option<u64>,
    /// If text was compared: number of documents that are members of archives and messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<u64>,
    /// Documents of kinds that have no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_text: Option<u64>,
    /// Documents that are not compared by their text, by reason: pictures of pages, files without text, text that is kept.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_compared_by_text: Counts,
    /// The site's party.
    pub party: String,
    /// If paragraphs were compared: their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<u64>,
    /// Documents of which some text was recognised in pictures of pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognised: Option<u64>,
    /// The program that recognised text in pictures of pages, with its version and languages, where the site has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognition: Option<String>,
    /// The repository.
    pub repository: String,
    /// The site.
    pub site: String,
    /// Entries left out.
    pub skipped: u64,
    /// Entries left out, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped_reasons: Counts,
    /// Documents by status; adds up to `documents`.
    pub status: Counts,
    /// Bytes of text of all documents, where it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// Under the view `auto`: the documents that count by their text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_documents: Option<u64>,
    /// Bytes of the files that count as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_file_bytes: Option<u64>,
    /// Documents whose text could not be read, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unextractable: Counts,
    /// Documents and folders that could not be read.
    pub unreadable: u64,
}
