//! Preview of a plan, before anyone carries it out.

use std::io::Write;

use cognate_proto::name::one_line;
use cognate_proto::path::printable;
use cognate_result::plan::{Decision, Keep, Member, Version};
use cognate_result::report::Located;

use super::Planned;
use cognate_export::human::{bytes, count};
use cognate_export::table::table_within;

/// Documents to name of one set.
const NAMED_MAX: usize = 8;

pub(super) fn write(
    planned: &Planned,
    keep: &Keep,
    limit: usize,
    columns: Option<usize>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let totals = &planned.totals;
    writeln!(
        out,
        "{} sets of identical documents: {} documents would go, {}; {} stay",
        count(totals.groups),
        count(totals.gone),
        bytes(totals.gone_bytes),
        count(totals.kept)
    )?;
    let (unclear, ties) = (totals.unclear, totals.ties - totals.unclear);
    if ties > 0 {
        writeln!(
            out,
            "ties: {}; the rules do not decide between their documents, and nothing goes (up to {} more with a further rule)",
            count(ties),
            bytes(totals.tie_bytes)
        )?;
    }
    if unclear > 0 {
        writeln!(
            out,
            "ties by verdicts: {}; they contradict each other or do not hold any more, and nothing goes until a new one is set",
            count(unclear)
        )?;
    }
    let left_out = totals.groups_left_out();
    if left_out > 0 {
        writeln!(
            out,
            "left out by verdicts: {} ({} intentional, {} not a duplicate, {} keep), with {} documents",
            count(left_out),
            count(totals.intentional),
            count(totals.not_duplicates),
            count(totals.kept_whole),
            count(totals.left_out)
        )?;
    }
    if let Some((versions, _)) = &planned.versions {
        writeln!(
            out,
            "versions of documents that stay: {} would go, {}; {} of them would be lost",
            count(versions.gone),
            bytes(versions.gone_bytes),
            bytes(versions.lost_bytes)
        )?;
        if versions.too_much > 0 {
            writeln!(
                out,
                "versions that stay: {}; more than {} of each would be lost (--lose-max)",
                count(versions.too_much),
                bytes(planned.lose_bytes_max)
            )?;
        }
        if versions.ties > 0 {
            writeln!(out, "versions that are ties: {}; no rule prefers the other document", count(versions.ties))?;
        }
        let (apart, unclear) = (versions.left_out, versions.unclear);
        if apart + unclear > 0 {
            writeln!(
                out,
                "clusters without versions because of verdicts: {} left out, {} unclear",
                count(apart),
                count(unclear)
            )?;
        }
    }
    if !planned.verdicts_known {
        writeln!(out, "verdicts: unknown; a result in a file does not contain them")?;
    }
    if totals.few > 0 {
        writeln!(out, "left alone: {}; all their copies must stay", count(totals.few))?;
    }
    if !planned.plans.is_empty() {
        let rows = planned.by_rule.iter().map(|(rule, kept)| vec![rule.clone(), count(*kept)]);
        if !planned.by_rule.is_empty() {
            writeln!(out, "\n{}", table_within(columns, &["KEPT BY", " DOCUMENTS"], rows))?;
        }
        let rows = planned.plans.values().map(|plan| {
            let totals = &plan.totals;
            vec![plan.site.clone(), count(totals.sets), count(totals.documents), bytes(totals.bytes)]
        });
        writeln!(out, "\n{}", table_within(columns, &["SITE", " SETS", " WOULD GO", " BYTES"], rows))?;
    }
    if let Some((totals, shown)) = &planned.versions {
        list_versions(shown, totals.contents, out)?;
    }
    list("WOULD GO", &planned.shown, totals.groups, limit, out)?;
    list("TIES, LEFT AS THEY ARE", &planned.ties, totals.ties, limit, out)?;
    list("LEFT OUT BY VERDICTS", &planned.left_out, left_out, limit, out)?;
    if ties > 0 {
        let last = keep.rules.iter().any(|rule| rule.to_string() == "shortest-path");
        let advice = if last { "prefer:SITE" } else { "shortest-path" };
        writeln!(out, "\n  A further rule decides: for example --keep {advice}")?;
    }
    Ok(())
}

fn list_versions(shown: &[Version], all: u64, out: &mut dyn Write) -> anyhow::Result<()> {
    if all == 0 {
        return Ok(());
    }
    writeln!(out, "\nVERSIONS THAT WOULD GO: {}\n", count(all))?;
    for version in shown {
        let place = |member: &Member| {
            let Located { site, repository, path, .. } = &member.document;
            format!("{site}/{repository}: {}", printable(path.as_bytes()))
        };
        writeln!(
            out,
            "  {} of {} {} what stays, {} would be lost",
            bytes(version.shared_bytes),
            bytes(version.size_bytes),
            if version.relation == "near" { "are in, and nearly all of," } else { "are in" },
            bytes(version.lost_bytes)
        )?;
        for member in version.kept.iter().take(1) {
            writeln!(out, "    keep  {}", place(member))?;
        }
        for member in version.gone.iter().take(NAMED_MAX) {
            writeln!(out, "    go    {}", place(member))?;
        }
        let rest = version.gone.len().saturating_sub(NAMED_MAX);
        if rest > 0 {
            writeln!(out, "    … {} more", count(rest as u64))?;
        }
    }
    let rest = all - shown.len() as u64;
    if rest > 0 {
        writeln!(out, "  … {} more; --limit 0 shows all", count(rest))?;
    }
    Ok(())
}

fn list(title: &str, shown: &[Decision], all: u64, limit: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    if all == 0 {
        return Ok(());
    }
    writeln!(out, "\n{title}: {}\n", count(all))?;
    for decision in shown.iter().take(limit) {
        let copies = count(decision.members.len() as u64);
        writeln!(out, "  {copies} × {}", bytes(decision.size_bytes))?;
        for said in &decision.said {
            writeln!(out, "    {}", one_line(&said.to_string()))?;
        }
        for member in decision.members.iter().take(NAMED_MAX) {
            let document = &member.document;
            let path = printable(document.path.as_bytes());
            let place = format!("{}/{}: {path}", document.site, document.repository);
            match &member.kept {
                Some(why) => writeln!(out, "    keep  {place}  ({why})")?,
                None if member.said.is_some() => writeln!(out, "    go    {place}  (verdict: duplicate)")?,
                None => writeln!(out, "    go    {place}")?,
            }
        }
        let rest = decision.members.len().saturating_sub(NAMED_MAX);
        if rest > 0 {
            writeln!(out, "    … {} more", count(rest as u64))?;
        }
    }
    let rest = all - shown.len().min(limit) as u64;
    if rest > 0 {
        writeln!(out, "  … {} more sets; --limit 0 shows all", count(rest))?;
    }
    Ok(())
}
