//! What two contents have in common, in the terms of reports.

use cognate_fingerprint::{Estimate, Likeness, Method};
use cognate_proto::v1::FindRelation;
use cognate_similarity::{Containment, Relation, Resemblance};

use super::{Least, Measure, Share};
use crate::report::Ratio;

impl Measure {
    /// The same content.
    pub(super) fn identical(size_bytes: u64) -> Measure {
        let whole = Some(Share { ratio: Ratio::of(1, 1), interval: None });
        Measure {
            relation: FindRelation::Identical,
            shared_bytes: Some(size_bytes),
            resemblance: whole,
            sought_in_found: whole,
            found_in_sought: whole,
            estimated: false,
        }
    }

    /// What chunks in common say, exactly. Sizes are payloads.
    pub(super) fn exact(shared_bytes: u64, sought_bytes: u64, found_bytes: u64) -> Measure {
        let relation = match Relation::of(shared_bytes, found_bytes, sought_bytes) {
            Relation::Near => FindRelation::Near,
            Relation::Contains => FindRelation::Contains,
            Relation::Contained => FindRelation::Contained,
            Relation::Shares => FindRelation::Shares,
        };
        let exactly = |part, whole| Some(Share { ratio: Ratio::of(part, whole), interval: None });
        let resemblance = Resemblance::of(shared_bytes, sought_bytes, found_bytes);
        Measure {
            relation,
            shared_bytes: Some(shared_bytes),
            resemblance: exactly(resemblance.shared, resemblance.union),
            sought_in_found: exactly(shared_bytes, sought_bytes),
            found_in_sought: exactly(shared_bytes, found_bytes),
            estimated: false,
        }
    }

    /// What signatures say. The sought one is `a`.
    pub(super) fn estimated(method: &Method, likeness: &Likeness, sought_bytes: u64, found_bytes: u64) -> Measure {
        let Likeness { resemblance, a_in_b, b_in_a, .. } = likeness;
        let reaches = |estimate: &Estimate| Containment::FOUR_FIFTHS.is_reached_by(estimate.agreeing, estimate.sample);
        let relation = match (method.check_containment().is_ok(), resemblance, a_in_b, b_in_a) {
            (_, None, None, None) => FindRelation::Candidate,
            (true, _, Some(a), Some(b)) => match (reaches(a), reaches(b)) {
                (true, true) => FindRelation::Near,
                (true, false) => FindRelation::Contains,
                (false, true) => FindRelation::Contained,
                (false, false) => FindRelation::Shares,
            },
            (_, Some(resemblance), ..) if reaches(resemblance) => FindRelation::Near,
            _ => FindRelation::Shares,
        };
        let part = |estimate: &Estimate, whole: u64| {
            let part = u128::from(estimate.agreeing) * u128::from(whole) / u128::from(estimate.sample.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        let of_both = |estimate: &Estimate| {
            // r (a + b) / (1 + r)
            let sum = sought_bytes.saturating_add(found_bytes);
            let sample = estimate.sample.saturating_add(estimate.agreeing);
            part(&Estimate { sample, ..*estimate }, sum)
        };
        let shared_bytes = a_in_b.as_ref().map(|estimate| part(estimate, sought_bytes));
        let shared_bytes = shared_bytes.or_else(|| resemblance.as_ref().map(of_both));
        let estimates = [resemblance, a_in_b, b_in_a];
        Measure {
            relation,
            shared_bytes,
            resemblance: resemblance.as_ref().map(share),
            sought_in_found: a_in_b.as_ref().map(share),
            found_in_sought: b_in_a.as_ref().map(share),
            estimated: estimates.into_iter().flatten().any(|estimate| !estimate.exact),
        }
    }

    /// Whether it is enough.
    pub(super) fn reaches(&self, least: &Least, sizes: [u64; 2]) -> bool {
        let Least { shared_bytes, containment } = *least;
        let Some(shared) = self.shared_bytes else { return true };
        if self.relation == FindRelation::Identical || (shared_bytes == 0 && containment.is_none()) {
            return true;
        }
        let share = |containment: Containment| match (self.sought_in_found, self.resemblance) {
            // Methods without containment are held against resemblance.
            (None, Some(resemblance)) => {
                let ratio = u64::try_from(resemblance.ratio.0).unwrap_or(0);
                containment.is_reached_by(ratio, 10_000)
            }
            _ => sizes.iter().any(|size| containment.is_reached_by(shared, *size)),
        };
        (shared_bytes > 0 && shared >= shared_bytes) || containment.is_some_and(share)
    }

    /// The order in which matches are told: the stronger is the greater.
    pub(super) fn rank(&self) -> (bool, u64, Option<Share>) {
        (self.relation == FindRelation::Identical, self.shared_bytes.unwrap_or(0), self.resemblance)
    }
}

fn share(estimate: &Estimate) -> Share {
    let [low, high] = estimate.interval.map(rounded);
    let interval = (!estimate.exact).then_some([low, high]);
    Share { ratio: Ratio::of(estimate.agreeing, estimate.sample), interval }
}

#[expect(clippy::cast_possible_truncation, reason = "a share lies between 0 and 1")]
fn rounded(share: f64) -> Ratio {
    Ratio((share * 10_000.0).round() as i64)
}
