//! The findings: what a report calls only here, what it links, its headline, excerpts, and the cost.

use crate::error::Error;
use crate::findings::{Agreement, Cell, Findings, Table};
use crate::only_here::TruthCost;
use crate::only_here::comparison::{InCommon, Report};
use crate::only_here::coverage::coverage;
use crate::only_here::excerpts::ExcerptResult;
use crate::only_here::judged::{FOUR_FIFTHS, LinkJudgement, Reason, SiteJudgement};
use crate::only_here::sites::Sites;
use crate::setting::Setting;
use crate::statistics::{per_cent, share};

/// Missed documents and false links that are listed of each site.
const LISTED: usize = 20;

/// The aims.
const MISSED_HALF_MAX: f64 = 0.001;
const FALSE_LINKS_MAX: f64 = 0.001;
const HEADLINE_POINTS_MAX: f64 = 1.0;
const EXCERPTS_MIN: f64 = 0.95;

/// Everything that was found.
pub(super) struct Judgement<'r> {
    pub(super) sites: Vec<SiteJudgement>,
    pub(super) links: LinkJudgement,
    pub(super) headlines: Vec<Headline>,
    pub(super) excerpts: Vec<ExcerptResult>,
    pub(super) report: &'r Report,
    /// What samples of windows find, and the candidates that they give.
    pub(super) samples: [Table; 2],
    pub(super) truth_cost: TruthCost,
}

/// The share of a site that is also at another: what was measured, what is estimated with the ends of its interval, and the truth.
pub(super) struct Headline {
    what: String,
    measured: f64,
    estimated: f64,
    interval: [f64; 2],
    share: f64,
}

/// Measures the headline of each two sites, in both directions.
pub(super) fn headlines(setting: &Setting<'_>, sites: &Sites, report: &Report) -> Result<Vec<Headline>, Error> {
    let number = |name: &str| sites.sites.iter().position(|site| site.name == name);
    let mut headlines = Vec::new();
    for row in report.overlaps.iter().filter(|row| row.level == "site") {
        for in_common in row.directions() {
            let InCommon { of, at, bytes, measured_bytes, estimated_bytes, error_bytes } = in_common;
            let (Some(of_number), Some(at_number)) = (number(of), number(at)) else { continue };
            if bytes > 0 {
                let truth = |by_text| coverage(setting, sites, [of_number, at_number], by_text);
                let (files, texts) = (truth(false)?, truth(true)?);
                let least = estimated_bytes.saturating_sub(error_bytes).max(measured_bytes);
                let most = (estimated_bytes + error_bytes).min(bytes);
                headlines.push(Headline {
                    what: format!("{of} at {at}"),
                    measured: measured_bytes as f64 / bytes as f64,
                    estimated: estimated_bytes as f64 / bytes as f64,
                    interval: [least, most].map(|end| end as f64 / bytes as f64),
                    share: share(files.covered_bytes + texts.covered_bytes, files.bytes + texts.bytes),
                });
            }
        }
    }
    Ok(headlines)
}

pub(super) fn findings(setting: &Setting<'_>, found: &Judgement<'_>) -> Findings {
    let mut findings = Findings::new(
        "Only here, against every document elsewhere",
        "The aims are of this project; no paper has these figures.",
    );
    findings.against_aims = true;
    findings.fact("corpus", setting.corpus_name());
    findings.fact("documents", "of 1 kB and more; office files by their text, all others by their bytes");
    findings.fact("truth", "bytes of a document in windows of 32 bytes that occur in one document at another site");
    add_aims(&mut findings, found);
    findings.tables.extend(found.samples.iter().cloned());
    findings.tables.push(sites_table(&found.sites));
    findings.tables.push(small_table(&found.sites));
    findings.tables.push(reasons_table(&found.sites));
    findings.tables.push(missed_table(&found.sites));
    findings.tables.push(links_table(&found.links));
    findings.tables.push(headline_table(&found.headlines));
    findings.tables.push(excerpts_table(&found.excerpts));
    findings.tables.push(cost_table(found));
    findings.remark(
        "One window in 16, chosen by its hash, finds the documents that could share; all windows of a pair decide. Windows of one repeated byte count nowhere. A pair is not found if the sample shows less than 40 % of the document, as with an edit every 40 bytes. A partner is the best of the 32 contents of which the sample shows most; whether any shares half, or four fifths, is decided by all.",
    );
    findings.remark(
        "The reason is found with the chunks of the product: a pair that they measure below half, a pair with a whole chunk in common that a bound has cut, or a pair that no chunk proposes.",
    );
    findings.remark(
        "A sample of windows has the windows whose hash is below a bound, and 16 in any case. A window costs 5 bytes; the bytes sent are a share of all contents.",
    );
    findings
}

fn add_aims(findings: &mut Findings, found: &Judgement<'_>) {
    let mut aim = |what: &str, aim: &str, ours: String, holds: Option<bool>| {
        findings.compare(what, aim, "", ours, holds.map_or(Agreement::Other, Agreement::of), "");
    };
    let only_here: usize = found.sites.iter().map(|site| site.only_here).sum();
    let missed = |least: f64| found.sites.iter().map(|site| site.missed_from(least)).sum::<usize>();
    let half = missed(0.0);
    aim(
        "only here, and half of it is in one document elsewhere",
        "at most 1 in 1,000",
        format!("{half} of {only_here}"),
        (only_here > 0).then(|| share(half, only_here) <= MISSED_HALF_MAX),
    );
    let fifths = missed(FOUR_FIFTHS);
    let of_these = format!("{fifths} of {only_here}");
    aim("only here, and four fifths of it are in one document elsewhere", "none", of_these, Some(fifths == 0));
    let (low, links) = (found.links.low.len(), found.links.links);
    aim(
        "linked at half and more, and truly below 30 %",
        "at most 1 in 1,000",
        format!("{low} of {links}"),
        (links > 0).then(|| share(low, links) <= FALSE_LINKS_MAX),
    );
    for headline in &found.headlines {
        let points = 100.0 * (headline.estimated - headline.share);
        aim(
            &format!("in common, {}: estimated less true share", headline.what),
            "within 1 point",
            format!("{points:+.1} points"),
            Some(points.abs() <= HEADLINE_POINTS_MAX),
        );
    }
    for excerpts in &found.excerpts {
        aim(
            &format!(
                "edited excerpts of {} bytes, linked with a longer document that has them",
                excerpts.excerpt_bytes
            ),
            "at least 95 of 100",
            format!("{} of {}", excerpts.found, excerpts.excerpts),
            (excerpts.excerpts > 0).then(|| share(excerpts.found, excerpts.excerpts) >= EXCERPTS_MIN),
        );
    }
}

fn sites_table(sites: &[SiteJudgement]) -> Table {
    let mut table = Table::new(
        "only-here-sites",
        "Documents that are reported as only here",
        &[
            "site",
            "documents",
            "only here",
            "truly half or more",
            "truly 80 % or more",
            "standard text",
            "of these truly 80 % or more",
            "not decided",
            "not reported",
        ],
    );
    for site in sites {
        table.row([
            site.site.as_str().into(),
            site.documents.into(),
            site.only_here.into(),
            site.missed.len().into(),
            site.missed_from(FOUR_FIFTHS).into(),
            site.standard_text[0].into(),
            site.standard_text[1].into(),
            site.undecided.into(),
            site.not_reported.into(),
        ]);
    }
    table
}

fn small_table(sites: &[SiteJudgement]) -> Table {
    let mut table = Table::new(
        "only-here-small",
        "Documents of 200 bytes to 1 kB",
        &["site", "documents", "only here", "truly half or more", "truly 80 % or more", "not decided"],
    );
    for SiteJudgement { site, small, .. } in sites {
        let [half, four_fifths] = small.missed;
        let counts = [small.documents, small.only_here, half, four_fifths, small.undecided];
        table.row([site.as_str().into()].into_iter().chain(counts.map(Cell::from)));
    }
    table
}

fn reasons_table(sites: &[SiteJudgement]) -> Table {
    let mut table = Table::new(
        "only-here-reasons",
        "Why documents are reported as only here that share half with one document elsewhere",
        &["missed by", "truly half or more", "truly 80 % or more"],
    );
    for reason in Reason::ALL {
        let count = |least: f64| {
            let missed = sites.iter().flat_map(|site| &site.missed);
            missed.filter(|document| document.reason == reason && document.share >= least).count()
        };
        table.row([reason.words().into(), count(0.0).into(), count(FOUR_FIFTHS).into()]);
    }
    table
}

fn missed_table(sites: &[SiteJudgement]) -> Table {
    let mut table = Table::new(
        "only-here-missed",
        "Documents that are reported as only here and share half with one document elsewhere, the first by name",
        &["site", "path", "bytes", "truly in common, %", "partner", "missed by", "by chunks of the product, %"],
    );
    for site in sites {
        let mut missed: Vec<_> = site.missed.iter().collect();
        missed.sort_by(|a, b| a.path.cmp(&b.path));
        for document in missed.into_iter().take(LISTED) {
            table.row([
                site.site.as_str().into(),
                document.path.as_str().into(),
                document.bytes.into(),
                (100.0 * document.share).into(),
                document.partner.as_str().into(),
                document.reason.words().into(),
                document.measured.map(|share| 100.0 * share).into(),
            ]);
        }
    }
    table
}

fn links_table(links: &LinkJudgement) -> Table {
    let mut table = Table::new(
        "only-here-links",
        "Pairs that are linked at half and more and truly share less than 30 %",
        &["document", "partner", "reported, %", "truly in common, %"],
    );
    for link in links.low.iter().take(LISTED) {
        let shares = [link.reported, link.share].map(|share| Cell::number(100.0 * share));
        table.row([link.of.as_str().into(), link.at.as_str().into()].into_iter().chain(shares));
    }
    table
}

fn headline_table(headlines: &[Headline]) -> Table {
    let mut table =
        Table::new("only-here-headline", "In common", &["share of", "measured", "estimated", "from", "to", "true"]);
    for headline in headlines {
        let [least, most] = headline.interval;
        let shares = [headline.measured, headline.estimated, least, most, headline.share];
        let shares = shares.map(|share| Cell::from(per_cent(share)));
        table.row([headline.what.as_str().into()].into_iter().chain(shares));
    }
    table
}

fn excerpts_table(excerpts: &[ExcerptResult]) -> Table {
    let mut table = Table::new(
        "only-here-excerpts",
        "Edited excerpts in longer documents",
        &[
            "bytes",
            "excerpts",
            "linked with the document around them",
            "or with one that has as much of them",
            "truly in the document around them, mean %",
        ],
    );
    for found in excerpts {
        table.row([
            found.excerpt_bytes.into(),
            found.excerpts.into(),
            found.linked.into(),
            found.found.into(),
            (100.0 * found.true_share).into(),
        ]);
    }
    table
}

fn cost_table(found: &Judgement<'_>) -> Table {
    let mut table = Table::new(
        "only-here-cost",
        "Cost",
        &["of", "seconds", "peak MiB", "pairs by fine chunks", "pairs by whole chunks", "pairs left out"],
    );
    let (report, truth) = (found.report, &found.truth_cost);
    table.row([
        "the comparison".into(),
        report.seconds.into(),
        report.peak_mib.into(),
        report.fine.fine_pairs.into(),
        report.fine.coarse_pairs.into(),
        report.fine.omitted_pairs.into(),
    ]);
    let nothing = [Cell::None, Cell::None, Cell::None];
    let truth = ["the truth".into(), truth.seconds.into(), truth.memory.peak_mib.into()];
    table.row(truth.into_iter().chain(nothing));
    table
}
