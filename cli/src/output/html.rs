//! A report as one page that needs nothing but itself: it can be mailed, kept, printed, and read without a network, and
//! without its script. What is too much for a page is left out, and the page says so and how to get it.

mod answer;
mod cells;
mod groups;
mod lists;

use std::io::Write;

use anyhow::Error;
use cognate_coordinator::report::{Report, ScanSection, SiteSection};

use self::cells::Safe;
use super::grid::{Cell, Column, Rows};
use super::overlap::parameters;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Writes the whole report.
pub(super) fn write(report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    let (scan, sites) = (report.scan()?, report.sites()?);
    begin(&title(report, &scan, &sites), out)?;
    answer::write(report, &scan, &sites, out)?;
    groups::clusters(report, out)?;
    groups::identical(report, out)?;
    lists::folders(report, out)?;
    lists::unread(report, out)?;
    how(report, out)?;
    end(out)
}

/// Writes one list.
pub(crate) fn write_list(
    title: &str,
    columns: &[Column],
    whole: &str,
    fill: impl FnOnce(&mut dyn Rows) -> anyhow::Result<()>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    begin(title, out)?;
    writeln!(out, "<h1>{}</h1>", Safe(title))?;
    let mut list = lists::List::begin(columns, lists::ALONE_BYTES_MAX, out)?;
    fill(&mut list)?;
    list.end(whole)?;
    end(out)
}

fn begin(title: &str, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>Cognate: {}</title>\n<style>\n{STYLE}</style></head>\n<body>",
        Safe(title)
    )?;
    Ok(())
}

fn end(out: &mut impl Write) -> anyhow::Result<()> {
    Ok(writeln!(out, "<script>\n{SCRIPT}</script>\n</body></html>")?)
}

fn title(report: &Report, scan: &ScanSection, sites: &[SiteSection]) -> String {
    const NAMED_MAX: usize = 4;
    let mut names: Vec<String> = sites.iter().take(NAMED_MAX).map(repository).collect();
    if sites.len() > NAMED_MAX {
        names.push(format!("{} more", sites.len() - NAMED_MAX));
    }
    let last = names.pop().filter(|_| !names.is_empty());
    let names = match last {
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => repository(&sites[0]),
    };
    let of = report.sliced().map(|site| format!("{site}'s part of ")).unwrap_or_default();
    let partial = if scan.status == "complete" { "" } else { "PARTIAL: " };
    let have = if sites.len() == 1 { "has in several places" } else { "have in common" };
    format!("{partial}{of}what {names} {have}")
}

fn repository(site: &SiteSection) -> String {
    if site.repository == "main" { site.site.clone() } else { format!("{}/{}", site.site, site.repository) }
}

/// What was asked for, and how to get what does not stand here.
fn how(report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "<h2 id=\"how\">How this was made</h2>\n<dl>")?;
    for (what, value) in parameters(report)? {
        writeln!(out, "<dt>{}</dt><dd>{}</dd>", Safe(what), Safe(&value))?;
    }
    let (mut tags, mut bytes) = (0, 0);
    report.set_aside::<Error>(|row| {
        tags += 1;
        bytes += row.documents * row.length_bytes;
        Ok(())
    })?;
    if tags > 0 {
        let (tags, bytes) = (super::table::count(tags), super::table::bytes(bytes));
        writeln!(out, "<dt>Set aside as templates</dt><dd>{tags} tags, at least {bytes} of all documents</dd>")?;
    }
    writeln!(
        out,
        "</dl>\n<p class=\"soft\">Names with characters that could not be seen, or would turn the direction of writing, show \
         them by number, <span class=\"u\">\\u{{202e}}</span>. Bytes that are no text are written as %XX.</p>"
    )?;
    Ok(())
}

/// The words that lead to what a page left out.
fn elsewhere(report: &Report, format: &str) -> anyhow::Result<String> {
    let id = report.scan()?.id.unwrap_or_default();
    Ok(format!(
        "All of them: cognate report {} --format {format} -o FILE, or the same option of cognate compare.",
        id.get(..8).unwrap_or(&id)
    ))
}

impl Rows for lists::List<'_, '_> {
    fn row(&mut self, cells: Vec<Cell>) -> anyhow::Result<()> {
        self.push(&cells)
    }
}
