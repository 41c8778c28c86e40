//! Matches for people.

use std::collections::BTreeMap;
use std::io::Write;

use cognate_desk::find::record::{CoarseRow, Under, reason};
use cognate_desk::find::{Answer, Coverage, Found, Match, Share, Unsearched};
use cognate_fingerprint::{RunLengths, View};
use cognate_proto::path::printable;

use super::{Query, word};
use crate::operator::members::{modified, time};
use cognate_export::human::{self, bytes, count};
use cognate_export::table::table_within;

/// Writes the answer.
pub(super) fn write(query: &Query, answer: &Answer, columns: Option<usize>, out: &mut dyn Write) -> anyhow::Result<()> {
    for (name, found) in query.names.iter().zip(&answer.documents) {
        document(name, found, columns, out)?;
        writeln!(out)?;
    }
    let only_proposes = query.under.method.capabilities().only_proposes();
    for (coarse, matches) in &answer.coarse {
        let (is, matches) = (if *matches == 1 { "match is" } else { "matches are" }, count(*matches));
        let line = CoarseRow::of(coarse, None).line();
        match only_proposes {
            true => writeln!(out, "NOT VERIFIED: {matches} {is} proposed and no more: {line}")?,
            false => writeln!(out, "COARSE: {matches} {is} measured by whole chunks alone: {line}")?,
        }
    }
    coverage(&query.under, &answer.coverage, out)?;
    if let Some(lengths) = answer.run_lengths {
        writeln!(out, "A passage in common is found {}.", found_from(lengths))?;
    }
    let has_match = |is: fn(&Match) -> bool| answer.documents.iter().flat_map(|found| &found.matches).any(is);
    if has_match(|one| one.measure.estimated) {
        writeln!(
            out,
            "{}",
            match only_proposes {
                true =>
                    "Shares are the cosine of the angle between the words of both texts, in whatever order; bytes follow from it.",
                false => "Shares are estimates from samples; the true share is within the brackets in 95 of 100 cases.",
            }
        )?;
    }
    if let Some(share) = least_within_tenth(answer) {
        writeln!(out, "An estimate from such a sample is within 10 points of the truth in {share} of cases or more.")?;
    }
    if query.under.method.view() == View::Office && answer.documents.iter().any(|found| found.matches.is_empty()) {
        writeln!(out, "Office files, PDF and mail were searched by their text; --view raw searches their bytes.")?;
    }
    if has_match(|one| word(one) == "candidate") {
        writeln!(out, "This method only proposes candidates: check them under another one, such as tttd.")?;
    }
    Ok(())
}

/// The least probability, of all estimates, to be within a tenth of the truth.
fn least_within_tenth(answer: &Answer) -> Option<String> {
    let matches = answer.documents.iter().flat_map(|found| &found.matches);
    let shares = matches.flat_map(|one| {
        let measure = &one.measure;
        [measure.resemblance, measure.sought_in_found, measure.found_in_sought]
    });
    let least = shares.flatten().filter_map(|share| share.within_tenth).min()?;
    Some(human::share(least.0))
}

fn document(name: &str, found: &Found, columns: Option<usize>, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "{}  {}", printable(name.as_bytes()), bytes(found.size_bytes))?;
    if found.size_bytes == 0 {
        return Ok(writeln!(out, "  empty: there is nothing to find")?);
    }
    if found.template_bytes > 0 {
        writeln!(out, "  {} of it are templates or one repeated byte, and do not count", bytes(found.template_bytes))?;
    }
    if found.matches.is_empty() {
        writeln!(out, "  nothing was found")?;
    } else {
        let headings = ["FOUND AS", "OF YOURS", "OF THEIRS", " SHARED", "WHERE", " SIZE", "MODIFIED"];
        writeln!(out, "{}", table_within(columns, &headings, found.matches.iter().flat_map(rows)))?;
        let of = if found.documents_omitted > 0 { "of those listed, by site" } else { "by site" };
        writeln!(out, "  {of}: {}", by_site(found))?;
    }
    if found.documents_omitted > 0 {
        writeln!(out, "  … and {} documents more: --limit shows more matches", count(found.documents_omitted))?;
    }
    match found.run_lengths {
        Some(lengths) if found.size_bytes > 0 => {
            Ok(writeln!(out, "  a passage of it is found elsewhere {}", found_from(lengths))?)
        }
        _ => Ok(()),
    }
}

fn rows(one: &Match) -> impl Iterator<Item = Vec<String>> + '_ {
    let measure = &one.measure;
    let alike = |share: Option<Share>| share.or(measure.resemblance);
    one.holders.iter().map(move |holder| {
        vec![
            word(one).to_owned(),
            percent(alike(measure.sought_in_found)),
            percent(alike(measure.found_in_sought)),
            measure.shared_bytes.map_or_else(|| "–".to_owned(), bytes),
            format!("{}/{}/{}", holder.site, holder.repository, printable(holder.path.as_bytes())),
            bytes(one.size_bytes),
            modified(holder.modified),
        ]
    })
}

/// `93.1 %`, and the interval of an estimate.
fn percent(share: Option<Share>) -> String {
    let shown = human::share;
    match share {
        None => "–".to_owned(),
        Some(Share { ratio, interval: None, .. }) => shown(ratio.0),
        Some(Share { ratio, interval: Some([low, high]), .. }) => {
            format!("{} [{}–{}]", shown(ratio.0), low.0 / 100, (high.0 + 99) / 100)
        }
    }
}

fn by_site(found: &Found) -> String {
    let mut sites: BTreeMap<&str, u64> = BTreeMap::new();
    for holder in found.matches.iter().flat_map(|one| &one.holders) {
        *sites.entry(holder.site.as_str()).or_default() += 1;
    }
    sites.iter().map(|(site, documents)| format!("{site} {}", count(*documents))).collect::<Vec<_>>().join(", ")
}

fn coverage(under: &Under, rows: &[Coverage], out: &mut dyn Write) -> anyhow::Result<()> {
    let method = &under.method;
    writeln!(out, "Searched under {} {} {}:", method.name(), method.view(), under.fineness())?;
    for row in rows {
        let place = format!("{}/{}", row.site, row.repository);
        match row.searched {
            Ok(searched) => {
                let unread = match searched.unread {
                    0 => String::new(),
                    unread => format!(", {} that could not be read were not searched", count(unread)),
                };
                writeln!(
                    out,
                    "  {place}: {} documents as of {}{unread}",
                    count(searched.documents),
                    time(searched.sealed)
                )?;
            }
            Err(why) => writeln!(out, "  {place}: NOT SEARCHED, {}", reason(why))?,
        }
    }
    let mut missing = rows.iter().filter(|row| row.searched.err() == Some(Unsearched::NoIndex)).peekable();
    if missing.peek().is_some() {
        writeln!(out, "To search the rest: {}", under.launch(missing))?;
    }
    Ok(())
}

fn found_from(RunLengths { p50, p95, p99 }: RunLengths) -> String {
    let from = |length: Option<u64>, how: &str| length.map(|length| format!("{how} from {} on", bytes(length)));
    let all = [from(p50, "every second time"), from(p95, "19 times in 20"), from(p99, "99 times in 100")];
    let known: Vec<String> = all.into_iter().flatten().collect();
    if known.is_empty() { "only with the complete document".to_owned() } else { known.join(", ") }
}
