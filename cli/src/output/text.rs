//! The report for people: the answer first, then folders, changed documents, copies, clusters, and what could not be
//! read. Long lists are cut, with a count and the option that shows the rest.

mod histogram;
mod places;

use std::io::Write;

use anyhow::Error;
use cognate_coordinator::report::{
    ClusterSection, FolderPlace, FolderSection, IdenticalSet, Report, ScanSection, SiteSection,
};
use cognate_proto::path::printable;

use self::places::{Change, Places};
use super::table::{bytes, count, percent, table};

/// The statuses in the order of their columns.
const STATUSES: [&str; 7] = ["identical", "near", "contains", "contained", "shares", "unique", "excluded"];
/// How many documents of one set or cluster are named before the rest is counted.
const NAMED_MAX: usize = 6;

/// Writes the report, with at most `limit` rows a list; 0: all.
pub(super) fn write(report: &Report, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let sites = report.sites()?;
    write_answer(report, &sites, out)?;
    if sites.len() == 2 {
        let places = Places::of(report, [&sites[0], &sites[1]])?;
        write_places(&places, limit, out)?;
        write_moved(report, limit, out)?;
        write_changes(&places, limit, out)?;
    } else {
        write_folder_pairs(report, limit, out)?;
    }
    write_identical(report, limit, out)?;
    write_clusters(report, limit, out)?;
    if let Some(histogram) = report.histogram()? {
        histogram::write(&histogram, out)?;
    }
    write_unread(report, limit, out)
}

/// The answer in five lines: documents by status, what is in common each way, what was not read, what is compressed.
fn write_answer(report: &Report, sites: &[SiteSection], out: &mut impl Write) -> anyhow::Result<()> {
    let scan = report.scan()?;
    if scan.status != "complete" {
        writeln!(out, "PARTIAL: some repositories are missing from this result.")?;
        for missing in &scan.missing {
            writeln!(out, "  {}/{}: {}", missing.site, missing.repository, missing.reason)?;
        }
        writeln!(out)?;
    }
    write_refined(&scan, out)?;
    let headings = [
        "SITE",
        " DOCUMENTS",
        " BYTES",
        " IDENTICAL",
        " NEAR",
        " CONTAINS",
        " CONTAINED",
        " SHARES",
        " UNIQUE",
        " EXCLUDED",
    ];
    let rows = sites.iter().map(|site| {
        let mut row = vec![name(site), count(site.documents), bytes(site.bytes)];
        row.extend(STATUSES.iter().map(|status| count(site.status.get(*status).copied().unwrap_or(0))));
        row
    });
    writeln!(out, "{}\n", table(&headings, rows))?;
    let total = |level: &str, name: &str| -> (u64, u64) {
        let mine = sites.iter().filter(|site| if level == "site" { site.site == name } else { site.party == name });
        mine.fold((0, 0), |(documents, bytes), site| (documents + site.documents, bytes + site.bytes))
    };
    for row in report.overlap()? {
        for (from, to, documents, shared) in [
            (&row.a, &row.b, row.documents_a, row.shared_bytes_a),
            (&row.b, &row.a, row.documents_b, row.shared_bytes_b),
        ] {
            let (all_documents, all_bytes) = total(&row.level, from);
            writeln!(
                out,
                "In common     {} of {from}'s {} ({}) stand at {to} too; {} of its {} documents have a copy or a relative there",
                bytes(shared),
                bytes(all_bytes),
                percent(shared, all_bytes),
                count(documents),
                count(all_documents),
            )?;
        }
    }
    write_templates(report, out)?;
    let unreadable: u64 = sites.iter().map(|site| site.unreadable).sum();
    let changed: u64 = sites.iter().map(|site| site.changed).sum();
    let skipped: u64 = sites.iter().map(|site| site.skipped).sum();
    let mut not_read = match unreadable {
        0 => "nothing that could be found".to_owned(),
        _ => format!("{} that are listed below", count(unreadable)),
    };
    if changed > 0 {
        not_read.push_str(&format!("; {} kept changing while they were read", count(changed)));
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
    let compressed: u64 = sites.iter().map(|site| site.compressed_bytes).sum();
    let all: u64 = sites.iter().map(|site| site.bytes).sum();
    writeln!(
        out,
        "Compressed    {} of {} ({}) are archives, office files, PDFs and media, where only identical files are found",
        bytes(compressed),
        bytes(all),
        percent(compressed, all),
    )?;
    Ok(())
}

/// What a refinement is about: the rest of the report speaks of nothing else.
fn write_refined(scan: &ScanSection, out: &mut impl Write) -> anyhow::Result<()> {
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

/// What was set aside, where something was.
fn write_templates(report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    let (mut tags, mut occurrences) = (0, 0);
    report.set_aside::<Error>(|row| {
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
    Ok(())
}

/// What became of the folders of two sites: same, changed, moved, only here, only there.
fn write_places(places: &Places, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let rows = places.rows(limit.max(15));
    if rows.is_empty() {
        return Ok(());
    }
    let [a, b] = places.names();
    let (only_a, only_b) = (format!(" ONLY IN {}", a.to_uppercase()), format!(" ONLY IN {}", b.to_uppercase()));
    writeln!(out, "\nFOLDERS, and what became of their documents from {a} to {b}\n")?;
    let headings = ["FOLDER", " SAME", " CHANGED", " MOVED", &only_a, &only_b];
    let rows = rows.into_iter().map(|row| {
        vec![
            shorten(&row.folder),
            count(row.sums.same),
            count(row.sums.changed),
            count(row.sums.moved),
            count(row.sums.only[0]),
            count(row.sums.only[1]),
        ]
    });
    writeln!(out, "{}", table(&headings, rows))?;
    writeln!(
        out,
        "  (same: equal bytes under the same path · changed: other bytes under the same path · moved: a copy or a relative elsewhere)"
    )?;
    Ok(())
}

/// Folders whose documents stand elsewhere on the other side.
fn write_moved(report: &Report, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let mut list = Cut::new(limit);
    report.folders::<Error>(|pair| {
        if pair.a.path != pair.b.path {
            list.push(|| folder_row(&pair));
        }
        Ok(())
    })?;
    list.write("MOVED OR COPIED FOLDERS", &["FOLDER", "STANDS AT", " DOCUMENTS", " BYTES", "AS"], out)
}

/// The same where there are not just two sides.
fn write_folder_pairs(report: &Report, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let mut list = Cut::new(limit);
    report.folders::<Error>(|pair| {
        list.push(|| folder_row(&pair));
        Ok(())
    })?;
    list.write("FOLDERS IN COMMON", &["FOLDER", "STANDS AT", " DOCUMENTS", " BYTES", "AS"], out)
}

/// A pair is told from the side that has documents in it.
fn folder_row(pair: &FolderSection) -> Vec<String> {
    let place = |place: &FolderPlace| {
        let path = if place.path.is_empty() { "/" } else { &place.path };
        format!("{}: {}", place.site, shorten(&printable(path.as_bytes())))
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
        ("contained", true) | ("contains", false) => "all of it, among others".to_owned(),
        ("contains", true) | ("contained", false) => "all there is there".to_owned(),
        _ => format!("{} of its bytes", percent(shared_bytes, all_bytes)),
    };
    let documents = format!("{} of {}", count(documents), count(total));
    vec![place(from), place(to), documents, bytes(shared_bytes), share]
}

/// Documents that changed, those with most changed bytes first; then what only one side has.
fn write_changes(places: &Places, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let [a, b] = places.names();
    let row = |change: &Change| {
        let path = match &change.moved_to {
            None => shorten(&change.path),
            Some(to) => format!("{} → {}", shorten(&change.path), shorten(to)),
        };
        let in_common = change.shared_bytes.map(|shared_bytes| percent(shared_bytes, change.size_bytes));
        vec![path, bytes(change.size_bytes), in_common.unwrap_or_else(|| "little".to_owned())]
    };
    let mut list = Cut::new(limit);
    places.changed().iter().for_each(|change| list.push(|| row(change)));
    list.write("CHANGED DOCUMENTS", &["DOCUMENT", " SIZE", " IN COMMON"], out)?;
    let mut list = Cut::new(limit);
    places.moved().iter().for_each(|change| list.push(|| row(change)));
    list.write("MOVED AND CHANGED DOCUMENTS", &["DOCUMENT", " SIZE", " IN COMMON"], out)?;
    for (side, site) in [a, b].into_iter().enumerate() {
        let mut list = Cut::new(limit);
        for alone in places.only(side) {
            list.push(|| vec![shorten(&alone.path), bytes(alone.size_bytes)]);
        }
        list.write(&format!("ONLY IN {}", site.to_uppercase()), &["DOCUMENT", " SIZE"], out)?;
    }
    Ok(())
}

/// Copies: where versions are compared, a copy under the same path is told in the folders and not again here.
fn write_identical(report: &Report, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let totals = report.identical_totals()?;
    if totals.sets == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "\nIDENTICAL DOCUMENTS: {} sets, {} in copies beyond the first{}\n",
        count(totals.sets),
        bytes(totals.wasted_bytes),
        match totals.in_place {
            0 => String::new(),
            in_place => format!("; {} of them are one document under the same path at each site", count(in_place)),
        },
    )?;
    let mut shown = 0;
    let written = report.identical_elsewhere::<Stop>(|set| {
        if shown == limit {
            return Err(Stop::Enough);
        }
        shown += 1;
        Ok(write_set(&set, out)?)
    });
    written.or_else(Stop::enough)?;
    write_rest(totals.sets - totals.in_place - shown as u64, "sets", out)
}

fn write_set(set: &IdenticalSet, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "  {} × {}", count(set.documents.len() as u64), bytes(set.size_bytes))?;
    let names = set.documents.iter().map(|document| place(&document.site, &document.repository, &document.path));
    write_names(names, set.documents.len(), out)
}

fn write_clusters(report: &Report, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let clusters = report.cluster_count()?;
    if clusters == 0 {
        return Ok(());
    }
    writeln!(out, "\nCLUSTERS of documents that share much: {}\n", count(clusters))?;
    let mut shown = 0;
    let written = report.clusters::<Stop>(|cluster| {
        if shown == limit {
            return Err(Stop::Enough);
        }
        shown += 1;
        Ok(write_cluster(&cluster, out)?)
    });
    written.or_else(Stop::enough)?;
    write_rest(clusters - shown as u64, "clusters", out)
}

/// Why a list was not read to its end.
enum Stop {
    Enough,
    Failed(Error),
}

impl Stop {
    /// Enough is no failure.
    fn enough(self) -> anyhow::Result<()> {
        match self {
            Stop::Enough => Ok(()),
            Stop::Failed(error) => Err(error),
        }
    }
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Failed(error.into())
    }
}

fn write_cluster(cluster: &ClusterSection, out: &mut impl Write) -> anyhow::Result<()> {
    let links = match cluster.link_count {
        1 => "1 link".to_owned(),
        links => format!("{} links", count(links)),
    };
    writeln!(
        out,
        "  {} {} · {} documents, {} · {links}, {:.0} % alike on average, {:.0} % at least",
        cluster.relation,
        cluster.id.get(..8).unwrap_or(&cluster.id),
        count(cluster.documents.len() as u64),
        bytes(cluster.total_bytes),
        cluster.mean_resemblance.to_f64() * 100.0,
        cluster.min_resemblance.to_f64() * 100.0,
    )?;
    let names = cluster.documents.iter().map(|document| {
        let copies = match document.copies {
            1 => String::new(),
            copies => format!(" (× {})", count(copies)),
        };
        format!(
            "{}{copies}  {}",
            place(&document.site, &document.repository, &document.path),
            bytes(document.size_bytes)
        )
    });
    write_names(names, cluster.documents.len(), out)
}

fn write_names(names: impl Iterator<Item = String>, all: usize, out: &mut impl Write) -> anyhow::Result<()> {
    for name in names.take(NAMED_MAX) {
        writeln!(out, "      {name}")?;
    }
    if all > NAMED_MAX {
        writeln!(out, "      … and {} more", count((all - NAMED_MAX) as u64))?;
    }
    Ok(())
}

fn write_unread(report: &Report, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    let mut list = Cut::new(limit);
    report.unread::<Error>(|row| {
        list.push(|| vec![place(&row.site, &row.repository, &row.path), row.reason.clone()]);
        Ok(())
    })?;
    list.write("COULD NOT BE READ", &["WHAT", "WHY"], out)
}

fn write_rest(rest: u64, what: &str, out: &mut impl Write) -> anyhow::Result<()> {
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

    fn write(self, title: &str, headings: &[&str], out: &mut impl Write) -> anyhow::Result<()> {
        if self.all == 0 {
            return Ok(());
        }
        let rest = self.all - self.rows.len() as u64;
        writeln!(out, "\n{title}: {}\n", count(self.all))?;
        writeln!(out, "{}", table(headings, self.rows))?;
        write_rest(rest, "rows", out)
    }
}

/// A repository as it is called where there is only one at its site, or with its site.
fn name(site: &SiteSection) -> String {
    let name = if site.repository == "main" { site.site.clone() } else { format!("{}/{}", site.site, site.repository) };
    if site.party == "home" { name } else { format!("{}:{name}", site.party) }
}

fn place(site: &str, repository: &str, path: &str) -> String {
    let path = shorten(&printable(path.as_bytes()));
    if repository == "main" { format!("{site}: {path}") } else { format!("{site}/{repository}: {path}") }
}

/// A path that does not fill the screen: the middle gives way, since the ends tell most.
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
