//! Identical sets and clusters: documents that are the same, and documents that share much.

use std::io::Write;

use crate::Error;
use crate::clusters::review;
use crate::estimated;
use crate::recognised::mark;
use cognate_result::report::{ClusterSection, IdenticalSet, IdenticalTotals, Report};

use super::views::Words;
use super::{place, write_rest};
use crate::human::{bytes, count, share};

/// Documents of one set or cluster that are named; the rest is counted.
const NAMED_MAX: usize = 6;

/// Copies, tier by tier: where versions are compared, a copy at the same place is listed in the folders only.
pub(super) fn write_identical(report: &Report, words: &Words, limit: usize, out: &mut impl Write) -> crate::Result<()> {
    report.identical_totals()?.iter().try_for_each(|totals| write_tier(report, totals, words, limit, out))
}

fn write_tier(
    report: &Report,
    totals: &IdenticalTotals,
    words: &Words,
    limit: usize,
    out: &mut impl Write,
) -> crate::Result<()> {
    let beyond = match totals.tier {
        "same bytes" => {
            let links = match totals.hard_link_bytes {
                0 => String::new(),
                links => format!(" (besides {} in hard links, which take no room)", bytes(links)),
            };
            format!(", {} in copies beyond the first{links}", bytes(totals.wasted_bytes))
        }
        "same text" => format!(", {} of text in copies beyond the first", bytes(totals.wasted_bytes)),
        _ => String::new(),
    };
    let in_place = match totals.in_place {
        0 => String::new(),
        in_place => format!("; {} of them are one document at the same place of each site", count(in_place)),
    };
    let sets = if totals.sets == 1 { "set" } else { "sets" };
    writeln!(out, "\n{}: {} {sets}{beyond}{in_place}\n", words.tier(totals.tier), count(totals.sets))?;
    let mut shown = 0;
    let written = report.identical_elsewhere::<Stop>(totals.tier, |set| {
        if shown == limit {
            return Err(Stop::Enough);
        }
        shown += 1;
        Ok(write_set(&set, out)?)
    });
    written.or_else(Stop::enough)?;
    write_rest(totals.sets - totals.in_place - shown as u64, "sets", out)
}

fn write_set(set: &IdenticalSet, out: &mut impl Write) -> crate::Result<()> {
    let copies = count(set.documents.len() as u64);
    match (set.tier, set.size_bytes) {
        ("same text", Some(size)) => writeln!(out, "  {copies} × {} of text", bytes(size))?,
        (_, Some(size)) => writeln!(out, "  {copies} × {}", bytes(size))?,
        ("same lines", None) => writeln!(out, "  {copies} documents")?,
        (_, None) => writeln!(out, "  {copies} × message {}", set.id)?,
    }
    let names = set.documents.iter().map(|document| {
        let name = place(&document.site, &document.repository, &document.path) + mark(document.recognised);
        document.size_bytes.map_or(name.clone(), |size| format!("{name}  {}", bytes(size)))
    });
    write_names(names, set.documents.len(), out)
}

/// Clusters, view by view.
pub(super) fn write_clusters(report: &Report, words: &Words, limit: usize, out: &mut impl Write) -> crate::Result<()> {
    for (view, title) in words.clusters.iter().enumerate() {
        let clusters = report.cluster_count(view)?;
        if clusters == 0 {
            continue;
        }
        let in_place = report.clusters_in_place(view)?;
        let listed_above = match in_place {
            0 => String::new(),
            _ => format!("; {} of them are one document that changed in its place", count(in_place)),
        };
        writeln!(out, "\n{title}: {}{listed_above}\n", count(clusters))?;
        let mut shown = 0;
        let written = report.clusters_elsewhere::<Stop>(view, |cluster| {
            if shown == limit {
                return Err(Stop::Enough);
            }
            shown += 1;
            Ok(write_cluster(&cluster, words, out)?)
        });
        written.or_else(Stop::enough)?;
        write_rest(clusters - in_place - shown as u64, "clusters", out)?;
    }
    Ok(())
}

/// The reason for which a list is not read to its end.
enum Stop {
    Enough,
    Failed(Error),
}

impl Stop {
    /// A full list is no failure.
    fn enough(self) -> crate::Result<()> {
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

fn write_cluster(cluster: &ClusterSection, words: &Words, out: &mut impl Write) -> crate::Result<()> {
    let (mean, least) = (share(cluster.mean_resemblance.0), share(cluster.min_resemblance.0));
    let is_estimated = cluster.links.iter().any(|link| link.estimated.is_some());
    let alike = match (cluster.link_count, cluster.links.as_slice()) {
        (1, [link]) if is_estimated => {
            format!("{mean} alike, {}", estimated::one(link.interval, link.within_tenth))
        }
        (1, _) => format!("{mean} alike"),
        (number, links) => {
            let precision = match is_estimated {
                true => format!(", {}", estimated::many(links.iter().map(|link| link.within_tenth))),
                false => String::new(),
            };
            format!("{} links, {mean} alike on average, {least} at least{precision}", count(number))
        }
    };
    let frame = if cluster.rests_on_frame.is_some() { " · rests on a frame" } else { "" };
    let review = match review(cluster) {
        words if words.is_empty() => words,
        words => format!(" · {words}"),
    };
    writeln!(
        out,
        "  {} {} · {} in common · {} {}, {} · {alike}{frame}{review}",
        cluster.relation,
        cluster.id.get(..8).unwrap_or(&cluster.id),
        bytes(cluster.joined_bytes),
        count(cluster.documents.len() as u64),
        words.documents,
        bytes(cluster.total_bytes),
    )?;
    let names = cluster.documents.iter().map(|document| {
        let copies = match document.copies {
            1 => String::new(),
            copies => format!(" (× {})", count(copies)),
        };
        format!(
            "{}{}{copies}  {}",
            place(&document.site, &document.repository, &document.path),
            mark(document.recognised),
            bytes(document.size_bytes)
        )
    });
    write_names(names, cluster.documents.len(), out)
}

fn write_names(names: impl Iterator<Item = String>, all: usize, out: &mut impl Write) -> crate::Result<()> {
    for name in names.take(NAMED_MAX) {
        writeln!(out, "      {name}")?;
    }
    if all > NAMED_MAX {
        writeln!(out, "      … and {} more", count((all - NAMED_MAX) as u64))?;
    }
    Ok(())
}
