//! The report for people: the answer first, then folders, changed documents, copies, clusters, and what could not be
//! read. Long lists are cut, with a count and the option that shows the rest.

mod histogram;
mod method;
mod places;
mod sets;
mod views;

use std::io::Write;

use crate::Error;
use cognate_proto::path::printable;
use cognate_result::report::{
    ChangesRow, Elsewhere, FineRepository, FolderPlace, FolderSection, Report, ScanSection, SiteSection,
};

use self::places::{Change, Places};
use self::sets::{write_clusters, write_identical};
use self::views::{Words, shown};
use crate::answer::{estimates, moved_folders};
use crate::contradicted::{CONTRADICTED, contradicted};
use crate::expected::expected_error;
use crate::frames::frames;
use crate::human::{self, bytes, count, percent};
use crate::legend;
use crate::overlap::{Direction, compared, directions, least_share, selected};
use crate::partial;
use crate::recognised;
use crate::undecided::not_measured;

/// Writes the report, with at most `limit` rows a list; 0: all. Tables fit in `columns`.
pub(super) fn write(report: &Report, limit: usize, columns: Option<usize>, out: &mut impl Write) -> crate::Result<()> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let sites = report.sites()?;
    let words = Words { columns, ..Words::of(report)? };
    write_answer(report, &words, &sites, out)?;
    if let Some(site) = report.sliced() {
        writeln!(out, "\nThe rest is about {site} alone (--site).")?;
    }
    if let Some(words) = report.chosen() {
        writeln!(out, "\nThe rest is about some clusters alone: {words}.")?;
    }
    if sites.len() == 2 && !report.is_part() {
        let places = Places::of(report, [&sites[0], &sites[1]])?;
        write_places(report, &places, &words, limit, out)?;
        write_moved(report, &words, limit, out)?;
        write_changes(&places, &words, limit, out)?;
    } else {
        write_folder_pairs(report, &words, limit, out)?;
    }
    write_identical(report, &words, limit, out)?;
    write_clusters(report, &words, limit, out)?;
    if report.chosen().is_none() {
        for histogram in [report.histogram()?, report.text_histogram()?].into_iter().flatten() {
            histogram::write(&histogram, out)?;
        }
    }
    write_unread(report, &words, limit, out)?;
    write_words(&words, sites.len() == 2 && !report.is_part(), &sites, out)
}

/// Writes the definition of each word that the report uses.
fn write_words(words: &Words, has_changes: bool, sites: &[SiteSection], out: &mut impl Write) -> crate::Result<()> {
    let changes = if has_changes { legend::CHANGES.as_slice() } else { &[] };
    let occurs = |status: &str| sites.iter().any(|site| site.status.get(status).is_some_and(|count| *count > 0));
    let is_new = |word: &str| changes.iter().all(|(known, _)| *known != legend::in_words(word));
    let statuses = legend::STATUSES.iter().filter(|(word, _)| occurs(word) && is_new(word));
    let recognised = Some(&legend::RECOGNISED).filter(|_| sites.iter().any(|site| site.recognised.is_some()));
    let rows = changes.iter().chain(statuses).chain(&legend::OTHERS).chain(recognised);
    let rows = rows.map(|(word, meaning)| vec![legend::in_words(word), (*meaning).to_owned()]);
    Ok(writeln!(out, "\n{}", words.table(&["WORD", "MEANING"], rows))?)
}

/// Writes the answer in five lines: documents by status, the share in common each way, files not read, compressed files.
fn write_answer(report: &Report, words: &Words, sites: &[SiteSection], out: &mut impl Write) -> crate::Result<()> {
    let scan = report.scan()?;
    if let Some(reasons) = partial::of(&scan) {
        writeln!(out, "{}.", reasons.sentence)?;
        reasons.lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        writeln!(out)?;
    }
    write_contradicted(sites, out)?;
    write_refined(&scan, out)?;
    if let Some(selection) = &scan.selection {
        writeln!(out, "ONLY: {}.\n", selected(selection))?;
    }
    for sentence in estimates(&scan) {
        writeln!(out, "ESTIMATE: {sentence}\n")?;
    }
    write_fine(&scan, out)?;
    let documents = format!(" {}", words.titles[1]);
    let mut headings = vec!["SITE", &documents];
    headings.extend(words.sizes.iter().map(|size| size.heading));
    let statuses = words.statuses(sites);
    let status_headings: Vec<String> =
        statuses.iter().map(|status| format!(" {}", legend::in_words(status).to_uppercase())).collect();
    headings.extend(status_headings.iter().map(String::as_str));
    let rows = sites.iter().map(|site| {
        let mut row = vec![name(site), count(site.passages.unwrap_or(site.documents))];
        row.extend(words.sizes.iter().map(|size| bytes((size.of)(site))));
        row.extend(statuses.iter().map(|status| count(site.status.get(*status).copied().unwrap_or(0))));
        row
    });
    writeln!(out, "{}\n", words.table(&headings, rows))?;
    write_in_common(report, words, &scan, out)?;
    if sites.len() == 2
        && scan.estimates.is_empty()
        && let aligned = report.alignment_rows()?
        && let Some(sentence) = moved_folders(&aligned, aligned.len() as u64)
    {
        writeln!(out, "Moved         {sentence}")?;
    }
    write_expected_error(&scan, out)?;
    write_templates(report, &scan, out)?;
    let unreadable: u64 = sites.iter().map(|site| site.unreadable).sum();
    let changed: u64 = sites.iter().map(|site| site.changed).sum();
    let skipped: u64 = sites.iter().map(|site| site.skipped).sum();
    let mut not_read = match unreadable {
        0 => "none".to_owned(),
        _ => format!("{}, listed below", count(unreadable)),
    };
    if changed > 0 {
        not_read.push_str(&format!("; {} changed repeatedly while they were read", count(changed)));
    }
    if skipped > 0 {
        let mut reasons = std::collections::BTreeMap::<&str, u64>::new();
        for (reason, entries) in sites.iter().flat_map(|site| &site.skipped_reasons) {
            *reasons.entry(reason).or_default() += entries;
        }
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, entries)| format!("{} × {reason}", count(*entries))).collect();
        not_read.push_str(&format!("; left out: {}", reasons.join(", ")));
    }
    writeln!(out, "Not read      {not_read}")?;
    recognised::lines(sites).iter().try_for_each(|line| writeln!(out, "Scanned       {line}"))?;
    views::write_text(sites, out)?;
    method::write(&scan, out)?;
    if !words.has_bytes() {
        return Ok(());
    }
    let compressed: u64 = sites.iter().map(|site| site.compressed_bytes).sum();
    if compressed == 0 {
        return Ok(());
    }
    let all: u64 = sites.iter().map(|site| site.bytes).sum();
    writeln!(
        out,
        "Compressed    {} of {} ({}) are archives, office files, PDFs and media, {}",
        bytes(compressed),
        bytes(all),
        percent(compressed, all),
        match (words.has_text(), scan.view.as_str()) {
            (true, "auto") =>
                "where office files and PDFs are compared by their text, and others are found if identical",
            (true, _) => "compared by what can be read in them",
            (false, _) => "where only identical files are found",
        },
    )?;
    Ok(())
}

/// The share of each side that is also at the other. A party with one site has the figures of this site, which are told once.
fn write_in_common(report: &Report, words: &Words, scan: &ScanSection, out: &mut impl Write) -> crate::Result<()> {
    let mut lines = Vec::new();
    let all = report.overlap()?;
    let unit = if compared(scan).is_some() { " of what was compared" } else { words.sizes[0].what };
    for Direction { of, at, common } in all.iter().flat_map(directions) {
        // Two sites without a text have nothing to share of it.
        if common.documents_total == 0 {
            continue;
        }
        let line = format!(
            "In common     {} of {of} ({} of {}{unit}) is also at {at}{}; {} of its {} {} {} a copy or a relative there",
            least_share("at least", common.bytes, common.bytes_total),
            bytes(common.bytes),
            bytes(common.bytes_total),
            common.estimated_share(),
            count(common.documents),
            count(common.documents_total),
            words.documents,
            if common.documents == 1 { "has" } else { "have" },
        );
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if !lines.is_empty() {
        lines.extend(compared(scan).map(|unit| format!("              {unit}")));
    }
    lines.extend(not_measured(scan).map(|sentence| format!("Not decided   {sentence}")));
    Ok(lines.iter().try_for_each(|line| writeln!(out, "{line}"))?)
}

/// Says how far the shares are from the truth.
fn write_expected_error(scan: &ScanSection, out: &mut impl Write) -> crate::Result<()> {
    let labels = std::iter::once("Shares").chain(std::iter::repeat(""));
    for (label, sentence) in labels.zip(expected_error(scan)) {
        writeln!(out, "{label:<13} {sentence}")?;
    }
    Ok(())
}

/// Names the sites whose chunks of a content are not those of others.
fn write_contradicted(sites: &[SiteSection], out: &mut impl Write) -> crate::Result<()> {
    let contradicted = contradicted(sites);
    if contradicted.is_empty() {
        return Ok(());
    }
    writeln!(out, "{CONTRADICTED}")?;
    contradicted.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    Ok(writeln!(out)?)
}

/// Says which pairs were not measured by fine chunks, if any, beyond those that make the result partial.
fn write_fine(scan: &ScanSection, out: &mut impl Write) -> crate::Result<()> {
    let Some(fine) = &scan.fine else { return Ok(()) };
    let others: Vec<&FineRepository> = fine.incomplete.iter().filter(|one| !one.is_not_given()).collect();
    if others.is_empty() {
        return Ok(());
    }
    let pairs = count(fine.coarse_pairs);
    writeln!(
        out,
        "COARSE: {pairs} pairs were measured by whole chunks, because fine chunks are missing. They may share more."
    )?;
    others.iter().try_for_each(|one| writeln!(out, "  {}", partial::line(one)))?;
    Ok(writeln!(out)?)
}

/// The scope of a refinement: the rest of the report is about nothing else.
fn write_refined(scan: &ScanSection, out: &mut impl Write) -> crate::Result<()> {
    let (Some(refines), Some(refined)) = (&scan.refines, &scan.refined) else { return Ok(()) };
    let size = refined.size_min_bytes.map(|size| format!(", unmatched ones of {} and more", bytes(size)));
    writeln!(
        out,
        "REFINED: {} documents of scan {refines} ({}{}), and no others.",
        count(refined.documents),
        refined.what,
        size.unwrap_or_default(),
    )?;
    if refined.changed > 0 {
        writeln!(out, "  {} of them are gone or not what they were, and left out", count(refined.changed))?;
    }
    writeln!(out)?;
    Ok(())
}

/// The templates that were ignored, if any, and chunks that too many documents have.
fn write_templates(report: &Report, scan: &ScanSection, out: &mut impl Write) -> crate::Result<()> {
    let (mut tags, mut occurrences, mut crowds) = (0, 0, 0);
    report.set_aside::<Error>(|row| {
        if row.crowded {
            crowds += 1;
            return Ok(());
        }
        tags += 1;
        occurrences += row.documents * row.length_bytes;
        Ok(())
    })?;
    if tags > 0 {
        writeln!(
            out,
            "Templates     {} tags are set aside, at least {} of all documents",
            count(tags),
            bytes(occurrences)
        )?;
    }
    let rows = scan.fine.as_ref().map_or(0, |fine| fine.template_rows);
    if rows > 0 {
        writeln!(out, "Templates     {} rows of fine chunks are set aside", count(rows))?;
    }
    if let Some(frames) = frames(scan, report.cluster_totals()?.clusters) {
        writeln!(out, "Frames        {frames}")?;
    }
    if crowds > 0 {
        let crowds = count(crowds);
        writeln!(
            out,
            "Too common    {crowds} chunks are set aside: they would have made more pairs than a scan may compare"
        )?;
    }
    Ok(())
}

/// The statuses of the folders of two sites: same, changed, moved, standard text at either, not decided at either, only at the first, only at
/// the second.
fn write_places(
    report: &Report,
    places: &Places,
    words: &Words,
    limit: usize,
    out: &mut impl Write,
) -> crate::Result<()> {
    let rows = places.rows(limit.max(15));
    if rows.is_empty() {
        return Ok(());
    }
    let [a, b] = places.names();
    let (only_a, only_b) = (format!(" ONLY IN {}", a.to_uppercase()), format!(" ONLY IN {}", b.to_uppercase()));
    let [folder, folders] = words.folders;
    writeln!(out, "\n{folders}: changes from {a} to {b}, in {}\n", words.documents)?;
    write_alignment(report, [a, b], limit, out)?;
    let changes = report.changes()?;
    // Seldom does any document share standard text alone, or is not decided.
    let has = |documents: fn(&ChangesRow) -> u64| changes.iter().any(|row| documents(row) > 0);
    let [has_standard_text, is_open] = [has(|row| row.standard_text), has(|row| row.not_decided)];
    let mut headings = vec![folder, " SAME", " CHANGED", " MOVED"];
    headings.extend(has_standard_text.then_some(" STANDARD TEXT"));
    headings.extend(is_open.then_some(" NOT DECIDED"));
    headings.extend([&*only_a, &*only_b]);
    let cells = |folder: String, counts: [u64; 7]| -> Vec<String> {
        let is_shown = |place: usize| (place != 3 || has_standard_text) && (place != 4 || is_open);
        let counts = (0..).zip(counts).filter(|(place, _)| is_shown(*place));
        std::iter::once(folder).chain(counts.map(|(_, documents)| count(documents))).collect()
    };
    let mut rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| {
            let places::Sums { same, changed, moved, standard_text, open, only: [a, b] } = row.sums;
            cells(shorten(words.folder(&row.folder)), [same, changed, moved, standard_text, open, a, b])
        })
        .collect();
    if let [from_a, from_b] = changes.as_slice() {
        let both = |documents: fn(&ChangesRow) -> u64| documents(from_a) + documents(from_b);
        let (standard_text, open) = (both(|row| row.standard_text), both(|row| row.not_decided));
        let all = [from_a.same, from_a.changed, from_a.moved, standard_text, open, from_a.only, from_b.only];
        rows.push(cells("all".to_owned(), all));
    }
    Ok(writeln!(out, "{}", words.table(&headings, rows))?)
}

/// The folders at different paths that are compared with each other, if any: a sentence each.
fn write_alignment(report: &Report, [a, b]: [&str; 2], limit: usize, out: &mut impl Write) -> crate::Result<()> {
    let rows = report.alignment_rows()?;
    let folder = |path: &str| match path.is_empty() {
        true => "the root".to_owned(),
        false => shorten(&shown(&printable(path.as_bytes()))),
    };
    for row in rows.iter().take(limit) {
        let (of_a, of_b, documents) = (folder(&row.a.path), folder(&row.b.path), count(row.documents));
        let given = if row.given { ", as --align says" } else { "" };
        writeln!(out, "  {of_a} of {a} is compared with {of_b} of {b} ({documents} documents{given})")?;
    }
    write_rest((rows.len() - rows.len().min(limit)) as u64, "folders are compared so", out)?;
    if !rows.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// Folders whose documents are elsewhere at the other site.
fn write_moved(report: &Report, words: &Words, limit: usize, out: &mut impl Write) -> crate::Result<()> {
    let alignment = report.alignment()?;
    let other = if alignment.is_empty() { "" } else { "OTHER " };
    let title = format!("{other}MOVED OR COPIED {}", words.folders[1]);
    let is_moved = |pair: &FolderSection| {
        pair.a.path != pair.b.path && alignment.opposite(0, pair.a.path.as_bytes()) != pair.b.path.as_bytes()
    };
    write_pairs(report, words, &title, is_moved, limit, out)
}

/// The same for one site, or more than two.
fn write_folder_pairs(report: &Report, words: &Words, limit: usize, out: &mut impl Write) -> crate::Result<()> {
    write_pairs(report, words, &format!("{} IN COMMON", words.folders[1]), |_| true, limit, out)
}

fn write_pairs(
    report: &Report,
    words: &Words,
    title: &str,
    is_listed: impl Fn(&FolderSection) -> bool,
    limit: usize,
    out: &mut impl Write,
) -> crate::Result<()> {
    let (mut list, mut slight) = (Cut::new(limit), 0);
    report.folders::<Error>(|pair| {
        if !is_listed(&pair) {
            return Ok(());
        }
        if limit != usize::MAX && has_little(&pair) {
            slight += 1;
        } else {
            list.push(|| folder_row(&pair, words));
        }
        Ok(())
    })?;
    let documents = format!(" {}", words.titles[1]);
    if list.all == 0 && slight > 0 {
        writeln!(out, "\n{title}: 0")?;
    }
    list.write(words, title, &[words.folders[0], "ALSO AT", &documents, " BYTES", "AS"], out)?;
    write_rest(slight, "with less than a tenth in common", out)
}

/// True for two folders of which neither has a tenth of its documents or bytes at the other: a document moved, not a folder.
fn has_little(pair: &FolderSection) -> bool {
    let little = |part: u64, all: u64| part * 10 < all;
    pair.relation == "overlaps"
        && little(pair.documents_a, pair.documents_total_a)
        && little(pair.documents_b, pair.documents_total_b)
        && little(pair.shared_bytes_a, pair.bytes_a)
        && little(pair.shared_bytes_b, pair.bytes_b)
}

/// A pair is listed from the site that has documents in it.
fn folder_row(pair: &FolderSection, words: &Words) -> Vec<String> {
    let place = |place: &FolderPlace| {
        let path = if place.path.is_empty() { "/" } else { &place.path };
        format!("{}: {}", place.site, shorten(words.folder(&printable(path.as_bytes()))))
    };
    let from_a = pair.documents_a > 0;
    let (from, to) = if from_a { (&pair.a, &pair.b) } else { (&pair.b, &pair.a) };
    let (documents, total) = match from_a {
        true => (pair.documents_a, pair.documents_total_a),
        false => (pair.documents_b, pair.documents_total_b),
    };
    let (shared_bytes, all_bytes) =
        if from_a { (pair.shared_bytes_a, pair.bytes_a) } else { (pair.shared_bytes_b, pair.bytes_b) };
    let share = match (pair.relation.as_str(), from_a) {
        ("identical", _) => "identical".to_owned(),
        ("contained", true) | ("contains", false) => "all of it, with others".to_owned(),
        ("contains", true) | ("contained", false) => "all of the other".to_owned(),
        _ => {
            let what = if words.has_bytes() { "bytes" } else { "text" };
            format!("{} of its {what}", percent(shared_bytes, all_bytes))
        }
    };
    let documents = format!("{} of {}", count(documents), count(total));
    vec![place(from), place(to), documents, bytes(shared_bytes), share]
}

/// Documents that changed, those with most changed bytes first; then documents that only one site has, or that share standard text.
fn write_changes(places: &Places, words: &Words, limit: usize, out: &mut impl Write) -> crate::Result<()> {
    let [a, b] = places.names();
    let row = |change: &Change| {
        let path = match &change.moved_to {
            None => shorten(&shown(&change.path)) + change.mark,
            Some(to) => format!("{}{} → {}", shorten(&shown(&change.path)), change.mark, shorten(&shown(to))),
        };
        let in_common = change.share.map(|share| match change.outside_share {
            None => human::share(share.0),
            Some(outside) => format!("{} ({} without standard text)", human::share(share.0), human::share(outside.0)),
        });
        vec![path, bytes(change.size_bytes), in_common.unwrap_or_else(|| "little".to_owned())]
    };
    let mut list = Cut::new(limit);
    places.changed().iter().for_each(|change| list.push(|| row(change)));
    let [document, documents] = words.titles;
    list.write(words, &format!("CHANGED {documents}"), &[document, " SIZE", " IN COMMON"], out)?;
    let mut list = Cut::new(limit);
    places.moved().iter().for_each(|change| list.push(|| row(change)));
    list.write(words, &format!("MOVED AND CHANGED {documents}"), &[document, " SIZE", " IN COMMON"], out)?;
    for (side, site) in [a, b].into_iter().enumerate() {
        let mut list = Cut::new(limit);
        for alone in places.alone(side, Elsewhere::No) {
            list.push(|| vec![shorten(&shown(&alone.path)) + alone.mark, bytes(alone.size_bytes)]);
        }
        list.write(words, &format!("ONLY IN {}", site.to_uppercase()), &[document, " SIZE"], out)?;
        let mut list = Cut::new(limit);
        for open in places.alone(side, Elsewhere::NotDecided) {
            let why = open.undecided.clone().unwrap_or_default();
            list.push(|| vec![shorten(&shown(&open.path)) + open.mark, bytes(open.size_bytes), why]);
        }
        let title = format!("NOT DECIDED, ONLY IN {} OR NOT", site.to_uppercase());
        list.write(words, &title, &[document, " SIZE", "WHY"], out)?;
        let unread = places.unread(1 - side);
        let mut claimed = places.alone(side, Elsewhere::No).chain(places.alone(side, Elsewhere::NotDecided));
        if unread > 0 && claimed.next().is_some() {
            writeln!(out, "  {} could not be read at {}", documents_count(unread), [a, b][1 - side])?;
        }
    }
    let mut list = Cut::new(limit);
    for (site, side) in [a, b].into_iter().zip(0..) {
        for change in places.alone(side, Elsewhere::StandardText) {
            list.push(|| vec![site.to_owned(), shorten(&shown(&change.path)) + change.mark, bytes(change.size_bytes)]);
        }
    }
    let title = format!("{documents} THAT SHARE STANDARD TEXT, and nothing else");
    list.write(words, &title, &["SITE", document, " SIZE"], out)?;
    Ok(())
}

fn documents_count(documents: u64) -> String {
    format!("{} {}", count(documents), if documents == 1 { "document" } else { "documents" })
}

fn write_unread(report: &Report, words: &Words, limit: usize, out: &mut impl Write) -> crate::Result<()> {
    let mut list = Cut::new(limit);
    report.unread::<Error>(|row| {
        list.push(|| vec![place(&row.site, &row.repository, &row.path), row.reason.clone()]);
        Ok(())
    })?;
    list.write(words, "COULD NOT BE READ", &["WHAT", "WHY"], out)
}

fn write_rest(rest: u64, what: &str, out: &mut impl Write) -> crate::Result<()> {
    if rest > 0 {
        writeln!(out, "  … {} more {what}; --limit 0 shows all", count(rest))?;
    }
    Ok(())
}

/// A list that is cut after so many rows, and counts on.
struct Cut {
    limit: usize,
    rows: Vec<Vec<String>>,
    all: u64,
}

impl Cut {
    fn new(limit: usize) -> Cut {
        Cut { limit, rows: Vec::new(), all: 0 }
    }

    fn push(&mut self, row: impl FnOnce() -> Vec<String>) {
        self.all += 1;
        if self.rows.len() < self.limit {
            self.rows.push(row());
        }
    }

    fn write(self, words: &Words, title: &str, headings: &[&str], out: &mut impl Write) -> crate::Result<()> {
        if self.all == 0 {
            return Ok(());
        }
        let rest = self.all - self.rows.len() as u64;
        writeln!(out, "\n{title}: {}\n", count(self.all))?;
        writeln!(out, "{}", words.table(headings, self.rows))?;
        write_rest(rest, "rows", out)
    }
}

/// The name of a repository, with its site unless it is the only one at that site.
fn name(site: &SiteSection) -> String {
    let name = if site.repository == "main" { site.site.clone() } else { format!("{}/{}", site.site, site.repository) };
    if site.party == "home" { name } else { format!("{}:{name}", site.party) }
}

fn place(site: &str, repository: &str, path: &str) -> String {
    let path = shorten(&shown(&printable(path.as_bytes())));
    if repository == "main" { format!("{site}: {path}") } else { format!("{site}/{repository}: {path}") }
}

/// A path that does not fill the screen: the middle is cut, because the ends matter most.
fn shorten(path: &str) -> String {
    const SHOWN_MAX: usize = 90;
    let characters: Vec<char> = path.chars().collect();
    if characters.len() <= SHOWN_MAX {
        return path.to_owned();
    }
    let (head, tail) = (SHOWN_MAX / 3, SHOWN_MAX - SHOWN_MAX / 3 - 1);
    let start: String = characters[..head].iter().collect();
    let end: String = characters[characters.len() - tail..].iter().collect();
    format!("{start}…{end}")
}
