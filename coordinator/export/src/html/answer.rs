//! The answer of a report: the sites and repositories, how completely they are compared, and how much they have in
//! common.

use std::io::Write;

use cognate_result::report::{BucketRow, HistogramSection, Ratio, Report, STATUSES, ScanSection, SiteSection};

use super::cells::{Safe, percent};
use super::{lists, place, repository, title};
use crate::contradicted::{CONTRADICTED, contradicted};
use crate::expected::expected_error;
use crate::frames::frames;
use crate::human::{bytes, count};
use crate::legend;
use crate::overlap::{InCommon, Matrix, by_status, compared};
use crate::recognised;

/// Sites that a table of all by all can show.
const MATRIX_MAX: usize = 24;

pub(super) fn write(
    report: &Report,
    scan: &ScanSection,
    sites: &[SiteSection],
    out: &mut impl Write,
) -> crate::Result<()> {
    let heading = title(report, scan, sites);
    let heading = heading.trim_start_matches("PARTIAL: ");
    let mut capital = heading.chars();
    let first: String = capital.next().into_iter().flat_map(char::to_uppercase).collect();
    writeln!(out, "<h1>{}{}</h1>", Safe(&first), Safe(capital.as_str()))?;
    let (documents, all) = (sites.iter().map(|site| site.documents).sum(), sites.iter().map(|site| site.bytes).sum());
    let when = scan.run.as_ref().map(|run| run.finished.get(..16).unwrap_or(&run.finished).replace('T', " "));
    writeln!(
        out,
        "<p class=\"soft\">{} documents, {}, of {} repositories, compared by {} ({}), finished {} UTC.</p>",
        count(documents),
        bytes(all),
        count(sites.len() as u64),
        Safe(match scan.view.as_str() {
            "raw" => "their bytes",
            "auto" => "their bytes, and the text of office files",
            "both" => "their bytes and their text",
            _ => "their text",
        }),
        Safe(&scan.method),
        Safe(&when.unwrap_or_default()),
    )?;
    partial(scan, sites, report.cluster_totals()?.clusters, out)?;
    crate::answer::of(report)?.iter().try_for_each(|line| writeln!(out, "<p class=\"answer\">{}</p>", Safe(line)))?;
    expected_error(scan).iter().try_for_each(|line| writeln!(out, "<p class=\"soft\">{}</p>", Safe(line)))?;
    writeln!(
        out,
        "<nav><a href=\"#coverage\">Coverage</a><a href=\"#overlap\">Overlap</a><a href=\"#strength\">Strength</a>\
         <a href=\"#clusters\">Clusters</a><a href=\"#identical\">Identical</a><a href=\"#folders\">Folders</a>\
         <a href=\"#unread\">Not read</a><a href=\"#how\">How</a></nav>"
    )?;
    figures(report, sites, out)?;
    changes(report, out)?;
    coverage(sites, out)?;
    overlap(report, out)?;
    strength(report, out)
}

fn partial(scan: &ScanSection, sites: &[SiteSection], clusters: u64, out: &mut impl Write) -> crate::Result<()> {
    if let Some(reasons) = crate::partial::of(scan) {
        writeln!(out, "<div class=\"partial\" role=\"alert\">{}.<ul>", reasons.sentence)?;
        reasons.lines.iter().try_for_each(|line| writeln!(out, "<li>{}</li>", Safe(line)))?;
        writeln!(out, "</ul></div>")?;
    }
    let contradicted = contradicted(sites);
    if !contradicted.is_empty() {
        writeln!(out, "<div class=\"partial\" role=\"alert\">{CONTRADICTED}<ul>")?;
        contradicted.iter().try_for_each(|line| writeln!(out, "<li>{}</li>", Safe(line)))?;
        writeln!(out, "</ul></div>")?;
    }
    if let Some(notice) = scan.notice {
        writeln!(out, "<p class=\"note\">{}</p>", Safe(notice))?;
    }
    if let Some(frames) = frames(scan, clusters) {
        writeln!(out, "<p class=\"note\">{}</p>", Safe(&frames))?;
    }
    if let (Some(refines), Some(refined)) = (&scan.refines, &scan.refined) {
        let documents = count(refined.documents);
        writeln!(out, "<p class=\"note\">About {documents} documents of scan {}, and no others.</p>", Safe(refines))?;
    }
    Ok(())
}

fn figures(report: &Report, sites: &[SiteSection], out: &mut impl Write) -> crate::Result<()> {
    let (tiers, clusters) = (report.identical_totals()?, report.cluster_totals()?);
    let of =
        |wanted: &str| by_status(sites).into_iter().find(|(status, _)| *status == wanted).map_or(0, |(_, many)| many);
    let related = of("near") + of("contains") + of("contained") + of("shares");
    let unread: u64 = sites.iter().map(|site| site.unreadable).sum();
    let figures = [
        (bytes(tiers.iter().map(|tier| tier.wasted_bytes).sum()), "redundant bytes: copies beyond the first"),
        (count(tiers.iter().map(|tier| tier.sets).sum()), "sets of identical documents"),
        (count(of("identical")), "documents with a copy"),
        (count(related), "documents with a relative: a version, or a part in common"),
        (count(clusters.clusters), "clusters of related files"),
        (count(of("standard_text")), "documents that share nothing but standard text"),
        (count(of("unique")), "documents that are nowhere else"),
        (count(of("undecided")), "documents of which that is not decided"),
        (count(unread), "could not be read"),
    ];
    writeln!(out, "<div class=\"figures\">")?;
    for (figure, what) in figures {
        writeln!(out, "<div><b>{figure}</b>{what}</div>")?;
    }
    Ok(writeln!(out, "</div>")?)
}

/// The table of changes: the documents that are the same, changed, moved or only there, in both directions.
fn changes(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let rows = report.changes()?;
    let Some(first) = rows.first() else { return Ok(()) };
    writeln!(
        out,
        "<h2 id=\"changes\">Changes from {} to {}</h2>\n<div class=\"scroll\"><table><thead><tr><th>Documents of</th>",
        Safe(&place(&first.from_site, &first.from_repository)),
        Safe(&place(&first.to_site, &first.to_repository))
    )?;
    for (word, meaning) in legend::CHANGES {
        writeln!(out, "<th class=\"n\" title=\"{meaning}\">{word}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in &rows {
        writeln!(out, "<tr><td>{}</td>", Safe(&place(&row.from_site, &row.from_repository)))?;
        row.counts().iter().try_for_each(|many| writeln!(out, "<td class=\"n\">{}</td>", count(*many)))?;
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")?;
    lists::alignment(report, out)
}

fn coverage(sites: &[SiteSection], out: &mut impl Write) -> crate::Result<()> {
    writeln!(out, "<h2 id=\"coverage\">Coverage, and documents by status</h2>")?;
    writeln!(out, "<p>")?;
    for status in STATUSES {
        writeln!(
            out,
            "<span class=\"label\"><span class=\"key s-{status}\"></span>{}</span>",
            legend::in_words(status)
        )?;
    }
    writeln!(
        out,
        "</p>\n<div class=\"scroll\"><table><thead><tr><th>Repository</th><th class=\"n\">Documents</th><th class=\"n\">Bytes</th>"
    )?;
    for what in ["Unreadable", "Changed", "Left out"].into_iter().chain(STATUSES) {
        writeln!(out, "<th class=\"n\">{}</th>", legend::in_words(what))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for site in sites {
        let name = if site.party == "home" { repository(site) } else { format!("{}:{}", site.party, repository(site)) };
        writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
            Safe(&name),
            count(site.documents),
            bytes(site.bytes)
        )?;
        let of = |status: &&str| site.status.get(*status).copied().unwrap_or(0);
        let counts = [site.unreadable, site.changed, site.skipped].into_iter().chain(STATUSES.iter().map(of));
        counts.into_iter().try_for_each(|many| writeln!(out, "<td class=\"n\">{}</td>", count(many)))?;
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>\n<div class=\"bars\">")?;
    for site in sites {
        writeln!(out, "<span>{}</span><div class=\"bar\">", Safe(&repository(site)))?;
        for status in STATUSES {
            let documents = site.status.get(status).copied().unwrap_or(0);
            let share = percent(Ratio::of(documents, site.documents));
            if documents > 0 {
                writeln!(
                    out,
                    "<i class=\"s-{status}\" style=\"flex-grow:{documents}\" title=\"{status}: {share}\"></i>"
                )?;
            }
        }
        writeln!(out, "</div>")?;
    }
    writeln!(out, "</div>")?;
    let skipped = sites.iter().flat_map(|site| site.skipped_reasons.iter().map(move |reason| (site, reason)));
    let reasons: Vec<String> =
        skipped.map(|(site, (reason, many))| format!("{}: {} × {reason}", repository(site), count(*many))).collect();
    if !reasons.is_empty() {
        writeln!(out, "<p class=\"soft\">Left out: {}.</p>", Safe(&reasons.join("; ")))?;
    }
    for line in recognised::lines(sites) {
        writeln!(out, "<p class=\"soft\">{}.</p>", Safe(&line))?;
    }
    Ok(())
}

fn overlap(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    writeln!(out, "<h2 id=\"overlap\">Who has what in common with whom</h2>")?;
    let tables = Matrix::of(report)?;
    if tables.is_empty() {
        writeln!(out, "<p>There is one site.</p>")?;
    }
    for table in &tables {
        writeln!(out, "<h3>{}</h3>", Safe(table.title()))?;
        writeln!(
            out,
            "<p class=\"soft\">How much of the row's stands in the column's too: {}, and documents with a copy or a relative there.</p>",
            compared(&report.scan()?).unwrap_or("bytes"),
        )?;
        matrix(table, out)?;
    }
    Ok(())
}

fn matrix(table: &Matrix, out: &mut impl Write) -> crate::Result<()> {
    let names = &table.names[..table.names.len().min(MATRIX_MAX)];
    writeln!(out, "<div class=\"scroll\"><table><thead><tr><th></th>")?;
    names.iter().try_for_each(|name| writeln!(out, "<th>{}</th>", Safe(name)))?;
    writeln!(out, "</tr></thead><tbody>")?;
    for from in names {
        writeln!(out, "<tr><th scope=\"row\">{}</th>", Safe(from))?;
        for to in names {
            match table.of_at(from, to) {
                None => writeln!(out, "<td>–</td>")?,
                Some(common) => cell(&common, out)?,
            }
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")?;
    if names.len() < table.names.len() {
        let (shown, all) = (count(names.len() as u64), count(table.names.len() as u64));
        writeln!(
            out,
            "<p class=\"note\">The first {shown} of {all} are shown; the workbook (--format xlsx) has all.</p>"
        )?;
    }
    Ok(())
}

fn cell(common: &InCommon, out: &mut impl Write) -> crate::Result<()> {
    let share = common.share();
    writeln!(
        out,
        "<td class=\"share\" style=\"--s:{}\"><b>{}</b><br>{} of {}{}<br><span class=\"soft\">{} of {} documents</span></td>",
        share.to_f64() * 100.0,
        percent(share),
        bytes(common.bytes),
        bytes(common.bytes_total),
        common.estimated_share(),
        count(common.documents),
        count(common.documents_total),
    )?;
    Ok(())
}

fn strength(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    writeln!(out, "<h2 id=\"strength\">How strong the links are</h2>")?;
    let histograms: Vec<HistogramSection> =
        [report.histogram()?, report.text_histogram()?].into_iter().flatten().collect();
    if histograms.is_empty() {
        writeln!(out, "<p>There are none.</p>")?;
    }
    for histogram in &histograms {
        let view = histogram.view.as_ref().map(|view| format!(" ({view})")).unwrap_or_default();
        writeln!(
            out,
            "<p>{} links touch {} documents{}. Those that a cluster leaves out are counted here too.</p>",
            count(histogram.links),
            count(histogram.documents),
            Safe(&view)
        )?;
        bars("By resemblance: what two have in common, of all that they have", &histogram.resemblance, out)?;
        bars("By containment: how much of the one that is contained more", &histogram.containment, out)?;
    }
    Ok(())
}

fn bars(what: &str, rows: &[BucketRow], out: &mut impl Write) -> crate::Result<()> {
    let most = rows.iter().map(|row| row.links).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    writeln!(out, "<h3>{}</h3>\n<div class=\"hist\" role=\"img\" aria-label=\"{}\">", Safe(what), Safe(what))?;
    for row in rows {
        let height = Ratio::of(row.links, most).to_f64() * 100.0;
        let range = format!("{} to {}", percent(row.from), percent(row.to));
        let (links, documents) = (count(row.links), count(row.documents));
        writeln!(
            out,
            "<i style=\"height:{}%\" title=\"{range}: {links} links, {documents} documents\"></i>",
            if row.links > 0 { height.max(1.0) } else { 0.0 }
        )?;
    }
    writeln!(
        out,
        "</div>\n<div class=\"histx\"><span>0 %</span><span>25 %</span><span>50 %</span><span>75 %</span><span>100 %</span></div>"
    )?;
    writeln!(
        out,
        "<details><summary>In numbers</summary><table><thead><tr><th>From</th><th>To</th><th class=\"n\">Links</th><th class=\"n\">Documents</th></tr></thead><tbody>"
    )?;
    for row in rows.iter().filter(|row| row.links > 0) {
        let (links, documents) = (count(row.links), count(row.documents));
        let (from, to) = (percent(row.from), percent(row.to));
        writeln!(
            out,
            "<tr><td>{from}</td><td>{to}</td><td class=\"n\">{links}</td><td class=\"n\">{documents}</td></tr>"
        )?;
    }
    Ok(writeln!(out, "</tbody></table></details>")?)
}
