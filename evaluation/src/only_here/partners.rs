//! The partner of each content: the content at another site that truly has most of its bytes.
//!
//! A sample of windows finds the contents that could be it, all windows decide. So an answer is exact but for what the sample
//! does not show: a content may be missed that shares only stretches of a few windows each, as with an edit every 40 bytes.

use crate::error::Error;
use crate::only_here::posting_lists::{Counters, PostingLists};
use crate::only_here::shared::ContentWindows;
use crate::only_here::sites::Sites;
use crate::setting::Setting;
use crate::threads::each;

/// Documents below it are counted apart.
pub(super) const DOCUMENT_BYTES_MIN: usize = 1000;
/// Smaller documents are left out: the sample has few of their windows.
pub(super) const SMALL_BYTES_MIN: usize = 200;
/// The shares that are decided: whether a content elsewhere has as much of a content.
const DECIDED: [f64; 2] = [0.5, 0.8];
/// What the sample does not show is a smaller share than this, for all but a few pairs.
const NOT_SAMPLED_SHARE: f64 = 0.1;
/// Once both are decided, the partner is the best of this number of contents, those first of which the sample shows most.
const BEST_OF: usize = 32;
/// Contents that one thread takes at a time.
const BATCH: usize = 32;

/// The content at another site that has most bytes of a content.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Partner {
    /// Its number.
    pub(super) content: usize,
    /// The share of the content that it has, 0 to 1.
    pub(super) share: f64,
}

/// For each content, its partner at a site other than `site`; none for contents that the site does not have, that are small, that
/// another site has as well, or of which no content elsewhere has some 40 %.
pub(super) fn partners(setting: &Setting<'_>, sites: &Sites, site: usize) -> Result<Vec<Option<Partner>>, Error> {
    let name = &sites.sites[site].name;
    setting.step(&format!("sampling what is elsewhere than at {name}"), 0, 1)?;
    let elsewhere = sites.contents.iter().enumerate().filter(|(number, _)| sites.is_elsewhere(*number, site));
    let lists = PostingLists::of(elsewhere);
    let is_asked = |number: &usize| {
        sites.holders[*number] == 1 << site && sites.contents[*number].counted_bytes() >= SMALL_BYTES_MIN
    };
    let asked: Vec<usize> = (0..sites.contents.len()).filter(is_asked).collect();
    let batches: Vec<&[usize]> = asked.chunks(BATCH).collect();
    let found = each(batches.len(), |number| {
        setting.step(&format!("partners of {name}"), number, batches.len())?;
        let mut counters = Counters::new(sites.contents.len());
        Ok(batches[number].iter().map(|content| partner(sites, &lists, *content, &mut counters)).collect::<Vec<_>>())
    })?;
    let mut partners = vec![None; sites.contents.len()];
    for (content, partner) in asked.into_iter().zip(found.into_iter().flatten()) {
        partners[content] = partner;
    }
    Ok(partners)
}

fn partner(sites: &Sites, lists: &PostingLists, number: usize, counters: &mut Counters) -> Option<Partner> {
    let content = &sites.contents[number];
    let counted_bytes = content.counted_bytes() as f64;
    let bytes_min = crate::statistics::truncated((DECIDED[0] - NOT_SAMPLED_SHARE) * counted_bytes);
    let possible = lists.possible_partners(content, bytes_min, counters);
    if possible.is_empty() {
        return None;
    }
    let windows = ContentWindows::of(content);
    let mut best: Option<(usize, usize)> = None;
    for (rank, other) in possible.into_iter().enumerate() {
        let most = best.map_or(0, |(shared_bytes, _)| shared_bytes);
        let is_decided = DECIDED.iter().all(|share| {
            most as f64 >= share * counted_bytes
                || (other.bytes_max as f64) < (share - NOT_SAMPLED_SHARE) * counted_bytes
        });
        if is_decided && (rank >= BEST_OF || most >= other.bytes_max) {
            break;
        }
        let shared_bytes = windows.shared_bytes(&sites.contents[other.content]);
        if best.is_none_or(|(most, _)| shared_bytes > most) {
            best = Some((shared_bytes, other.content));
        }
    }
    best.map(|(shared_bytes, content_number)| Partner {
        content: content_number,
        share: crate::statistics::share(shared_bytes, content.counted_bytes()),
    })
}
