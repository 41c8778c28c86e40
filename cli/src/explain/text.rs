//! What two documents share, for people: two bars, a list of places, the way between them, and the versions by age.

use std::io::Write;

use cognate_proto::path::printable;

use cognate_export::estimated;
use cognate_export::human::{bytes, count, share as human_share};
use cognate_export::legend::in_words;
use cognate_export::table::table_within;
use cognate_result::explain::record::{Difference, Document, Explained, Pair};
use cognate_result::report::Ratio;

/// The characters of a bar, if there is room for them.
const BAR: usize = 64;
/// Columns of its line that are not the bar: the name before it, and the size after it.
const NOT_BAR: usize = 16;
/// How full a place is: not at all, a little, half, mostly, wholly.
const FULL: [char; 5] = ['·', '░', '▒', '▓', '█'];

pub(super) fn write(
    explained: &Explained,
    limit: usize,
    columns: Option<usize>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    for (name, document) in [("A", &explained.a), ("B", &explained.b)] {
        let Document { modified, status, .. } = document;
        writeln!(out, "{name}  {}", shown(&document.place()))?;
        writeln!(out, "   modified {modified}, {status}")?;
    }
    let older = match explained.a.modified.cmp(&explained.b.modified) {
        std::cmp::Ordering::Less => "A is the older one.",
        std::cmp::Ordering::Greater => "B is the older one.",
        std::cmp::Ordering::Equal => "Both have the same time.",
    };
    writeln!(out, "{older}")?;
    for pair in &explained.views {
        write_pair(pair, limit, columns, out)?;
    }
    explained.difference.as_ref().map_or(Ok(()), |difference| write_difference(difference, limit, out))
}

fn write_pair(pair: &Pair, limit: usize, columns: Option<usize>, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "\nBY {} ({})\n", pair.view.to_uppercase(), pair.method)?;
    let percent = |share: Option<Ratio>| share.map_or("unknown".to_owned(), |share| human_share(share.0));
    if pair.identical {
        writeln!(out, "  They are the same: {}.", bytes(pair.a.size_bytes))?;
    } else if let Some(shared_bytes) = pair.shared_bytes {
        let relation = in_words(pair.relation.as_deref().unwrap_or("nothing in common"));
        let outside = pair.outside_bytes.map(|outside| format!(" ({} without standard text)", bytes(outside)));
        writeln!(
            out,
            "  {relation}: {}{} in common, {} of A and {} of B; resemblance {}",
            bytes(shared_bytes),
            outside.unwrap_or_default(),
            percent(pair.a_in_b),
            percent(pair.b_in_a),
            percent(pair.resemblance),
        )?;
        if pair.estimated.is_some() {
            writeln!(out, "  The resemblance is {}.", estimated::one(pair.interval, pair.within_tenth))?;
        }
    }
    if let Some(reason) = &pair.coarse_reason {
        writeln!(out, "  COARSE: {reason}")?;
    }
    bars(pair, bar_columns(columns), out)?;
    if let Some(why) = &pair.unplaced {
        writeln!(out, "  Where: not known. {why}")?;
    }
    if pair.unplaced_bytes > 0 {
        let unplaced = bytes(pair.unplaced_bytes);
        writeln!(
            out,
            "  The places of {unplaced} of it are not known: a later scan took over a part of the fine chunks"
        )?;
    }
    places(pair, limit, columns, out)?;
    through(pair, out)?;
    versions(pair, limit, columns, out)
}

/// The places of a bar on a terminal of so many columns.
fn bar_columns(columns: Option<usize>) -> usize {
    columns.map_or(BAR, |columns| columns.saturating_sub(NOT_BAR).clamp(8, BAR))
}

/// Each document as a bar, in which what both have is dark.
fn bars(pair: &Pair, columns: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    let Some(shared) = &pair.shared else { return Ok(()) };
    let of_a: Vec<[u64; 2]> = shared.iter().map(|run| [run.offset_a, run.length_bytes]).collect();
    let of_b: Vec<[u64; 2]> = shared.iter().map(|run| [run.offset_b, run.length_bytes]).collect();
    let widest = pair.a.size_bytes.max(pair.b.size_bytes);
    writeln!(out)?;
    for (name, size, runs, templates) in
        [("A", pair.a.size_bytes, of_a, &pair.templates_a), ("B", pair.b.size_bytes, of_b, &pair.templates_b)]
    {
        writeln!(out, "  {name} |{}| {}", bar(columns, (size, widest), &runs, templates), bytes(size))?;
    }
    let templates = if pair.templates_a.is_empty() && pair.templates_b.is_empty() { "" } else { "   t template" };
    writeln!(out, "     █ in both   ▒ in part   · here alone{templates}")?;
    Ok(())
}

fn bar(columns: usize, (size, widest): (u64, u64), runs: &[[u64; 2]], templates: &[[u64; 2]]) -> String {
    let cells = u64::try_from(columns).unwrap_or(1);
    let wide = (u128::from(size) * u128::from(cells)).div_ceil(u128::from(widest.max(1)));
    let wide = u64::try_from(wide).unwrap_or(cells).clamp(1, cells);
    let edge = |cell: u64| u64::try_from(u128::from(size) * u128::from(cell) / u128::from(wide)).unwrap_or(size);
    let within = |list: &[[u64; 2]], from: u64, to: u64| -> u64 {
        list.iter().map(|[start, length]| (start + length).min(to).saturating_sub((*start).max(from))).sum()
    };
    let shown = (0..wide).map(|cell| {
        let (from, to) = (edge(cell), edge(cell + 1));
        let all = (to - from).max(1);
        let (shared, set_aside) = (within(runs, from, to), within(templates, from, to));
        if set_aside * 2 > all {
            return 't';
        }
        let fifths = match shared {
            0 => 0,
            _ if shared >= all => 4,
            _ => 1 + usize::try_from(shared * 3 / all).unwrap_or(0).min(2),
        };
        FULL[fifths]
    });
    let blank = columns - usize::try_from(wide).unwrap_or(columns);
    shown.chain(std::iter::repeat_n(' ', blank)).collect()
}

fn places(pair: &Pair, limit: usize, columns: Option<usize>, out: &mut dyn Write) -> anyhow::Result<()> {
    let Some(shared) = pair.shared.as_ref().filter(|shared| !shared.is_empty()) else { return Ok(()) };
    let moved = |a: u64, b: u64| match a.cmp(&b) {
        std::cmp::Ordering::Equal => "in place".to_owned(),
        std::cmp::Ordering::Less => format!("{} later", count(b - a)),
        std::cmp::Ordering::Greater => format!("{} earlier", count(a - b)),
    };
    let rows = shared.iter().take(limit).map(|run| {
        vec![count(run.offset_a), count(run.offset_b), count(run.length_bytes), moved(run.offset_a, run.offset_b)]
    });
    writeln!(
        out,
        "\n{}",
        table_within(columns, &[" AT BYTE OF A", " AT BYTE OF B", " LENGTH", "IN B IT STANDS"], rows)
    )?;
    let rest = u64::try_from(shared.len().saturating_sub(limit))? + pair.shared_omitted;
    if rest > 0 {
        writeln!(out, "  … {} more; --limit 0 shows all", count(rest))?;
    }
    Ok(())
}

fn through(pair: &Pair, out: &mut dyn Write) -> anyhow::Result<()> {
    if pair.through.is_empty() {
        return Ok(());
    }
    let cluster = pair.cluster.as_deref().unwrap_or_default();
    writeln!(out, "\n  They are not linked with each other; in cluster {cluster} they are through")?;
    writeln!(out, "    A")?;
    for (place, step) in pair.through.iter().enumerate() {
        let end = if place + 1 == pair.through.len() { "  (B)" } else { "" };
        let resemblance =
            step.resemblance.map_or(String::new(), |share| format!(", resemblance {}", human_share(share.0)));
        writeln!(
            out,
            "    │ {}: {} in common{resemblance}\n    {}{end}",
            step.relation,
            bytes(step.shared_bytes),
            shown(&step.document.place())
        )?;
    }
    Ok(())
}

fn versions(pair: &Pair, limit: usize, columns: Option<usize>, out: &mut dyn Write) -> anyhow::Result<()> {
    if pair.versions.len() < 2 {
        return Ok(());
    }
    let cluster = pair.cluster.as_deref().unwrap_or_default();
    writeln!(out, "\n  All of cluster {cluster}, the oldest first\n")?;
    // The two that were asked about are told whatever the limit.
    let told = |place: usize| place < limit || pair.versions[place].is.is_some();
    let rows = (0..pair.versions.len()).filter(|place| told(*place)).map(|place| {
        let version = &pair.versions[place];
        let is = version.is.as_deref().unwrap_or_default().to_uppercase();
        let copies = if version.copies > 1 { format!("× {}", count(version.copies)) } else { String::new() };
        vec![is, version.document.modified.clone(), bytes(version.size_bytes), copies, shown(&version.document.place())]
    });
    writeln!(out, "{}", table_within(columns, &["", "MODIFIED", " SIZE", "COPIES", "DOCUMENT"], rows))?;
    let rest = (0..pair.versions.len()).filter(|place| !told(*place)).count();
    if rest > 0 {
        writeln!(out, "  … {} more; --limit 0 shows all", count(u64::try_from(rest)?))?;
    }
    Ok(())
}

fn write_difference(difference: &Difference, limit: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    let of = &difference.of;
    let (only_a, only_b) = (count(difference.only_a), count(difference.only_b));
    writeln!(out, "\nDIFFERENCE: {only_a} {of} of A alone, {only_b} of B alone\n")?;
    for hunk in difference.hunks.iter().take(limit) {
        let (a, b) = (count(hunk.start_a), count(hunk.start_b));
        let (length_a, length_b) = (count(hunk.length_a), count(hunk.length_b));
        writeln!(out, "@ A {a} ({length_a} {of}), B {b} ({length_b} {of})")?;
        hunk.lines.iter().try_for_each(|line| writeln!(out, "{}", shown(line)))?;
    }
    let rest = u64::try_from(difference.hunks.len().saturating_sub(limit))? + difference.hunks_omitted;
    if rest > 0 {
        writeln!(out, "… {} more places; --limit 0 shows them", count(rest))?;
    }
    Ok(())
}

/// Text from documents and names, on one line, with nothing that a terminal would obey.
fn shown(text: &str) -> String {
    printable(text.replace('\t', "    ").as_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_where_things_are_and_how_much_of_it() {
        let shown = bar(BAR, (6_400, 6_400), &[[0, 1_600], [3_200, 50]], &[[6_300, 100]]);
        assert_eq!(shown.chars().count(), BAR);
        assert_eq!(shown.chars().take(17).collect::<String>(), format!("{}·", "█".repeat(16)));
        assert_eq!((shown.chars().nth(32), shown.chars().last()), (Some('▒'), Some('t')));
        assert_eq!(bar(BAR, (100, 6_400), &[[0, 100]], &[]).trim_end(), "█");
    }
}
