//! `cognate worker explain`: this site's own text at the places that two documents share.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use cognate_fingerprint::View;
use cognate_proto::path::{DocumentPath, printable, unescaped};

use super::{ConfigArgs, setup};
use crate::document_reader::{DocumentReader, split};
use crate::exit::{Exit, usage};
use cognate_export::human::count;
use cognate_result::explain::record::{Document, Explained, Pair, SCHEMA};

/// Shows the text of this site's own file at the places that it shares with another document. The other document is not
/// needed: it has the same text there. Nothing is sent.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate explain latest paris/kb/guide.html tokyo/kb/guide.html --format json -o explained.json
  cognate worker explain explained.json --config worker.toml")]
pub(super) struct ExplainArgs {
    /// Output of `cognate explain --format json`
    file: PathBuf,
    /// Name of this site, needed if both documents have a repository of the same name
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
    /// Characters to show of each place; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 400)]
    characters: usize,
    /// Places to show; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
}

pub(super) fn run(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let text =
        std::fs::read_to_string(&args.file).with_context(|| format!("`{}` cannot be read", args.file.display()))?;
    let explained: Explained = serde_json::from_str(&text)
        .map_err(|error| usage(format!("`{}` is not an explanation: {error}", args.file.display())))?;
    if explained.schema != SCHEMA {
        let schema = &explained.schema;
        return Err(usage(format!("`{}` is of schema `{schema}`, this version reads `{SCHEMA}`", args.file.display())));
    }
    let mut shown = false;
    for (is_a, document) in [(true, &explained.a), (false, &explained.b)] {
        if args.site.as_ref().is_some_and(|site| *site != document.site) {
            continue;
        }
        let root = setup.repositories.iter().find(|(name, _)| name.as_str() == document.repository);
        let Some((_, root)) = root else { continue };
        let path = if document.path_escaped == Some(true) {
            unescaped(&document.path)
        } else {
            document.path.clone().into_bytes()
        };
        let path = DocumentPath::new(&path).map_err(|error| usage(error.to_string()))?;
        let (file, inside) = split(path.as_bytes());
        let full = root.join(std::ffi::OsStr::from_bytes(file));
        let is_here = std::fs::symlink_metadata(&full).is_ok_and(|found| found.is_file());
        if !is_here {
            continue;
        }
        shown = true;
        for pair in &explained.views {
            show(args, document, pair, is_a, (&full, inside.as_deref()))?;
        }
    }
    if shown {
        return Ok(Exit::Complete);
    }
    Err(usage("neither document is in a repository of this site: name this site with --site"))
}

fn show(
    args: &ExplainArgs,
    document: &Document,
    pair: &Pair,
    is_a: bool,
    (file, inside): (&std::path::Path, Option<&str>),
) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{} ({})", printable(document.place().as_bytes()), pair.view)?;
    let view: View = pair.view.parse()?;
    let seen = DocumentReader::new().view(file, inside, view)?;
    let expected = if is_a { pair.a.size_bytes } else { pair.b.size_bytes };
    if u64::try_from(seen.len())? != expected {
        writeln!(
            out,
            "  it has changed since the scan: {} bytes instead of {}",
            count(seen.len() as u64),
            count(expected)
        )?;
        return Ok(());
    }
    if pair.identical {
        writeln!(out, "  all of it: the two are the same")?;
        return Ok(());
    }
    let Some(shared) = &pair.shared else {
        writeln!(out, "  positions unknown: {}", pair.unplaced.as_deref().unwrap_or_default())?;
        return Ok(());
    };
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    for run in shared.iter().take(limit) {
        let start = usize::try_from(if is_a { run.offset_a } else { run.offset_b })?;
        let end = start.saturating_add(usize::try_from(run.length_bytes)?);
        let Some(bytes) = seen.get(start..end) else {
            writeln!(out, "  byte {}: beyond its end", count(start as u64))?;
            continue;
        };
        writeln!(out, "\n  at byte {}, {} bytes", count(start as u64), count(run.length_bytes))?;
        let text = String::from_utf8_lossy(bytes);
        let characters = if args.characters == 0 { usize::MAX } else { args.characters };
        let mut shown: String = text.chars().take(characters).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        for line in shown.lines() {
            writeln!(out, "  │ {}", printable(line.replace('\t', "    ").as_bytes()))?;
        }
    }
    if shared.len() > limit {
        writeln!(out, "\n  … {} more places; --limit 0 shows all", count((shared.len() - limit) as u64))?;
    }
    writeln!(out)?;
    Ok(())
}
