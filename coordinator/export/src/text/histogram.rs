//! The strengths of the links, as bars.

use std::io::Write;

use cognate_result::report::{BucketRow, HistogramSection};

use crate::human::count;
use crate::table::table;

/// The longest bar.
const BAR_MAX: u64 = 20;

/// Writes a row for each twentieth in which there are links; an empty row between two of them is shown too.
pub(super) fn write(histogram: &HistogramSection, out: &mut impl Write) -> crate::Result<()> {
    let HistogramSection { containment, documents, links, resemblance, view } = histogram;
    let of = view.as_ref().map(|view| format!(" ({})", if view == "raw" { "bytes" } else { view }));
    writeln!(
        out,
        "\nLINKS BY STRENGTH{}: {} links of {} documents\n",
        of.unwrap_or_default(),
        count(*links),
        count(*documents)
    )?;
    // A value that the method cannot measure is not shown as zero.
    if containment.is_empty() {
        return write_one(resemblance, out);
    }
    let pairs: Vec<_> = resemblance.iter().zip(containment).collect();
    let is_empty = |pair: &&(&BucketRow, &BucketRow)| pair.0.links + pair.1.links == 0;
    let first = pairs.iter().take_while(is_empty).count();
    let last = pairs.len() - pairs.iter().rev().take_while(is_empty).count();
    let (most_alike, most_contained) = (most(resemblance), most(containment));
    let headings = ["STRENGTH", " RESEMBLANCE", "", " CONTAINMENT", ""];
    let rows = pairs[first.min(last)..last].iter().map(|(alike, contained)| {
        vec![
            strength(alike),
            count(alike.links),
            bar(alike.links, most_alike),
            count(contained.links),
            bar(contained.links, most_contained),
        ]
    });
    Ok(writeln!(out, "{}", table(&headings, rows))?)
}

/// The same by resemblance alone.
fn write_one(resemblance: &[BucketRow], out: &mut impl Write) -> crate::Result<()> {
    let is_empty = |row: &&BucketRow| row.links == 0;
    let first = resemblance.iter().take_while(is_empty).count();
    let last = resemblance.len() - resemblance.iter().rev().take_while(is_empty).count();
    let most = most(resemblance);
    let rows = resemblance[first.min(last)..last]
        .iter()
        .map(|row| vec![strength(row), count(row.links), bar(row.links, most)]);
    Ok(writeln!(out, "{}", table(&["STRENGTH", " RESEMBLANCE", ""], rows))?)
}

fn most(rows: &[BucketRow]) -> u64 {
    rows.iter().map(|row| row.links).max().unwrap_or(0)
}

/// `80–85 %`.
fn strength(row: &BucketRow) -> String {
    // A row is five percent wide.
    format!("{}–{} %", row.from.0 / 100, row.to.0 / 100)
}

/// As long as the share of the most; any share above zero has a bar.
fn bar(links: u64, most: u64) -> String {
    let length = u128::from(links) * u128::from(BAR_MAX) / u128::from(most.max(1));
    let length = usize::try_from(length).unwrap_or(0).max(usize::from(links > 0));
    "█".repeat(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let length = |links, most| bar(links, most).chars().count();
        assert_eq!([length(0, 7), length(1, 1_000_000), length(5, 10), length(10, 10)], [0, 1, 10, 20]);
    }
}
