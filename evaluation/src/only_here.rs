//! `only-here`: whether a document that a comparison calls only here truly has no relative at another site.
//!
//! The truth is exhaustive and knows no candidates of the product: every document against every document by windows of 32 bytes,
//! sampled to find, all to decide. The same truth judges the pairs that a report links, and the headline. A table asks what a sample
//! of windows that grows with the document would find of the pairs that are truly related.

mod comparison;
mod content;
mod coverage;
mod excerpts;
mod hashed;
mod judged;
mod partners;
mod posting_lists;
mod report;
mod sample_candidates;
mod shared;
mod sites;
mod small_corpus;
mod window_sample;

use std::path::Path;

use crate::error::Error;
use crate::findings::{Findings, Table};
use crate::machine::{Memory, Stopwatch};
use crate::only_here::comparison::compare;
use crate::only_here::judged::LINKED_SHARE;
use crate::only_here::partners::{DOCUMENT_BYTES_MIN, Partner, partners};
use crate::only_here::sites::Sites;
use crate::only_here::window_sample::Samples;
use crate::setting::Setting;
use crate::threads::each;

/// The cost of the truth.
struct TruthCost {
    seconds: f64,
    memory: Memory,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let Some(corpus) = setting.corpus else {
        return Err(Error::Method("the experiment needs --corpus: a folder with a folder for each site".to_owned()));
    };
    if setting.full {
        return of_corpus(setting, corpus);
    }
    let small = small_corpus::copied(corpus)?;
    of_corpus(setting, small.path())
}

fn of_corpus(setting: &Setting<'_>, corpus: &Path) -> Result<Findings, Error> {
    let (watch, memory) = (Stopwatch::start(), Memory::begin());
    let sites = Sites::read(setting, corpus)?;
    let mut of_site = Vec::new();
    for site in 0..sites.sites.len() {
        of_site.push(partners(setting, &sites, site)?);
    }
    let cost = TruthCost { seconds: watch.seconds(), memory: memory.end() };
    let samples: Vec<Samples> = each(sites.contents.len(), |number| Ok(Samples::of(&sites.contents[number])))?;
    let mut sample_table = window_samples(&sites, &of_site, &samples);
    let candidates = sample_candidates::table(setting, &sites, &of_site, &samples)?;
    drop(samples);
    let named: Vec<(String, &Path)> =
        sites.sites.iter().map(|site| (site.name.clone(), site.folder.as_path())).collect();
    let report = compare(setting, &named)?;
    let judged = judged::only_here(&sites, &report, &of_site)?;
    let links = judged::links(setting, &sites, &report)?;
    let headlines = report::headlines(setting, &sites, &report)?;
    let excerpts = excerpts::excerpts(setting, &sites)?;
    let missed = judged.iter().flat_map(|site| &site.missed);
    let missed: Vec<window_sample::Common> = missed
        .map(|document| {
            let [content, partner] = document.contents.map(|number| &sites.contents[number]);
            window_sample::in_common(content, partner)
        })
        .collect();
    window_sample::add_rows(&mut sample_table, "called only here", &missed, None);
    for found in &excerpts {
        let pairs = format!("excerpts of {} bytes", found.excerpt_bytes);
        window_sample::add_rows(&mut sample_table, &pairs, &found.common, None);
    }
    let result = report::Judgement {
        sites: judged,
        links,
        headlines,
        excerpts,
        report: &report,
        samples: [sample_table, candidates],
        truth_cost: cost,
    };
    Ok(report::findings(setting, &result))
}

/// What samples of windows find of the pairs that truly share half and are not equal, all and by the size of the document.
fn window_samples(sites: &Sites, partners: &[Vec<Option<Partner>>], samples: &[Samples]) -> Table {
    let mut table = window_sample::table();
    let pairs = partners.iter().flat_map(|of_site| of_site.iter().enumerate());
    let related = pairs.filter_map(|(number, partner)| Some((number, (*partner)?)));
    let measured: Vec<(usize, f64, window_sample::Common)> = related
        .filter(|(_, partner)| partner.share >= LINKED_SHARE)
        .map(|(number, partner)| {
            let common = samples[number].in_common(&samples[partner.content]);
            (sites.contents[number].counted_bytes(), partner.share, common)
        })
        .collect();
    let costs = window_sample::costs(&sites.contents, samples);
    let mut add = |name: &str, costs, is_in: &dyn Fn(usize, f64) -> bool| {
        let of_these = measured.iter().filter(|(bytes, share, _)| is_in(*bytes, *share));
        let common: Vec<window_sample::Common> = of_these.map(|(.., common)| *common).collect();
        window_sample::add_rows(&mut table, name, &common, costs);
    };
    add("all that share half", Some(costs), &|_, _| true);
    add("documents of 200 bytes to 1 kB", None, &|bytes, _| bytes < DOCUMENT_BYTES_MIN);
    add("documents of 1 to 2 kB", None, &|bytes, _| (DOCUMENT_BYTES_MIN..2000).contains(&bytes));
    add("documents of 2 to 4 kB", None, &|bytes, _| (2000..4000).contains(&bytes));
    add("documents of 4 to 16 kB", None, &|bytes, _| (4000..16_000).contains(&bytes));
    add("documents of 16 kB and more", None, &|bytes, _| bytes >= 16_000);
    add("sharing 50 to 80 %", None, &|_, share| share < 0.8);
    add("sharing 80 % and more", None, &|_, share| share >= 0.8);
    table
}

#[cfg(test)]
mod tests;
