//! The options of a scan as flags, for all commands that take them.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use clap::{Args, ValueEnum};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::{ScanOptions, ScanView};
use cognate_similarity::Containment;

use crate::args::{MethodArgs, size};
use crate::exit::usage;

/// The flags. The repositories of a scan and its refinement are arguments of their own.
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Clusters {
    /// Whatever links connect
    Connected,
    /// Each document with the representative that it is most like
    Greedy,
}

impl ScanArgs {
    /// The options that were typed, for a scan of these repositories.
    ///
    /// # Errors
    /// When one makes no sense; the flag is named.
    pub(crate) fn options(&self, repositories: Vec<(SiteName, RepositoryName)>) -> anyhow::Result<ScanOptions> {
        // Every flag and every option is named here, so that none can be forgotten.
        let ScanArgs {
            method: MethodArgs { method, view: _, chunk_bytes, param },
            passages: _,
            match_message_ids,
            min_shared_bytes,
            min_containment,
            cluster,
            across_only,
            control,
            include,
            exclude,
            size_max,
            follow,
            sync_deadline,
            require_complete,
            no_sync,
            memory_budget,
            threads,
        } = self;
        let options = ScanOptions {
            repositories,
            view: self.view()?,
            method: method.clone(),
            param: param.clone().unwrap_or_default(),
            chunk_bytes: *chunk_bytes,
            min_shared_bytes: *min_shared_bytes,
            min_containment: min_containment.to_string(),
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
            greedy: *cluster == Clusters::Greedy,
            memory_budget_bytes: *memory_budget,
            threads: threads.map(|threads| NonZeroU32::try_from(threads).unwrap_or(NonZeroU32::MAX)),
            // Commands that refine or save a scan fill these in.
            refine: None,
            origin: String::new(),
        };
        options.check().map_err(|error| usage(error.of_flag()))?;
        Ok(options)
    }

    fn view(&self) -> anyhow::Result<ScanView> {
        match (self.method.view.as_str(), self.passages) {
            ("raw", false) => Ok(ScanView::Raw),
            ("text", false) => Ok(ScanView::Text),
            ("text" | "passages", _) => Ok(ScanView::Passages),
            ("both", false) => Ok(ScanView::Both),
            _ => Err(usage("--passages are paragraphs of text: say --view text --passages")),
        }
    }
}

#[cfg(test)]
mod tests;
