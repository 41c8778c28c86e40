//! What several commands take: how documents are fingerprinted, what counts, the key, how a report is written.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use cognate_analysis::spec::Layer;
use cognate_export::Format;
use cognate_fingerprint::{Key, Method, MethodError, View};
use cognate_proto::selection::{Selection, SelectionRule};
use cognate_similarity::{Containment, Thresholds};

use crate::exit::usage;

/// What a scan is about, and what counts.
#[derive(Args, Debug)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    /// Compare paragraphs, each as a document: with --view text
    #[arg(long, help_heading = "Method")]
    pub(crate) passages: bool,
    /// Messages with the same EDRM Message ID Hash form a set, where sites tell it
    #[arg(long, help_heading = "What counts")]
    pub(crate) match_message_ids: bool,
    /// A link needs this many bytes in common, or --min-containment [default: 16384; of text 2048]. Says nothing to min, sketch
    /// and fuzzy, which know of no bytes
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "What counts")]
    pub(crate) min_shared_bytes: Option<u64>,
    /// A link needs this share of the smaller document in common, 0 to 1, or --min-shared-bytes. To min, sketch and fuzzy: how
    /// alike documents must be
    #[arg(long, value_name = "X", default_value = "0.5", help_heading = "What counts")]
    pub(crate) min_containment: Containment,
    /// How links become clusters
    #[arg(long, value_enum, default_value = "connected", help_heading = "What counts")]
    pub(crate) cluster: Clusters,
    /// Count only what crosses sites (parties, where there are two or more)
    #[arg(long, help_heading = "What counts")]
    pub(crate) across_only: bool,
    /// Documents that were planted so that they must be found: told apart, and counted in no overlap
    #[arg(long, value_name = "GLOB", help_heading = "What counts")]
    pub(crate) control: Vec<String>,
    /// Only documents that match; a pattern without `/` matches names at any depth
    #[arg(long, value_name = "GLOB", help_heading = "What is read")]
    pub(crate) include: Vec<String>,
    /// No documents or folders that match
    #[arg(long, value_name = "GLOB", help_heading = "What is read")]
    pub(crate) exclude: Vec<String>,
    /// No documents larger than this
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "What is read")]
    pub(crate) size_max: Option<u64>,
    /// Read what symbolic links point to as well
    #[arg(long, help_heading = "What is read")]
    pub(crate) follow: bool,
    /// Go on without sites that are not done after this long: 10s, 5m, 2h
    #[arg(long, value_name = "D", value_parser = humantime::parse_duration, help_heading = "How")]
    pub(crate) sync_deadline: Option<Duration>,
    /// Fail when something was unreadable or a site was missing
    #[arg(long, help_heading = "How")]
    pub(crate) require_complete: bool,
    /// Compare what the last run with the same --state has left, without reading anything
    #[arg(long, help_heading = "How")]
    pub(crate) no_sync: bool,
    /// Working memory of the comparison, at least 32MiB [default: 128MiB; at a coordinator, what its configuration gives]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "How")]
    pub(crate) memory_budget: Option<u64>,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", help_heading = "How")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// How documents are fingerprinted.
#[derive(Args, Debug)]
pub(crate) struct MethodArgs {
    /// The recipe: docs/methods.md says which is for what
    #[arg(long, value_parser = PossibleValuesParser::new(Method::NAMES), default_value = "tttd", help_heading = "Method")]
    pub(crate) method: String,
    /// What of a document is fingerprinted: its bytes, the text that a reader sees, each paragraph of that, or bytes and text
    #[arg(long, value_parser = PossibleValuesParser::new(VIEWS), default_value = "raw", help_heading = "Method")]
    pub(crate) view: String,
    /// The mean length of a chunk, 80 to 1MiB, or the bytes to a feature; a signature of a fixed size takes no heed [default: 1000; of text 200, of passages 80]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Method")]
    pub(crate) chunk_bytes: Option<u64>,
    /// Further parameters of the method: `w=20,n=100`
    #[arg(long, value_name = "K=V,…", help_heading = "Method")]
    pub(crate) param: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct KeyArgs {
    /// Fingerprint with the key in this file: 32 bytes, or 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum ReportFormat {
    /// Tables for people
    Text,
    /// One object, schema cognate.report/1
    Json,
    /// One object a line
    Ndjson,
    /// One row a member, for spreadsheets
    Csv,
    /// A workbook whose clusters and sets fold
    Xlsx,
    /// One page that needs nothing else: to mail, to keep, to print
    Html,
    /// CSV for review platforms: one row a content, with group, principal, similarity, all sites and paths
    Loadfile,
    /// The result itself, a database that can be queried
    Sqlite,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Clusters {
    /// Whatever links connect
    Connected,
    /// Each document with the representative that it is most like
    Greedy,
}

/// The views that the design names.
const VIEWS: [&str; 4] = ["raw", "text", "passages", "both"];

/// The working memory of a comparison in one process.
const MEMORY_BUDGET_BYTES: u64 = 128 << 20;
/// The least working memory.
const MEMORY_BUDGET_BYTES_LEAST: u64 = 32 << 20;

impl From<ReportFormat> for Format {
    fn from(format: ReportFormat) -> Format {
        match format {
            ReportFormat::Text => Format::Text,
            ReportFormat::Json => Format::Json,
            ReportFormat::Ndjson => Format::Ndjson,
            ReportFormat::Csv => Format::Csv,
            ReportFormat::Xlsx => Format::Xlsx,
            ReportFormat::Html => Format::Html,
            ReportFormat::Loadfile => Format::Loadfile,
            ReportFormat::Sqlite => Format::Sqlite,
        }
    }
}

impl ReportFormat {
    /// Whether it is nothing for a terminal.
    pub(crate) fn needs_file(self) -> bool {
        matches!(self, ReportFormat::Sqlite | ReportFormat::Xlsx)
    }

    /// Refuses to write to a terminal what belongs into a file.
    pub(crate) fn check_output(self, output: Option<&PathBuf>) -> anyhow::Result<()> {
        if self.needs_file() && output.is_none() {
            let name = self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            return Err(usage(format!("--format {name} is a file: say where with -o FILE")));
        }
        Ok(())
    }
}

impl MethodArgs {
    /// The method that was asked for.
    pub(crate) fn any(&self) -> anyhow::Result<Method> {
        if self.view == "both" {
            return Err(usage("--view both is for scans, which compare one view after the other: say raw or text"));
        }
        self.of(self.view.parse().map_err(|error| usage(format!("--view: {error}")))?)
    }

    fn of(&self, view: View) -> anyhow::Result<Method> {
        let param = self.param.as_deref().unwrap_or_default();
        Method::parse(&self.method, view, self.chunk_bytes, param).map_err(|error| {
            let option = match &error {
                MethodError::ChunkBytesOutOfRange { .. } | MethodError::SamplingOutOfRange { .. } => "--chunk-bytes",
                _ => "--param",
            };
            usage(format!("{option}: {error}"))
        })
    }
}

impl KeyArgs {
    /// The key that was asked for, or none.
    pub(crate) fn key(&self) -> anyhow::Result<Key> {
        let Some(path) = &self.key else { return Ok(Key::none()) };
        let bytes = std::fs::read(path).with_context(|| format!("the key file `{}` cannot be read", path.display()))?;
        Key::parse(&bytes).map_err(|error| usage(format!("the key file `{}`: {error}", path.display())))
    }
}

impl ScanArgs {
    /// How documents are compared: under the view that was asked for, or under both. What is said of chunks and links is
    /// said of each.
    pub(crate) fn layers(&self) -> anyhow::Result<Vec<Layer>> {
        let views = match (self.method.view.as_str(), self.passages) {
            ("raw", false) => vec![View::Raw],
            ("text", false) => vec![View::Text],
            ("text" | "passages", _) => vec![View::Passages],
            ("both", false) => vec![View::Raw, View::Text],
            _ => return Err(usage("--passages are paragraphs of text: say --view text --passages")),
        };
        if self.match_message_ids && views == [View::Raw] {
            return Err(usage(
                "--match-message-ids: messages are known under the text view only; say --view text or both",
            ));
        }
        let layer = |view: View| -> anyhow::Result<Layer> {
            let min_shared_bytes = self.min_shared_bytes.unwrap_or_else(|| view.min_shared_bytes_default());
            let thresholds = Thresholds { min_shared_bytes, min_containment: self.min_containment };
            let method = self.method.of(view)?;
            Ok(Layer { method, method_id: None, thresholds })
        };
        views.into_iter().map(layer).collect()
    }

    /// Which documents the scan is about.
    pub(crate) fn selection(&self) -> anyhow::Result<SelectionRule> {
        let rule = SelectionRule {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            size_bytes_max: self.size_max,
        };
        Selection::new(rule.clone()).map_err(|error| usage(error.to_string()))?;
        Ok(rule)
    }

    /// The working memory.
    pub(crate) fn memory_budget_bytes(&self) -> anyhow::Result<u64> {
        let bytes = self.memory_budget.unwrap_or(MEMORY_BUDGET_BYTES);
        if bytes < MEMORY_BUDGET_BYTES_LEAST {
            return Err(usage("--memory-budget must be at least 32MiB"));
        }
        Ok(bytes)
    }
}

/// The threads to use: as asked, or one for each processor.
pub(crate) fn threads(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    asked.unwrap_or_else(all)
}

/// Reads a size: `500`, `4KB` (1000 each), `64MiB` (1024 each).
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let size = bytesize::ByteSize::from_str(text);
    size.map(|size| size.as_u64()).map_err(|_| "a size is a number, with a unit or without: 500, 4KB, 64MiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        let check = |text: &str, bytes| assert_eq!(size(text), Ok(bytes), "{text}");
        check("500", 500);
        check("4KB", 4000);
        check("64MiB", 64 << 20);
        check("0", 0);
        for nonsense in ["", "x", "4XB", "-1"] {
            assert!(size(nonsense).is_err(), "{nonsense}");
        }
    }
}
