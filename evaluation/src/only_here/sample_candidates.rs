//! The candidates that a sample of windows gives: whether a document that truly shares half with one elsewhere has such a one among
//! its first few candidates.
//!
//! The candidates of a document are the contents elsewhere that send a window which the document sends too. Each such window counts
//! as one, divided by the contents elsewhere that send it, so that boilerplate proposes nobody.

use std::collections::{HashMap, HashSet};

use crate::error::Error;
use crate::findings::{Cell, Table};
use crate::only_here::judged::LINKED_SHARE;
use crate::only_here::partners::Partner;
use crate::only_here::shared::ContentWindows;
use crate::only_here::sites::Sites;
use crate::only_here::window_sample::{ONE_IN, Samples};
use crate::setting::Setting;
use crate::statistics::share;
use crate::threads::each;

/// The numbers of candidates that are tried.
const FIRST: [usize; 5] = [1, 2, 4, 8, 16];
const FIRST_MOST: usize = FIRST[FIRST.len() - 1];

/// A document that truly shares half with one elsewhere.
struct Ranking {
    /// For each density the place of the first candidate that truly shares half, counted from 0.
    places: [Option<usize>; ONE_IN.len()],
    /// For each density the number of candidates.
    candidates: [usize; ONE_IN.len()],
}

/// A table with a row for each density.
pub(super) fn table(
    setting: &Setting<'_>,
    sites: &Sites,
    partners: &[Vec<Option<Partner>>],
    samples: &[Samples],
) -> Result<Table, Error> {
    let mut rankings = Vec::new();
    for (site, partners) in partners.iter().enumerate() {
        rankings.extend(of_site(setting, sites, site, partners, samples)?);
    }
    let mut columns = vec!["one window in".to_owned(), "documents that share half".to_owned()];
    columns.extend(FIRST.map(|first| format!("among the first {first}, %")));
    columns.push("candidates, mean".to_owned());
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table =
        Table::new("only-here-candidates", "A relative that shares half, among the first candidates", &columns);
    for (density, one_in) in ONE_IN.into_iter().enumerate() {
        let within = FIRST.map(|first| {
            let found = rankings.iter().filter(|ranking| ranking.places[density].is_some_and(|place| place < first));
            Cell::number(100.0 * share(found.count(), rankings.len()))
        });
        let candidates: usize = rankings.iter().map(|ranking| ranking.candidates[density]).sum();
        let head = [Cell::from(one_in), rankings.len().into()];
        table.row(head.into_iter().chain(within).chain([share(candidates, rankings.len()).into()]));
    }
    Ok(table)
}

fn of_site(
    setting: &Setting<'_>,
    sites: &Sites,
    site: usize,
    partners: &[Option<Partner>],
    samples: &[Samples],
) -> Result<Vec<Ranking>, Error> {
    let related: Vec<usize> = (0..partners.len())
        .filter(|number| partners[*number].is_some_and(|partner| partner.share >= LINKED_SHARE))
        .collect();
    let by_density = (0..ONE_IN.len())
        .map(|density| first_candidates(setting, sites, site, &related, samples, density))
        .collect::<Result<Vec<_>, Error>>()?;
    let sharing = each(related.len(), |document| {
        setting.step("measuring first candidates", document, related.len())?;
        let content = &sites.contents[related[document]];
        let windows = ContentWindows::of(content);
        let first = by_density.iter().flat_map(|candidates| &candidates[document].first);
        let candidates: HashSet<usize> = first.copied().collect();
        let shares_half = |other: &usize| windows.share(&sites.contents[*other]) >= LINKED_SHARE;
        Ok(candidates.into_iter().filter(shares_half).collect::<HashSet<usize>>())
    })?;
    let ranking = |(document, sharing): (usize, &HashSet<usize>)| {
        let of = |density: usize| &by_density[density][document];
        Ranking {
            places: std::array::from_fn(|density| of(density).first.iter().position(|found| sharing.contains(found))),
            candidates: std::array::from_fn(|density| of(density).count),
        }
    };
    Ok(sharing.iter().enumerate().map(ranking).collect())
}

/// The candidates of a document at one density.
struct Candidates {
    /// The first of them.
    first: Vec<usize>,
    count: usize,
}

fn first_candidates(
    setting: &Setting<'_>,
    sites: &Sites,
    site: usize,
    related: &[usize],
    samples: &[Samples],
    density: usize,
) -> Result<Vec<Candidates>, Error> {
    let elsewhere = (0..samples.len()).filter(|number| sites.is_elsewhere(*number, site));
    let mut postings: Vec<(u64, usize)> =
        elsewhere.flat_map(|number| samples[number].at(density).iter().map(move |hash| (*hash, number))).collect();
    postings.sort_unstable();
    each(related.len(), |document| {
        setting.step("candidates by samples", document, related.len())?;
        let mut first = ranked(samples[related[document]].at(density), &postings);
        let count = first.len();
        first.truncate(FIRST_MOST);
        Ok(Candidates { first, count })
    })
}

/// The contents that have one of these windows, those with most of the rare ones first.
fn ranked(hashes: &[u64], postings: &[(u64, usize)]) -> Vec<usize> {
    let mut scores: HashMap<usize, f64> = HashMap::new();
    for hash in hashes {
        let from = postings.partition_point(|posting| posting.0 < *hash);
        let same = &postings[from..];
        let same = &same[..same.partition_point(|posting| posting.0 == *hash)];
        same.iter().for_each(|(_, content)| *scores.entry(*content).or_default() += 1.0 / same.len() as f64);
    }
    let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.into_iter().map(|(content, _)| content).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_few_contents_have_decide_the_order() {
        // Windows 1 to 3 are in all contents, window 7 in content 2 alone, window 8 in contents 0 and 1.
        let mut postings: Vec<(u64, usize)> =
            (1..4).flat_map(|hash| [0, 1, 2, 3].map(|content| (hash, content))).collect();
        postings.extend([(7, 2), (8, 0), (8, 1)]);
        assert_eq!(ranked(&[1, 2, 3, 7, 8], &postings), [2, 0, 1, 3]);
        assert_eq!(ranked(&[1, 8], &postings), [0, 1, 2, 3]);
        assert!(ranked(&[4, 5], &postings).is_empty());
    }
}
