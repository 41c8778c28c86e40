//! Clusters and identical sets: a row for the group, and one below it for each member, which fold away.

use std::io::Write;

use crate::Error;
use crate::recognised::mark;
use cognate_result::report::{ClusterSection, IdenticalSet, Report};

use super::cells::{Safe, td};
use super::elsewhere;
use super::lists::{head, rest};
use crate::clusters::{Cluster, Export, Layout};
use crate::grid::Kind::{Bytes, Count, Text, Time};
use crate::grid::{Cell, Column, column};
use crate::human::{bytes, count};

/// The bytes of markup that each of the two lists may come to.
const BYTES_MAX: usize = 3 << 20;
/// Members of one group that are shown.
const MEMBERS_MAX: usize = 50;

/// Groups as they are written: no more than a page can bear, and counted on.
struct Groups<'o, W: Write> {
    out: &'o mut W,
    columns: &'o [Column],
    room: usize,
    shown: u64,
    all: u64,
}

impl<'o, W: Write> Groups<'o, W> {
    fn new(columns: &'o [Column], out: &'o mut W) -> Groups<'o, W> {
        Groups { out, columns, room: BYTES_MAX, shown: 0, all: 0 }
    }

    fn push(
        &mut self,
        first: &[Cell],
        members: usize,
        member: impl Fn(usize) -> Vec<Cell>,
        left_out: &str,
    ) -> crate::Result<()> {
        self.all += 1;
        if self.shown + 1 < self.all {
            return Ok(());
        }
        let mut group = String::from("<tbody class=\"g\"><tr>");
        for (place, (cell, column)) in first.iter().zip(self.columns).enumerate() {
            let cell = td(cell, column);
            match place {
                0 => group.push_str(&cell.replacen(
                    '>',
                    "><button type=\"button\" class=\"fold\" aria-expanded=\"true\" aria-label=\"Fold\">▾</button>",
                    1,
                )),
                _ => group.push_str(&cell),
            }
        }
        group.push_str("</tr>\n");
        for place in 0..members.min(MEMBERS_MAX) {
            group.push_str("<tr class=\"m\">");
            member(place).iter().zip(self.columns).for_each(|(cell, column)| group.push_str(&td(cell, column)));
            group.push_str("</tr>\n");
        }
        if members > MEMBERS_MAX {
            let (columns, more) = (self.columns.len(), count((members - MEMBERS_MAX) as u64));
            group.push_str(&format!("<tr class=\"m\"><td colspan=\"{columns}\">… {more} more {left_out}</td></tr>\n"));
        }
        group.push_str("</tbody>\n");
        if group.len() > self.room {
            return Ok(());
        }
        if self.shown == 0 {
            head(true, self.columns.iter(), self.out)?;
        }
        self.room -= group.len();
        self.shown += 1;
        Ok(self.out.write_all(group.as_bytes())?)
    }

    fn end(self, whole: &str) -> crate::Result<()> {
        match (self.shown, self.all) {
            (_, 0) => writeln!(self.out, "<p>None.</p>")?,
            (0, _) => {}
            _ => writeln!(self.out, "</table></div>")?,
        }
        rest(self.shown, self.all, whole, self.out)
    }
}

pub(super) fn clusters(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let totals = report.cluster_totals()?;
    writeln!(
        out,
        "<h2 id=\"clusters\">Clusters of related files</h2>\n<p class=\"soft\">{} clusters, {} files, {}; those with most \
         bytes first. A cluster is told against its representative: how similar a member is to it, and how much of the member it contains. What is not linked with it directly has no figure there.</p>",
        count(totals.clusters),
        count(totals.contents),
        bytes(totals.bytes),
    )?;
    let whole = elsewhere(report, "xlsx")?;
    let layout = Layout::of(Export::Page);
    let mut groups = Groups::new(&layout.columns, out);
    report.clusters::<Error>(|cluster| push_cluster(&mut groups, &layout, &cluster))?;
    groups.end(&whole)
}

fn push_cluster(groups: &mut Groups<'_, impl Write>, layout: &Layout, section: &ClusterSection) -> crate::Result<()> {
    let cluster = Cluster::new(0, section);
    let member = |place: usize| layout.member(&cluster.member(place));
    groups.push(&layout.cluster(&cluster), section.documents.len(), member, "files")
}

const IDENTICAL: [Column; 6] = [
    column("same", "Same", Text, 12),
    column("path", "Document", Text, 60),
    column("files", "Files", Count, 8),
    column("size", "Size of each", Bytes, 12),
    column("overhead", "Redundant", Bytes, 12),
    column("modified", "Modified", Time, 16),
];

pub(super) fn identical(report: &Report, out: &mut impl Write) -> crate::Result<()> {
    let totals = report.identical_totals()?;
    writeln!(out, "<h2 id=\"identical\">Identical files</h2>\n<p class=\"soft\">")?;
    for tier in &totals {
        writeln!(
            out,
            "{} sets of the {}, {} in copies beyond the first.",
            count(tier.sets),
            Safe(tier.tier),
            bytes(tier.wasted_bytes)
        )?;
    }
    writeln!(out, "Those whose copies waste most bytes come first.</p>")?;
    let whole = elsewhere(report, "xlsx")?;
    let mut groups = Groups::new(&IDENTICAL, out);
    report.identical::<Error>(|set| push_set(&mut groups, &set))?;
    groups.end(&whole)
}

fn push_set(groups: &mut Groups<'_, impl Write>, set: &IdenticalSet) -> crate::Result<()> {
    let copies = set.documents.len() as u64;
    let first = [
        set.tier.into(),
        format!("{}{}", set.documents[0].path, mark(set.documents[0].recognised)).into(),
        copies.into(),
        set.size_bytes.into(),
        set.size_bytes.map(|size| size * (copies - 1)).into(),
        Cell::None,
    ];
    let member = |place: usize| {
        let document = &set.documents[place];
        vec![
            Cell::None,
            format!("{}/{}: {}{}", document.site, document.repository, document.path, mark(document.recognised)).into(),
            Cell::None,
            document.size_bytes.into(),
            Cell::None,
            document.modified.as_str().into(),
        ]
    };
    groups.push(&first, set.documents.len(), member, "files")
}
