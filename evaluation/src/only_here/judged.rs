//! A report held against the truth: the documents that it calls only here, and the pairs that it links.

use std::collections::{BTreeMap, HashMap};

use crate::error::Error;
use crate::in_common::measure::{Measurer, ways};
use crate::only_here::comparison::{DocumentRow, Place, Report};
use crate::only_here::content::Content;
use crate::only_here::partners::{DOCUMENT_BYTES_MIN, Partner, SMALL_BYTES_MIN};
use crate::only_here::shared::ContentWindows;
use crate::only_here::sites::Sites;
use crate::setting::Setting;
use crate::threads::each;

/// A pair is linked at half, and false below this true share.
pub(super) const LINKED_SHARE: f64 = 0.5;
pub(super) const FALSE_SHARE: f64 = 0.3;
/// What a copy with edits shares, at least.
pub(super) const FOUR_FIFTHS: f64 = 0.8;

/// The documents of a site by the report and by the truth, of [`DOCUMENT_BYTES_MIN`] and more.
#[derive(Default)]
pub(super) struct SiteJudgement {
    pub(super) site: String,
    pub(super) documents: usize,
    pub(super) only_here: usize,
    pub(super) undecided: usize,
    /// Documents of which others have standard text alone, by the report, and those of them that truly share four fifths with one elsewhere.
    pub(super) standard_text: [usize; 2],
    /// Documents that are no row of the report.
    pub(super) not_reported: usize,
    /// Of those that are only here by the report, those that truly share half with one document at another site.
    pub(super) missed: Vec<MissedDocument>,
    pub(super) small: SmallDocuments,
}

/// The documents of a site between [`SMALL_BYTES_MIN`] and [`DOCUMENT_BYTES_MIN`].
#[derive(Default)]
pub(super) struct SmallDocuments {
    pub(super) documents: usize,
    pub(super) undecided: usize,
    pub(super) only_here: usize,
    /// Of these, those that truly share half, and four fifths, with one document at another site.
    pub(super) missed: [usize; 2],
}

impl SmallDocuments {
    fn add(&mut self, row: &DocumentRow, partner: Option<Partner>) {
        self.documents += 1;
        self.undecided += usize::from(row.is_undecided());
        if row.is_only_here() {
            self.only_here += 1;
            for (missed, least) in self.missed.iter_mut().zip([LINKED_SHARE, FOUR_FIFTHS]) {
                *missed += usize::from(partner.is_some_and(|partner| partner.share >= least));
            }
        }
    }
}

impl SiteJudgement {
    /// The number of missed documents whose true share is at least this.
    pub(super) fn missed_from(&self, least: f64) -> usize {
        self.missed.iter().filter(|document| document.share >= least).count()
    }
}

/// A document that is only here by the report and shares half with one document at another site.
pub(super) struct MissedDocument {
    pub(super) path: String,
    pub(super) bytes: usize,
    pub(super) share: f64,
    /// The numbers of its content and of its partner's.
    pub(super) contents: [usize; 2],
    pub(super) partner: String,
    pub(super) reason: Reason,
    /// The greater share of the two that the chunks of the product measure; none if they are of two views.
    pub(super) measured: Option<f64>,
}

/// What is known about a pair that the report does not link, by the chunks of the product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// One is compared by its text, the other by its bytes.
    OtherView,
    /// Measured by fine chunks, as a comparison does, it is below the threshold.
    BelowThreshold,
    /// It has whole chunks in common and is above the threshold, so it was cut by a bound.
    Cut,
    /// It has no whole chunk in common, so nothing but a sample could propose it.
    NotProposed,
}

impl Reason {
    pub(super) const ALL: [Reason; 4] = [Reason::OtherView, Reason::BelowThreshold, Reason::Cut, Reason::NotProposed];

    pub(super) fn words(self) -> &'static str {
        match self {
            Reason::OtherView => "the other view",
            Reason::BelowThreshold => "measured below the threshold",
            Reason::Cut => "a bound: chunks in common",
            Reason::NotProposed => "no candidate: no chunk in common",
        }
    }
}

/// Judges the documents of each site.
pub(super) fn only_here(
    sites: &Sites,
    report: &Report,
    partners: &[Vec<Option<Partner>>],
) -> Result<Vec<SiteJudgement>, Error> {
    let rows: HashMap<&Place, &DocumentRow> = report.documents.iter().map(|row| (&row.place, row)).collect();
    let mut measurer = Measurer::new()?;
    let mut judged = Vec::new();
    for (number, site) in sites.sites.iter().enumerate() {
        let mut counts = SiteJudgement { site: site.name.clone(), ..SiteJudgement::default() };
        for document in &site.documents {
            let content = &sites.contents[document.content];
            if content.counted_bytes() < SMALL_BYTES_MIN {
                continue;
            }
            let is_small = content.counted_bytes() < DOCUMENT_BYTES_MIN;
            counts.documents += usize::from(!is_small);
            let place = Place { site: site.name.clone(), path: document.path.clone() };
            let Some(row) = rows.get(&place) else {
                counts.not_reported += usize::from(!is_small);
                continue;
            };
            // A copy elsewhere is missed as well.
            let copy = sites
                .is_elsewhere(document.content, number)
                .then_some(Partner { content: document.content, share: 1.0 });
            let partner = copy.or(partners[number][document.content]).filter(|partner| partner.share >= LINKED_SHARE);
            if is_small {
                counts.small.add(row, partner);
                continue;
            }
            counts.undecided += usize::from(row.is_undecided());
            if row.has_standard_text() {
                let has_four_fifths = partner.is_some_and(|partner| partner.share >= FOUR_FIFTHS);
                counts.standard_text[0] += 1;
                counts.standard_text[1] += usize::from(has_four_fifths);
            }
            if !row.is_only_here() {
                continue;
            }
            counts.only_here += 1;
            if let Some(partner) = partner {
                let shares =
                    measured(&mut measurer, [document.content, partner.content].map(|number| &sites.contents[number]));
                counts.missed.push(MissedDocument {
                    path: document.path.clone(),
                    bytes: content.bytes.len(),
                    share: partner.share,
                    contents: [document.content, partner.content],
                    partner: sites.example(partner.content, number),
                    reason: shares.as_ref().map_or(Reason::OtherView, MeasuredShares::reason),
                    measured: shares.as_ref().map(|shares| shares.fine),
                });
            }
        }
        judged.push(counts);
    }
    Ok(judged)
}

/// What the chunks of the product measure of a pair: the greater share of the two.
struct MeasuredShares {
    /// By whole chunks.
    whole: f64,
    /// By whole and fine chunks.
    fine: f64,
}

impl MeasuredShares {
    fn reason(&self) -> Reason {
        if self.fine < LINKED_SHARE {
            Reason::BelowThreshold
        } else if self.whole > 0.0 {
            Reason::Cut
        } else {
            Reason::NotProposed
        }
    }
}

/// Measures a pair as a comparison does; none if the two are of two views.
fn measured(measurer: &mut Measurer, [a, b]: [&Content; 2]) -> Option<MeasuredShares> {
    let [whole, .., fine] = ways(a.by_text);
    let mut share = |way| {
        let (of_a, of_b) = (measurer.share(way, &a.bytes, &b.bytes).0, measurer.share(way, &b.bytes, &a.bytes).0);
        of_a.max(of_b)
    };
    (a.by_text == b.by_text).then(|| MeasuredShares { whole: share(whole), fine: share(fine) })
}

/// The pairs that the report links at half and more.
pub(super) struct LinkJudgement {
    pub(super) links: usize,
    /// Those whose true share is below [`FALSE_SHARE`]: the pair and its shares, reported and true.
    pub(super) low: Vec<FalseLink>,
}

/// A pair that truly shares little.
pub(super) struct FalseLink {
    pub(super) of: String,
    pub(super) at: String,
    pub(super) reported: f64,
    pub(super) share: f64,
}

/// Measures all pairs of contents of which the report says that one has half of the other.
pub(super) fn links(setting: &Setting<'_>, sites: &Sites, report: &Report) -> Result<LinkJudgement, Error> {
    let mut contents: HashMap<(&str, &str), usize> = HashMap::new();
    for site in &sites.sites {
        let found =
            site.documents.iter().map(|document| ((site.name.as_str(), document.path.as_str()), document.content));
        contents.extend(found);
    }
    let number = |place: &Place| contents.get(&(place.site.as_str(), place.path.as_str())).copied();
    let mut by_content: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
    for link in report.links.iter().filter(|link| link.share >= LINKED_SHARE) {
        // Documents inside of others have no content here.
        let (Some(of), Some(at)) = (number(&link.of), number(&link.at)) else { continue };
        if of != at && sites.contents[of].by_text == sites.contents[at].by_text {
            by_content.entry(of).or_default().insert(at, link.share);
        }
    }
    let by_content: Vec<(usize, BTreeMap<usize, f64>)> = by_content.into_iter().collect();
    let found = each(by_content.len(), |place| {
        setting.step("measuring links", place, by_content.len())?;
        let (of, others) = &by_content[place];
        let windows = ContentWindows::of(&sites.contents[*of]);
        let shares = others.iter().map(|(at, reported)| (*of, *at, *reported, windows.share(&sites.contents[*at])));
        Ok(shares.filter(|(.., share)| *share < FALSE_SHARE).collect::<Vec<_>>())
    })?;
    let low = found.into_iter().flatten().map(|(of, at, reported, share)| FalseLink {
        of: sites.example(of, usize::MAX),
        at: sites.example(at, usize::MAX),
        reported,
        share,
    });
    Ok(LinkJudgement { links: by_content.iter().map(|(_, others)| others.len()).sum(), low: low.collect() })
}
