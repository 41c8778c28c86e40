//! The options of a scan: the one place that defines them, with their names, defaults and checks.
//!
//! People give options as flags, in a form, or through the API. They travel, and are stored, as the message of the same
//! name (`options/message.rs`). A field's serde name is the name of the option everywhere: `--size-max`, the field
//! `size_max` of the form, the key `size_max` of the API, `size_max_bytes` on the wire. What is not given has its
//! default here; the coordinator decides only how much memory and how many threads it grants.
//!
//! An option that is added here does not compile until the message carries it and [`ScanOptions::check`] names it;
//! CONTRIBUTING.md lists the other places.

mod align;
mod engine;
mod message;
mod refine;
mod texts;

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use cognate_fingerprint::{Method, MethodError, View};
use serde::{Deserialize, Serialize};

pub use self::engine::{Engine, check_exchange, check_server};
pub use self::refine::{Refine, RefineWhat};
use crate::limits::TEXT_BYTES_MAX;
use crate::name::{RepositoryName, SiteName, one_line};
use crate::selection::{Selection, SelectionRule};
use crate::v1;

/// The least working memory of an analysis, in bytes.
const MEMORY_BUDGET_BYTES_LEAST: u64 = 32 << 20;
/// The most repositories of one scan.
const REPOSITORIES_MAX: usize = 4096;
/// The length of the longest decimal number from 0 to 1.
const CONTAINMENT_BYTES_MAX: usize = 32;

/// The options of a scan, as somebody gives them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanOptions {
    /// The repositories, each as `site/repository`.
    #[serde(with = "texts::repositories")]
    pub repositories: Vec<(SiteName, RepositoryName)>,
    /// The views under which documents are compared.
    pub view: ScanView,
    /// The name of the method.
    pub method: String,
    /// Further parameters of the method: `w=20,n=100`.
    pub param: String,
    /// The mean length of a chunk, or the bytes to a feature; `None`: the default of each view.
    pub chunk_bytes: Option<u64>,
    /// The precision with which a pair is measured.
    pub precision: Precision,
    /// The bytes in common that make a link; `None`: the default of each view.
    pub min_shared_bytes: Option<u64>,
    /// The share of the smaller document in common that makes a link: a decimal number from 0 to 1.
    #[serde(deserialize_with = "texts::decimal")]
    pub min_containment: String,
    /// Only documents that one of these patterns matches; all if empty.
    pub include: Vec<String>,
    /// No document that one of these patterns matches.
    pub exclude: Vec<String>,
    /// No larger document.
    #[serde(rename = "size_max")]
    pub size_max_bytes: Option<u64>,
    /// Only a sample of the documents, in percent: what the scan finds is an estimate for all of them. Only by bytes.
    #[serde(rename = "sample")]
    pub sample_percent: Option<u32>,
    /// The longest wait for a site: `10s`, `5m`, `2h`; `None`: no limit.
    #[serde(with = "texts::duration")]
    pub sync_deadline: Option<Duration>,
    /// Only what crosses parties (or sites, where there is one party) counts.
    pub across_only: bool,
    /// A missing site makes the scan fail.
    pub require_complete: bool,
    /// The last indexes of the sites are compared; no site is asked.
    pub no_sync: bool,
    /// Documents behind symbolic links are read as well.
    pub follow: bool,
    /// Messages with the same EDRM Message ID Hash form a set. Only under the text view.
    pub match_message_ids: bool,
    /// Patterns of documents that were planted so that they must be found: they count in no overlap.
    pub control: Vec<String>,
    /// Clusters are made greedily around representatives, in place of connected components.
    pub greedy: bool,
    /// Folders of the first repository and of the second that are compared with each other, each as `FOLDER=FOLDER`. Only for two
    /// repositories.
    pub align: Vec<String>,
    /// No other folders are compared than those of one path, and those of `align`.
    pub no_align: bool,
    /// The working memory of the analysis, at least 32 MiB; `None`: as much as the coordinator grants.
    #[serde(rename = "memory_budget")]
    pub memory_budget_bytes: Option<u64>,
    /// The threads of the analysis; `None`: as many as the coordinator grants.
    pub threads: Option<NonZeroU32>,
    /// The engine that groups chunks by their tags.
    pub engine: Engine,
    /// The Spark Connect server, `sc://HOST:PORT`; empty: the first that the configuration of the coordinator names.
    pub spark: String,
    /// The address of the folder for the exchange with it; empty: the first that the configuration of the coordinator names.
    pub exchange: String,
    /// Only documents that an earlier scan selects; `None`: all.
    pub refine: Option<Refine>,
    /// The profile or schedule that the options come from, or empty.
    pub origin: String,
}

/// The views of a scan. Where there are two, bytes are compared first and then text; the two never meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanView {
    /// The bytes of all documents, and the text of office files, PDF, RTF and mail.
    #[default]
    Auto,
    /// The bytes.
    Raw,
    /// The text that a reader sees.
    Text,
    /// Each paragraph of the text.
    Passages,
    /// The bytes, and then the text.
    Both,
}

/// The precision with which a pair is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// The chunks that two documents do not share are cut once more, much smaller. Where the method or a site has no such
    /// chunks, as [`Coarse`](Precision::Coarse).
    #[default]
    Fine,
    /// By whole chunks alone.
    Coarse,
}

/// One comparison of a scan: a method over one view, and the bytes that make a link there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerOptions {
    /// The method.
    pub method: Method,
    /// The bytes in common that make a link.
    pub min_shared_bytes: u64,
}

/// An option that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{option}`: {reason}")]
pub struct OptionError {
    /// The name of the option.
    pub option: &'static str,
    /// The reason, one line for people.
    pub reason: String,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions {
            repositories: Vec::new(),
            view: ScanView::Auto,
            method: "tttd".to_owned(),
            param: String::new(),
            chunk_bytes: None,
            precision: Precision::Fine,
            min_shared_bytes: None,
            min_containment: "0.5".to_owned(),
            include: Vec::new(),
            exclude: Vec::new(),
            size_max_bytes: None,
            sample_percent: None,
            sync_deadline: None,
            across_only: false,
            require_complete: false,
            no_sync: false,
            follow: false,
            match_message_ids: false,
            control: Vec::new(),
            greedy: false,
            align: Vec::new(),
            no_align: false,
            memory_budget_bytes: None,
            threads: None,
            engine: Engine::Native,
            spark: String::new(),
            exchange: String::new(),
            refine: None,
            origin: String::new(),
        }
    }
}

impl ScanOptions {
    /// Checks every option, alone and beside the others.
    ///
    /// # Errors
    /// The first option that makes no sense.
    pub fn check(&self) -> Result<(), OptionError> {
        // Each option is named here, so that a new one is either checked or said to need no check.
        let ScanOptions {
            repositories,
            view: _,
            method: _,
            param: _,
            chunk_bytes: _,
            precision: _,
            min_shared_bytes: _,
            min_containment,
            include: _,
            exclude: _,
            size_max_bytes: _,
            sample_percent,
            sync_deadline: _,
            across_only: _,
            require_complete: _,
            no_sync: _,
            follow: _,
            match_message_ids,
            control,
            greedy: _,
            align: _,
            no_align: _,
            memory_budget_bytes,
            threads: _,
            engine: _,
            spark: _,
            exchange: _,
            refine,
            origin,
        } = self;
        check_repositories(repositories)?;
        let layers = self.layers()?;
        if min_containment.len() > CONTAINMENT_BYTES_MAX {
            return Err(OptionError::new("min_containment", &"it is longer than a number from 0 to 1 has to be"));
        }
        if refine.is_some() {
            check_refinable(&layers)?;
        }
        if *match_message_ids && layers.iter().all(|layer| !layer.method.view().is_text()) {
            let reason = "messages are known under the text view only; say --view auto, text or both";
            return Err(OptionError::new("match_message_ids", &reason));
        }
        if let Some(percent) = sample_percent {
            if !(1..100).contains(percent) {
                return Err(OptionError::new("sample", &"a sample has 1 to 99 percent of the documents"));
            }
            if layers.iter().any(|layer| layer.method.view() != View::Raw) || refine.is_some() {
                return Err(OptionError::new(
                    "sample",
                    &"a sample is compared by bytes alone: say --view raw, and refine nothing",
                ));
            }
        }
        check_patterns("include", &self.include)?;
        check_patterns("exclude", &self.exclude)?;
        check_patterns("control", control)?;
        self.check_align()?;
        self.check_engine()?;
        if memory_budget_bytes.is_some_and(|bytes| bytes < MEMORY_BUDGET_BYTES_LEAST) {
            return Err(OptionError::new("memory_budget", &"it must be at least 32MiB"));
        }
        match origin.len() > TEXT_BYTES_MAX {
            true => Err(OptionError::new("origin", &"it is too long")),
            false => Ok(()),
        }
    }

    /// The comparisons of the scan, in their order: one for each view, at least one.
    ///
    /// # Errors
    /// When the method or its parameters make no sense.
    pub fn layers(&self) -> Result<Vec<LayerOptions>, OptionError> {
        self.view.views().iter().map(|view| self.layer(*view)).collect()
    }

    fn layer(&self, view: View) -> Result<LayerOptions, OptionError> {
        let method = Method::parse(&self.method, view, self.chunk_bytes, &self.param)?;
        let min_shared_bytes = self.min_shared_bytes.unwrap_or_else(|| view.min_shared_bytes_default());
        Ok(LayerOptions { method, min_shared_bytes })
    }

    /// The options of a stored scan, for those who show them; the defaults where there are none, or none that this
    /// version can read. Repositories whose names are blank, because they are another party's, are left out.
    pub fn of_record(message: Option<&v1::ScanOptions>) -> ScanOptions {
        let read = |message: &v1::ScanOptions| {
            let mut named = message.clone();
            named.repositories.retain(|repository| !repository.repository.is_empty());
            ScanOptions::try_from(&named).ok()
        };
        message.and_then(read).unwrap_or_default()
    }

    /// The documents that the scan is about.
    pub fn selection(&self) -> SelectionRule {
        SelectionRule {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            size_max_bytes: self.size_max_bytes,
            sample_percent: self.sample_percent,
        }
    }
}

impl ScanView {
    /// All of them.
    pub const ALL: [ScanView; 5] = [ScanView::Auto, ScanView::Raw, ScanView::Text, ScanView::Passages, ScanView::Both];

    /// The views, in the order in which they are compared.
    pub fn views(self) -> &'static [View] {
        match self {
            ScanView::Auto => &[View::Raw, View::Office],
            ScanView::Raw => &[View::Raw],
            ScanView::Text => &[View::Text],
            ScanView::Passages => &[View::Passages],
            ScanView::Both => &[View::Raw, View::Text],
        }
    }

    /// The name, as it is typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            ScanView::Auto => "auto",
            ScanView::Raw => "raw",
            ScanView::Text => "text",
            ScanView::Passages => "passages",
            ScanView::Both => "both",
        }
    }
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 2] = [Precision::Fine, Precision::Coarse];

    /// The name, as it is typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Fine => "fine",
            Precision::Coarse => "coarse",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ScanView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OptionError {
    fn new(option: &'static str, reason: &dyn fmt::Display) -> OptionError {
        OptionError { option, reason: one_line(&reason.to_string()) }
    }

    /// The error as somebody reads it who typed the option as a flag.
    pub fn of_flag(&self) -> String {
        format!("--{}: {}", self.option.replace('_', "-"), self.reason)
    }
}

impl From<MethodError> for OptionError {
    fn from(error: MethodError) -> OptionError {
        let option = match &error {
            MethodError::ChunkBytesOutOfRange { .. } | MethodError::SamplingOutOfRange { .. } => "chunk_bytes",
            MethodError::UnknownView { .. } => "view",
            MethodError::UnknownMethod { .. } => "method",
            MethodError::Param(_) | MethodError::TttdParam { .. } => "param",
        };
        OptionError::new(option, &error)
    }
}

fn check_repositories(repositories: &[(SiteName, RepositoryName)]) -> Result<(), OptionError> {
    let refused = |reason: String| Err(OptionError::new("repositories", &reason));
    if repositories.is_empty() {
        return refused("a scan needs at least one".to_owned());
    }
    if repositories.len() > REPOSITORIES_MAX {
        return refused(format!("{} are more than {REPOSITORIES_MAX}", repositories.len()));
    }
    let mut sorted: Vec<_> = repositories.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|two| two[0] == two[1]) {
        Some([(site, repository), _]) => refused(format!("{site}/{repository} is named twice")),
        _ => Ok(()),
    }
}

fn check_refinable(layers: &[LayerOptions]) -> Result<(), OptionError> {
    let refused = |reason: &str| Err(OptionError::new("refine", &reason));
    match layers {
        [layer] if layer.method.capabilities().refinement => Ok(()),
        [_] => refused("what the method proposes would have to be refined once more: use another"),
        _ => refused("a refinement is of one view; say --view raw or --view text"),
    }
}

fn check_patterns(option: &'static str, patterns: &[String]) -> Result<(), OptionError> {
    let rule = SelectionRule { include: patterns.to_vec(), ..SelectionRule::default() };
    Selection::new(rule).map(drop).map_err(|error| OptionError::new(option, &error))
}

#[cfg(test)]
mod tests;
