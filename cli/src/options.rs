//! The options of a scan as flags, for all commands with scans.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use clap::{Args, ValueEnum};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::{Engine, Precision, ScanOptions, ScanView};
use cognate_similarity::Containment;

use crate::args::{MethodArgs, size};
use crate::exit::usage;

/// The flags. The repositories of a scan and its refinement are arguments of their own.
#[derive(Args, Debug)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    /// Compare paragraphs as separate documents: with --view text
    #[arg(long, help_heading = "Method")]
    pub(crate) passages: bool,
    /// Group messages with the same EDRM Message ID Hash, if sites send it
    #[arg(long, help_heading = "What counts")]
    pub(crate) match_message_ids: bool,
    /// Count a link only with this many bytes in common, or with --min-containment [default: 16384; of text 2048]. The methods
    /// min, sketch and fuzzy, which do not count bytes, ignore it
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "What counts")]
    pub(crate) min_shared_bytes: Option<u64>,
    /// Count a link only with this share of the smaller document in common, 0 to 1, or with --min-shared-bytes. For min, sketch
    /// and fuzzy: the least similarity of documents
    #[arg(long, value_name = "X", default_value = "0.5", help_heading = "What counts")]
    pub(crate) min_containment: Containment,
    /// Measure pairs by whole chunks, or cut the chunks that a pair does not share once more [default: fine]
    #[arg(long, value_enum, default_value = "fine", hide_default_value = true, help_heading = "What counts")]
    pub(crate) precision: PrecisionArg,
    /// Rule by which links form clusters
    #[arg(long, value_enum, default_value = "connected", help_heading = "What counts")]
    pub(crate) cluster: Clusters,
    /// Count only overlap between sites (between parties, if there are two or more)
    #[arg(long, help_heading = "What counts")]
    pub(crate) across_only: bool,
    /// Planted documents that the scan must find: reported separately, and not counted as overlap
    #[arg(long, value_name = "GLOB", help_heading = "What counts")]
    pub(crate) control: Vec<String>,
    /// Compare the folder A of the first repository with the folder B of the second, at another path
    #[arg(long, value_name = "A=B", help_heading = "What counts")]
    pub(crate) align: Vec<String>,
    /// Compare only equal paths (and folders of --align), and look for no folders that were renamed or moved
    #[arg(long, help_heading = "What counts")]
    pub(crate) no_align: bool,
    /// Read only documents that match; a pattern without `/` matches names at any depth
    #[arg(long, value_name = "GLOB", help_heading = "What is read")]
    pub(crate) include: Vec<String>,
    /// Skip documents and folders that match
    #[arg(long, value_name = "GLOB", help_heading = "What is read")]
    pub(crate) exclude: Vec<String>,
    /// Skip documents larger than this
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "What is read")]
    pub(crate) size_max: Option<u64>,
    /// Also read the targets of symbolic links
    #[arg(long, help_heading = "What is read")]
    pub(crate) follow: bool,
    /// Continue without sites that are not done after this time: 10s, 5m, 2h
    #[arg(long, value_name = "D", value_parser = humantime::parse_duration, help_heading = "How")]
    pub(crate) sync_deadline: Option<Duration>,
    /// Fail if something was unreadable or a site was missing
    #[arg(long, help_heading = "How")]
    pub(crate) require_complete: bool,
    /// Read nothing, and compare the indexes of earlier scans or of the last run with the same --state
    #[arg(long, help_heading = "How")]
    pub(crate) no_sync: bool,
    /// Working memory of the comparison, at least 32MiB [default: 128MiB; at a coordinator, the value of its configuration]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "How")]
    pub(crate) memory_budget: Option<u64>,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", help_heading = "How")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Engine that groups chunks: the coordinator's own, or a Spark cluster that its configuration allows [default: native]
    #[arg(long, value_enum, default_value = "native", hide_default_value = true, help_heading = "How")]
    pub(crate) engine: EngineArg,
    /// Spark Connect server, with --engine spark: `sc://HOST:PORT` [default: the first of the coordinator's configuration]
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true, help_heading = "How")]
    pub(crate) spark: String,
    /// Folder for the exchange with it: `file:///DIR`, `s3a://BUCKET/DIR` [default: the first of the coordinator's configuration]
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true, help_heading = "How")]
    pub(crate) exchange: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Clusters {
    /// All documents that links connect
    Connected,
    /// Each document with its most similar representative
    Greedy,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum PrecisionArg {
    /// What a pair does not share is cut into pieces of about 30 bytes
    Fine,
    /// Whole chunks alone: faster, and the shares of edited documents are too low
    Coarse,
}

impl From<PrecisionArg> for Precision {
    fn from(precision: PrecisionArg) -> Precision {
        match precision {
            PrecisionArg::Fine => Precision::Fine,
            PrecisionArg::Coarse => Precision::Coarse,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum EngineArg {
    /// The coordinator's own
    Native,
    /// Apache Spark, over Spark Connect
    Spark,
}

impl From<EngineArg> for Engine {
    fn from(engine: EngineArg) -> Engine {
        match engine {
            EngineArg::Native => Engine::Native,
            EngineArg::Spark => Engine::Spark,
        }
    }
}

impl ScanArgs {
    /// The typed options, for a scan of these repositories.
    ///
    /// # Errors
    /// If an option is invalid; the error names its flag.
    pub(crate) fn options(&self, repositories: Vec<(SiteName, RepositoryName)>) -> anyhow::Result<ScanOptions> {
        // Every flag and every option is named here, so that none can be forgotten.
        let ScanArgs {
            method: MethodArgs { method, view: _, chunk_bytes, param },
            passages: _,
            match_message_ids,
            min_shared_bytes,
            min_containment,
            precision,
            cluster,
            across_only,
            control,
            align,
            no_align,
            include,
            exclude,
            size_max,
            follow,
            sync_deadline,
            require_complete,
            no_sync,
            memory_budget,
            threads,
            engine,
            spark,
            exchange,
        } = self;
        let options = ScanOptions {
            repositories,
            view: self.view()?,
            method: method.clone(),
            param: param.clone().unwrap_or_default(),
            chunk_bytes: *chunk_bytes,
            min_shared_bytes: *min_shared_bytes,
            min_containment: min_containment.to_string(),
            precision: (*precision).into(),
            include: include.clone(),
            exclude: exclude.clone(),
            size_max_bytes: *size_max,
            sync_deadline: *sync_deadline,
            across_only: *across_only,
            require_complete: *require_complete,
            no_sync: *no_sync,
            follow: *follow,
            match_message_ids: *match_message_ids,
            control: control.clone(),
            align: align.clone(),
            no_align: *no_align,
            greedy: *cluster == Clusters::Greedy,
            memory_budget_bytes: *memory_budget,
            threads: threads.map(|threads| NonZeroU32::try_from(threads).unwrap_or(NonZeroU32::MAX)),
            engine: (*engine).into(),
            spark: spark.clone(),
            exchange: exchange.clone(),
            // Commands that estimate, refine or save a scan set these.
            sample_percent: None,
            refine: None,
            origin: String::new(),
        };
        options.check().map_err(|error| usage(error.of_flag()))?;
        Ok(options)
    }

    fn view(&self) -> anyhow::Result<ScanView> {
        let named = |name: &str| ScanView::ALL.into_iter().find(|view| view.name() == name);
        match (self.method.view.as_deref(), self.passages) {
            (Some("text" | "passages"), true) => Ok(ScanView::Passages),
            (view, false) => Ok(view.and_then(named).unwrap_or_default()),
            (_, true) => Err(usage("--passages are paragraphs of text: use --view text --passages")),
        }
    }
}

#[cfg(test)]
mod tests;
