//! Options of a refinement: the documents of an earlier scan that are read again.

use clap::{Args, ValueEnum};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::{Refine, RefineWhat, ScanOptions, ScanView};
use cognate_proto::v1;
use serde_json::{Value, json};

use super::find::find_result;
use super::spec::SpecArgs;
use crate::exit::usage;
use crate::operator::client::Operator;

/// Default least size of unmatched documents to read again: a chunk of a scan at the usual mean.
const SIZE_BYTES_MIN: u64 = 1000;

/// Documents of an earlier scan to read again.
#[derive(Args, Debug)]
pub(super) struct RefineArgs {
    /// Read only documents that this scan selects again: its id, the beginning of it, or `latest`. The default repositories are
    /// those of that scan; --chunk-bytes must be smaller than there
    #[arg(long, value_name = "SCAN", conflicts_with = "profile", help_heading = "Refinement")]
    pub(super) refine: Option<String>,
    /// Documents to read again
    #[arg(long, value_enum, default_value = "both", requires = "refine", help_heading = "Refinement")]
    refine_what: What,
    /// Skip unmatched documents that are smaller than this [default: 1000]
    #[arg(long, value_name = "SIZE", value_parser = crate::args::size, requires = "refine", help_heading = "Refinement")]
    refine_size_min: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum What {
    /// Documents in clusters
    Linked,
    /// Unique documents
    Unmatched,
    /// Both
    Both,
}

impl RefineArgs {
    /// The options of a refinement of `scan`.
    pub(super) async fn options(
        &self,
        operator: &Operator,
        scan: &str,
        typed: &SpecArgs,
    ) -> anyhow::Result<ScanOptions> {
        let id = find_result(operator, scan).await?;
        let request = v1::ShowScanRequest { scan: id.0 };
        let state = operator.call(|mut client| async move { client.show_scan(request).await }).await?;
        let earlier = ScanOptions::of_record(state.options.as_ref());
        let mut options = typed.typed_or_over(took_part(&earlier, &state))?;
        if typed.scan.method.view.is_none() {
            // A refinement is of one view.
            options.view = ScanView::Raw;
        }
        // The links of the earlier scan select its linked documents.
        options.follow |= earlier.follow;
        let what = match self.refine_what {
            What::Linked => RefineWhat::Linked,
            What::Unmatched => RefineWhat::Unmatched,
            What::Both => RefineWhat::Both,
        };
        let size_min_bytes = self.refine_size_min.unwrap_or(SIZE_BYTES_MIN);
        options.refine = Some(Refine { scan: id, what, size_min_bytes });
        options.check().map_err(|error| usage(error.of_flag()))?;
        Ok(options)
    }
}

/// The repositories of a scan that were not missing: a missing one sent no documents to select from.
fn took_part(options: &ScanOptions, state: &v1::ScanState) -> Vec<(SiteName, RepositoryName)> {
    let missing = |named: &(SiteName, RepositoryName)| {
        let named = v1::RepositoryRef::from(named);
        state.repositories.iter().any(|row| row.repository.as_ref() == Some(&named) && !row.failure.is_empty())
    };
    options.repositories.iter().filter(|named| !missing(named)).cloned().collect()
}

/// A refinement for programs.
pub(super) fn object(refine: &Refine) -> Value {
    json!({"what": refine.word(), "size_min_bytes": refine.unmatched().then_some(refine.size_min_bytes)})
}
