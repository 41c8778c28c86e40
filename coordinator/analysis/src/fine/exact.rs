//! The expected error of reported shares: for a sample of pairs, what is reported against what a site counts in the documents.

use std::collections::BTreeMap;

use cognate_proto::measure::ContentPair;

use super::answers::Answers;
use super::links::MeasuredPair;
use super::placed::placed_pairs;
use super::sample::{SampledPair, Sampling};
use super::wanted::compared;
use super::{FineFailure, FineRound, MeasureAnswer, MeasureRequest};
use crate::alignment::Alignment;
use crate::clusters::Links;
use crate::compare::Task;
use crate::error::Error;
use crate::threads::next_to_sites;

/// The pairs of a layer that were measured exactly, and the sites that were asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExactFigures {
    /// In the order of the sample.
    pub(crate) pairs: Vec<ExactPair>,
    /// Sites with pairs of the sample, by their numbers.
    pub(crate) sites: Vec<ExactSite>,
}

/// A pair that is a link, or truly shares enough to be one: of any other nothing is reported, and nothing was missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExactPair {
    /// The bytes of the two contents.
    pub(crate) size_bytes: [u64; 2],
    /// The bytes in common, as reported.
    pub(crate) reported_bytes: u64,
    /// The bytes of each that the other has, as counted.
    pub(crate) true_bytes: [u64; 2],
}

/// A site that has pairs of the sample.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExactSite {
    /// The number of the site.
    pub(crate) site: u16,
    /// Its pairs of the sample.
    pub(crate) sampled_pairs: u64,
    /// Of these, pairs that it measured, now or for an earlier scan.
    pub(crate) measured_pairs: u64,
    /// The reason why it measured no more.
    pub(crate) failure: Option<FineFailure>,
    /// Bytes of documents that it read now.
    pub(crate) read_bytes: u64,
}

/// A site, and the pairs of the sample that it is asked for.
#[derive(Default)]
struct SiteQuestion<'s> {
    site: ExactSite,
    pairs: Vec<&'s SampledPair>,
}

/// By the number of a site, the reason why it gave no answer to an earlier request of this scan.
pub(super) type Failures = BTreeMap<u16, FineFailure>;

/// The counts of the sites, and the sites with pairs of the sample.
pub(super) struct SiteCounts {
    answers: Answers,
    sites: Vec<ExactSite>,
}

impl Task<'_> {
    /// Has a sample measured exactly where pairs are compared by whole chunks alone. `align` finds the alignment, if there can be pairs
    /// at one place for which it counts.
    pub(crate) fn coarse_exact(
        &self,
        coarse: &Links,
        align: impl FnOnce() -> Result<Alignment, Error>,
        round: &FineRound<'_>,
    ) -> Result<ExactFigures, Error> {
        let mut sampling = Sampling::of(self.subject);
        let placed = match sampling.takes_places() {
            true => placed_pairs(self.subject, &align()?),
            false => Vec::new(),
        };
        let sharing = self.sharing_pairs(coarse)?;
        [&sharing.taken, &sharing.complete, &placed].into_iter().for_each(|pairs| sampling.add_all(pairs));
        let sample = sampling.finish();
        let spec = &self.scan.spec;
        let count = || self.measures(&sample, &Failures::new(), round);
        let report = || self.reported(&sample, &[]);
        let (counted, reported) = next_to_sites(spec.in_process, spec.threads, count, report)?;
        Ok(self.exact(&sample, &reported, counted))
    }

    /// Compares what sites counted with what is [reported](Task::reported).
    pub(super) fn exact(&self, sample: &[SampledPair], reported: &[MeasuredPair], counts: SiteCounts) -> ExactFigures {
        let SiteCounts { answers, sites } = counts;
        let pair = |(sampled, reported): (&SampledPair, &MeasuredPair)| {
            let true_bytes = answers.get(&self.at_sites(sampled))?;
            self.exact_pair(sampled, reported, true_bytes)
        };
        let figures = ExactFigures { pairs: sample.iter().zip(reported).filter_map(pair).collect(), sites };
        tracing::info!(sampled = sample.len(), counted = figures.pairs.len(), "measured exactly");
        figures
    }

    /// The digests by which the sites know the contents of a pair.
    fn at_sites(&self, pair: &SampledPair) -> ContentPair {
        let frozen = self.subject.frozen;
        [pair.a, pair.b].map(|content| frozen.digest_at_site(&frozen.contents[content as usize]))
    }

    /// The pairs of the sample as the comparison reports them. `measured` are the pairs that fine chunks measured, ascending; all others have
    /// the figures of whole chunks.
    pub(super) fn reported(
        &self,
        sample: &[SampledPair],
        measured: &[MeasuredPair],
    ) -> Result<Vec<MeasuredPair>, Error> {
        let known = |a, b| {
            let place = measured.binary_search_by_key(&(a, b), MeasuredPair::contents);
            place.ok().map(|place| measured[place])
        };
        let others: Vec<(u32, u32)> =
            sample.iter().map(|pair| (pair.a, pair.b)).filter(|(a, b)| known(*a, *b).is_none()).collect();
        let compared = self.each_pair(&others, Vec::new, &|found: &mut Vec<MeasuredPair>, (a, b), of_a, of_b| {
            found.push(MeasuredPair::by_chunks(a, b, compared(of_a, of_b).shared_bytes));
            Ok(())
        })?;
        let compared: BTreeMap<(u32, u32), MeasuredPair> =
            compared.into_iter().flatten().map(|pair| (pair.contents(), pair)).collect();
        let of_pair = |pair: &SampledPair| known(pair.a, pair.b).unwrap_or_else(|| compared[&(pair.a, pair.b)]);
        Ok(sample.iter().map(of_pair).collect())
    }

    fn exact_pair(&self, sampled: &SampledPair, reported: &MeasuredPair, true_bytes: [u64; 2]) -> Option<ExactPair> {
        let size = |content: u32| self.subject.frozen.contents[content as usize].size_bytes;
        let size_bytes = [size(sampled.a), size(sampled.b)];
        let smaller = usize::from(size_bytes[1] < size_bytes[0]);
        let containment = self.scan.spec.layers[self.layer].thresholds.min_containment;
        let is_truly_one = containment.is_reached_by(true_bytes[smaller], size_bytes[smaller]);
        let counts = is_truly_one || self.link_of(reported, &[]).is_some();
        counts.then(|| ExactPair { size_bytes, reported_bytes: reported.shared_bytes(), true_bytes })
    }

    /// The exact measures of the sample: those of earlier scans, and what the sites count now. A site that did not answer a moment ago is not
    /// waited for again.
    pub(super) fn measures(
        &self,
        sample: &[SampledPair],
        failures: &Failures,
        round: &FineRound<'_>,
    ) -> Result<SiteCounts, Error> {
        let mut earlier = Answers::default();
        for files in round.earlier.iter().filter(|files| files.answers.is_file()) {
            match Answers::read(&files.answers) {
                Ok(answers) => earlier.keep(&answers),
                Err(error) => tracing::info!(%error, "the exact measures of an earlier scan are not used"),
            }
        }
        let mut answers = Answers::default();
        let mut sites: BTreeMap<u16, SiteQuestion<'_>> = BTreeMap::new();
        for pair in sample {
            let SiteQuestion { site, pairs } = sites.entry(pair.site).or_default();
            site.site = pair.site;
            site.sampled_pairs += 1;
            match earlier.get(&self.at_sites(pair)) {
                Some(known) => {
                    site.measured_pairs += 1;
                    answers.insert(self.at_sites(pair), known);
                }
                None => pairs.push(pair),
            }
        }
        let mut asked: Vec<&mut SiteQuestion<'_>> = sites.values_mut().filter(|site| !site.pairs.is_empty()).collect();
        asked.iter_mut().for_each(|question| question.site.failure = failures.get(&question.site.site).cloned());
        asked.retain(|question| question.site.failure.is_none());
        self.ask_measures(&mut asked, round, &mut answers);
        if round.keeps_earlier {
            answers.keep(&earlier);
        }
        answers.write(&round.files.answers, round.durable)?;
        Ok(SiteCounts { answers, sites: sites.into_values().map(|question| question.site).collect() })
    }

    /// Asks all these sites at the same time.
    fn ask_measures(&self, asked: &mut [&mut SiteQuestion<'_>], round: &FineRound<'_>, answers: &mut Answers) {
        if asked.is_empty() {
            return;
        }
        let requests = asked.iter().map(|one| self.measure_request(one.site.site, &one.pairs, round)).collect();
        for (question, answer) in asked.iter_mut().zip(round.source.measure(requests)) {
            let SiteQuestion { site, pairs } = &mut **question;
            let answer = answer.and_then(|answer| self.checked(answer, pairs));
            match answer {
                Err(failure) => site.failure = Some(failure),
                Ok(answer) => {
                    site.read_bytes = answer.read_bytes;
                    site.measured_pairs += answer.measures.len() as u64;
                    for measure in &answer.measures {
                        answers.insert(self.at_sites(pairs[measure.number]), measure.shared_bytes);
                    }
                }
            }
        }
    }

    /// The request to a site, with its repositories that have any of the contents.
    fn measure_request(&self, site: u16, pairs: &[&SampledPair], round: &FineRound<'_>) -> MeasureRequest {
        let frozen = self.subject.frozen;
        let contents = pairs.iter().flat_map(|pair| [pair.a, pair.b]);
        let copies =
            contents.flat_map(|content| self.subject.copies.of_content(crate::subject::index(content as usize)));
        let mut roots: Vec<u16> = copies.map(|copy| frozen.root_of(*copy)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots.retain(|root| frozen.roots[usize::from(*root)].site_number == site);
        let root = |root: &u16| &frozen.roots[usize::from(*root)];
        MeasureRequest {
            site: root(&roots[0]).site.clone(),
            repositories: roots.iter().map(|number| root(number).repository.clone()).collect(),
            method: self.scan.spec.layers[self.layer].method,
            method_id: round.method_id,
            pairs: pairs.iter().map(|pair| self.at_sites(pair)).collect(),
        }
    }

    /// Refuses counts that are larger than the contents.
    fn checked(&self, answer: MeasureAnswer, pairs: &[&SampledPair]) -> Result<MeasureAnswer, FineFailure> {
        let size = |content: u32| self.subject.frozen.contents[content as usize].size_bytes;
        let fits = answer.measures.iter().all(|measure| {
            let [of_a, of_b] = measure.shared_bytes;
            pairs.get(measure.number).is_some_and(|pair| of_a <= size(pair.a) && of_b <= size(pair.b))
        });
        if fits { Ok(answer) } else { Err(FineFailure::passing("its counts do not fit its contents")) }
    }
}
