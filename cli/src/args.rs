//! Arguments of several commands: the method, the key, the format of a report.

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use cognate_export::Format;
use cognate_fingerprint::{Key, Method, MethodError, View};
use cognate_proto::options::ScanView;
use zeroize::Zeroizing;

use crate::exit::usage;

/// The longest invitation, with what a mail program may put around it.
const INVITATION_BYTES_MAX: u64 = 1 << 16;

/// The text of an invitation: the argument, or for `-` standard input, which other users of the machine do not see. Of a
/// terminal it reads one line.
pub(crate) fn invitation_text(argument: &str) -> anyhow::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(argument.to_owned());
    if argument != "-" {
        return Ok(text);
    }
    text.clear();
    let stdin = std::io::stdin().lock();
    let is_terminal = stdin.is_terminal();
    let mut stdin = stdin.take(INVITATION_BYTES_MAX);
    if is_terminal {
        tell!("paste the invitation, and press Enter:");
        stdin.read_line(&mut text)?;
    } else {
        stdin.read_to_string(&mut text)?;
    }
    Ok(text)
}

/// Method, view and parameters that documents are fingerprinted with.
#[derive(Args, Debug)]
pub(crate) struct MethodArgs {
    /// Method of fingerprinting; docs/methods.md compares them. In the project's own experiments bsw, bsw-chunk and similarity-index win for no need: bsw reports less than the truth, bsw-chunk finds less than tttd, and similarity-index has 600 false candidates a query among 10,000 documents
    #[arg(long, value_parser = PossibleValuesParser::new(Method::NAMES), default_value = "tttd", help_heading = "Method")]
    pub(crate) method: String,
    /// Part of a document to fingerprint: auto (its bytes, and the text of office files, PDF and mail), raw (its bytes), text (the text that a reader sees), passages (each paragraph of the text), both (bytes and text) [default: auto; raw of single files]
    #[arg(long, value_parser = PossibleValuesParser::new(ScanView::ALL.map(ScanView::name)), help_heading = "Method")]
    pub(crate) view: Option<String>,
    /// Average length of a chunk, 80 to 1MiB, or bytes per feature; signatures of a fixed size ignore it [default: 1000; of text 200, of passages 80]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Method")]
    pub(crate) chunk_bytes: Option<u64>,
    /// More parameters of the method: `w=20,n=100`
    #[arg(long, value_name = "K=V,…", help_heading = "Method")]
    pub(crate) param: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct KeyArgs {
    /// File with the key to fingerprint with: 32 bytes, or 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum ReportFormat {
    /// Tables for people
    Text,
    /// One object, schema cognate.report/1
    Json,
    /// One object per line
    Ndjson,
    /// One row per member, for spreadsheets
    Csv,
    /// Excel workbook with foldable clusters and sets
    Xlsx,
    /// One self-contained page to mail, archive or print
    Html,
    /// CSV for review platforms: one row per content, with group, principal, similarity, all sites and paths
    Loadfile,
    /// The result itself, a database file that `sqlite3` opens
    Sqlite,
}

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
    /// True if the format must not go to a terminal.
    pub(crate) fn needs_file(self) -> bool {
        matches!(self, ReportFormat::Sqlite | ReportFormat::Xlsx)
    }
}

impl MethodArgs {
    /// The requested method.
    pub(crate) fn any(&self) -> anyhow::Result<Method> {
        let view = self.view.as_deref().unwrap_or("raw");
        if ["auto", "both"].contains(&view) {
            let reason = format!("--view {view} is for scans, which compare one view after the other: use raw or text");
            return Err(usage(reason));
        }
        self.of(view.parse().map_err(|error| usage(format!("--view: {error}")))?)
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
    /// The requested key, or none.
    pub(crate) fn key(&self) -> anyhow::Result<Key> {
        let Some(path) = &self.key else { return Ok(Key::none()) };
        let bytes = std::fs::read(path)
            .map(Zeroizing::new)
            .with_context(|| format!("the key file `{}` cannot be read", path.display()))?;
        Key::parse(&bytes).map_err(|error| usage(format!("the key file `{}`: {error}", path.display())))
    }
}

/// Number of threads: the requested number, or one for each processor.
pub(crate) fn threads(requested: Option<NonZeroUsize>) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    requested.unwrap_or_else(all)
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
