//! A report as one page without external files: it can be mailed, stored, printed, and read without a network, and
//! without its script. Rows that are too many for a page are left out, and the page says so and names the command for
//! them.

mod answer;
mod cells;
mod groups;
mod lists;
mod tree;

use std::io::Write;

use crate::Error;
use cognate_result::report::{Report, ScanSection, SiteSection};

use self::cells::Safe;
use crate::grid::{Cell, Column, Rows};
use crate::overlap::parameters;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Writes the whole report.
pub(super) fn write(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let (scan, sites) = (report.scan()?, report.sites()?);
    begin(&title(report, &scan, &sites), out)?;
    answer::write(report, &scan, &sites, out)?;
    tree::write(report, out)?;
    groups::clusters(report, out)?;
    groups::identical(report, out)?;
    lists::folders(report, out)?;
    lists::unread(report, out)?;
    how(report, out)?;
    end(out)
}

/// Writes one list.
pub fn write_list(
    title: &str,
    columns: &[Column],
    whole: &str,
    fill: impl FnOnce(&mut dyn Rows) -> crate::Result<()>,
    out: &mut impl Write,
) -> crate::Result<()> {
    begin(title, out)?;
    writeln!(out, "<h1>{}</h1>", Safe(title))?;
    let mut list = lists::List::begin(columns, lists::ALONE_BYTES_MAX, out)?;
    fill(&mut list)?;
    list.end(whole)?;
    end(out)
}

fn begin(title: &str, out: &mut impl Write) -> crate::Result<()> {
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

fn end(out: &mut impl Write) -> crate::Result<()> {
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
    let of = report.chosen().map(|words| format!("{of}the clusters with {words} of ")).unwrap_or(of);
    let partial = if scan.status == "complete" { "" } else { "PARTIAL: " };
    let have = if sites.len() == 1 { "has in several places" } else { "have in common" };
    format!("{partial}{of}what {names} {have}")
}

fn repository(site: &SiteSection) -> String {
    place(&site.site, &site.repository)
}

fn place(site: &str, repository: &str) -> String {
    if repository == "main" { site.to_owned() } else { format!("{site}/{repository}") }
}

/// The options of the scan, and the commands for parts that are not on the page.
fn how(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    writeln!(out, "<h2 id=\"how\">How this was made</h2>\n<dl>")?;
    for (what, value) in parameters(report)? {
        writeln!(out, "<dt>{}</dt><dd>{}</dd>", Safe(what), Safe(&value))?;
    }
    let (mut tags, mut bytes, mut crowds) = (0, 0, 0);
    report.set_aside::<Error>(|row| {
        if row.crowded {
            crowds += 1;
            return Ok(());
        }
        tags += 1;
        bytes += row.documents * row.length_bytes;
        Ok(())
    })?;
    if tags > 0 {
        let (tags, bytes) = (crate::human::count(tags), crate::human::bytes(bytes));
        writeln!(out, "<dt>Set aside as templates</dt><dd>{tags} tags, at least {bytes} of all documents</dd>")?;
    }
    if crowds > 0 {
        let crowds = crate::human::count(crowds);
        writeln!(
            out,
            "<dt>Set aside as too common</dt><dd>{crowds} chunks, which would have made more pairs than a scan may compare</dd>"
        )?;
    }
    writeln!(out, "</dl>\n<h3 id=\"words\">Words</h3>\n<dl>")?;
    for (word, meaning) in crate::legend::all() {
        writeln!(out, "<dt>{word}</dt><dd>{meaning}</dd>")?;
    }
    writeln!(
        out,
        "</dl>\n<p class=\"soft\">Names with characters that could not be seen, or would turn the direction of writing, show \
         them by number, <span class=\"u\">\\u{{202e}}</span>. Bytes that are no text are written as %XX.</p>"
    )?;
    Ok(())
}

/// The command for a part that the page left out.
fn elsewhere(report: &Report, format: &str) -> crate::Result<String> {
    let id = report.scan()?.id.unwrap_or_default();
    Ok(format!(
        "All of them: cognate report {} --format {format} -o FILE, or the same option of cognate compare.",
        id.get(..8).unwrap_or(&id)
    ))
}

impl Rows for lists::List<'_, '_> {
    fn row(&mut self, cells: Vec<Cell>) -> crate::Result<()> {
        self.push(&cells)
    }
}
