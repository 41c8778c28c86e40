//! What a refinement is asked for: which documents of an earlier scan are read again.

use clap::{Args, ValueEnum};
use cognate_proto::name::ScanId;
use cognate_proto::v1::{self, RefineWhat};
use serde_json::{Value, json};

use super::find::find;
use super::spec::SpecArgs;
use crate::exit::usage;
use crate::operator::client::Operator;
use cognate_export::human::bytes;

/// Documents that are unique are read again from this size on: a chunk of a scan at the usual mean.
const SIZE_BYTES_MIN: u64 = 1000;

/// Which documents of an earlier scan are read again.
#[derive(Args, Debug)]
pub(super) struct RefineArgs {
    /// Read again only what this scan left interesting: its id, the beginning of it, or `latest`. Repositories are its own
    /// unless typed; --chunk-bytes must be smaller than its
    #[arg(long, value_name = "SCAN", conflicts_with = "profile", help_heading = "Refinement")]
    pub(super) refine: Option<String>,
    /// Which documents: those in clusters, those that are unique, or both
    #[arg(long, value_enum, default_value = "both", requires = "refine", help_heading = "Refinement")]
    refine_what: What,
    /// No smaller ones of those that are unique [default: 1000]
    #[arg(long, value_name = "SIZE", value_parser = crate::args::size, requires = "refine", help_heading = "Refinement")]
    refine_size_min: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum What {
    /// Those in clusters
    Linked,
    /// Those that are unique
    Unmatched,
    /// Either
    Both,
}

impl RefineArgs {
    /// The specification of a refinement of `scan`.
    pub(super) async fn spec(&self, operator: &Operator, scan: &str, typed: &SpecArgs) -> anyhow::Result<v1::ScanSpec> {
        let id = find(operator, scan).await?;
        let request = v1::ShowScanRequest { scan: id.0 };
        let earlier = operator.call(|mut client| async move { client.show_scan(request).await }).await?;
        // Who was missing then sent nothing that could be chosen.
        let took_part = earlier.repositories.into_iter().filter(|row| row.failure.is_empty());
        let mut spec = typed.typed_or_over(took_part.filter_map(|row| row.repository).collect())?;
        if spec.text.is_some() {
            return Err(usage("--refine: a refinement is of one view; say --view raw or --view text"));
        }
        // What links led to is found by following them again.
        spec.follow_symlinks |= earlier.spec.is_some_and(|spec| spec.follow_symlinks);
        let what = match self.refine_what {
            What::Linked => RefineWhat::Linked,
            What::Unmatched => RefineWhat::Unmatched,
            What::Both => RefineWhat::Both,
        };
        let size_bytes_min = self.refine_size_min.unwrap_or(SIZE_BYTES_MIN);
        spec.refine = Some(v1::Refine { scan: id.0, what: what.into(), size_bytes_min });
        Ok(spec)
    }
}

/// `3f2a…: documents in clusters, and unmatched ones of 4.0 kB and more`.
pub(super) fn words(refine: &v1::Refine) -> String {
    let unmatched = || format!("unmatched documents of {} and more", bytes(refine.size_bytes_min));
    let what = match refine.what() {
        RefineWhat::Linked => "linked documents".to_owned(),
        RefineWhat::Unmatched => unmatched(),
        RefineWhat::Both | RefineWhat::Unspecified => format!("linked documents, and {}", unmatched()),
    };
    format!("{}: {what}", ScanId(refine.scan))
}

/// The same for programs.
pub(super) fn object(refine: &v1::Refine) -> Value {
    let (what, with_size) = match refine.what() {
        RefineWhat::Linked => ("linked", false),
        RefineWhat::Unmatched => ("unmatched", true),
        RefineWhat::Both | RefineWhat::Unspecified => ("both", true),
    };
    json!({"what": what, "size_min_bytes": with_size.then_some(refine.size_bytes_min)})
}
