//! Pairs that are worth a comparison one by one, and its outcome, for methods whose features do not add up.
//!
//! A fixed number of samples represents a document of any size, so that weights do not show how much is shared. The
//! engine finds the pairs that have enough features in common to be links at all; the features of both are read again, and
//! the estimator says what they are.
use std::sync::Mutex;

use cognate_fingerprint::{Agreement, Feature, Verification, cosine_of_features};
use cognate_similarity::{ContentIndex, Input, Link, Monitor, Options, Thresholds, find_links};

use crate::clusters::collect;
use crate::compare::Task;
use crate::error::Error;
use crate::second::{indexes_of, is_near};
use crate::spec::{Comparison, Layer};
use crate::verify::{PairOutcome, VerifiedPair, is_link};

/// Compares a pair by the features of its two contents.
type Look<'a> = dyn Fn(&[Feature], &[Feature]) -> Option<PairOutcome> + Sync + 'a;

impl Task<'_> {
    /// The pairs that the method proposes, by (a, b).
    pub(crate) fn candidates(&self) -> Result<Vec<(u32, u32)>, Error> {
        let min_shared_bytes = match self.scan.spec.comparison(self.layer) {
            // Of samples of one size, the share of the smaller bounds the share of both from above.
            Comparison::Signatures { has_containment: false } => u64::MAX,
            // If they are cut to a common level first, or only propose, a single feature may be enough.
            _ => 1,
        };
        let found = self.links(Thresholds { min_shared_bytes, ..self.thresholds })?;
        let found: Vec<(u32, u32)> = found.into_iter().map(|link| (link.a.0, link.b.0)).collect();
        tracing::info!(candidates = found.len(), "proposed");
        Ok(found)
    }

    /// The links among the candidates, by what their signatures have in common.
    pub(crate) fn estimated(&self) -> Result<Vec<VerifiedPair>, Error> {
        let Layer { method, thresholds, .. } = &self.scan.spec.layers[self.layer];
        let mut found = self.looked_at(&self.candidates()?, &|a, b| match method.agreement(a, b)? {
            Agreement::Sample { agreeing, sample, whole } => Some(PairOutcome::Sample { agreeing, sample, whole }),
            Agreement::Sets { common, a, b, whole } => Some(PairOutcome::Sets { common, a, b, whole }),
        })?;
        found.retain(|verified| is_link(&self.measured(verified), thresholds));
        Ok(found)
    }

    /// The links among what the method proposes, by what was read again: `numbers` has its contents as they are numbered
    /// here.
    pub(crate) fn verified(
        &self,
        again: &Task<'_>,
        numbers: &[Option<u32>],
        verification: Verification,
    ) -> Result<Vec<VerifiedPair>, Error> {
        let layer = &self.scan.spec.layers[self.layer];
        let number = |content: ContentIndex| numbers[content.0 as usize];
        let mut found = match verification {
            Verification::Chunks => {
                let indexes = indexes_of(&self.subject.frozen.shards, self.subject.frozen.contents.len())?;
                let index = |content: u32| indexes[content as usize];
                let weight = |content: ContentIndex| again.subject.frozen.contents[content.0 as usize].weight;
                let links = again.links(layer.thresholds)?.into_iter();
                let verified = links.filter_map(|Link { a, b, shared_bytes: shared }| {
                    let (here_a, here_b) = (number(a)?, number(b)?);
                    let found = PairOutcome::Chunks { shared, a: weight(a), b: weight(b) };
                    is_near(index(here_a)?, index(here_b)?).then(|| VerifiedPair::of(here_a, here_b, found))
                });
                verified.collect::<Vec<_>>()
            }
            Verification::Cosine => {
                let mut there = vec![None; self.subject.frozen.contents.len()];
                for (content, here) in (0..).zip(numbers).filter_map(|(content, here)| Some((content, (*here)?))) {
                    there[here as usize] = Some(content);
                }
                let candidates = self.candidates()?.into_iter();
                let mut candidates: Vec<(u32, u32)> = candidates
                    .filter_map(|(a, b)| {
                        let (a, b): (u32, u32) = (there[a as usize]?, there[b as usize]?);
                        Some((a.min(b), a.max(b)))
                    })
                    .collect();
                candidates.sort_unstable();
                let found = again.looked_at(&candidates, &|a, b| cosine_of_features(a, b).map(millionths))?;
                let here = |one: VerifiedPair| Some(VerifiedPair::of(number(one.a)?, number(one.b)?, one.found));
                found.into_iter().filter_map(here).collect()
            }
        };
        found.retain(|verified| is_link(&self.measured(verified), &layer.thresholds));
        found.sort_unstable_by_key(|verified| (verified.a, verified.b));
        Ok(found)
    }

    /// All links by what the engine weighs.
    fn links(&self, thresholds: Thresholds) -> Result<Vec<Link>, Error> {
        let found: Mutex<Vec<Link>> = Mutex::default();
        let keep = |links: &[Link]| collect(&found, links, self.scan.spec.memory_budget_bytes);
        let report = |now| self.report(now);
        let monitor = Monitor { progress: &report, cancelled: &self.scan.cancelled };
        let options = Options { thresholds, ..self.options() };
        let input = Input { levels: &[], ..self.subject.input() };
        find_links(&self.subject.frozen.shards, &input, &options, &monitor, &keep)?;
        let mut found = found.into_inner().expect("nothing panicked while it was held");
        found.sort_unstable();
        Ok(found)
    }

    fn measured(&self, verified: &VerifiedPair) -> crate::link_figures::LinkFigures {
        let size = |content: ContentIndex| self.subject.frozen.contents[content.0 as usize].size_bytes;
        verified.measured(size(verified.a), size(verified.b))
    }

    /// Has every candidate looked at, by the features of its two contents.
    pub(crate) fn looked_at(&self, candidates: &[(u32, u32)], look: &Look<'_>) -> Result<Vec<VerifiedPair>, Error> {
        let found = self.each_pair(candidates, Vec::new, &|found: &mut Vec<VerifiedPair>, (a, b), of_a, of_b| {
            let one = look(of_a, of_b).map(|found| VerifiedPair { a: ContentIndex(a), b: ContentIndex(b), found });
            found.extend(one);
            Ok(())
        })?;
        let mut all: Vec<VerifiedPair> = found.into_iter().flatten().collect();
        all.sort_unstable_by_key(|verified| (verified.a, verified.b));
        Ok(all)
    }
}

/// A cosine as it is stored.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cosine of counts is 0 to 1")]
fn millionths(cosine: f64) -> PairOutcome {
    PairOutcome::Cosine((cosine * 1e6).round() as u32)
}
