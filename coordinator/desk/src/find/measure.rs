//! The overlap of two contents, in the terms of reports.

use cognate_fingerprint::{Agreement, Method, interval_of_selected, within_tenth};
use cognate_proto::v1::FindRelation;
use cognate_similarity::{Containment, Relation, Resemblance};

use super::{Least, Measure, Share};
use cognate_result::report::Ratio;

impl Measure {
    /// The same content.
    pub fn identical(size_bytes: u64) -> Measure {
        let whole = Some(Share::of(Ratio::of(1, 1)));
        Measure {
            relation: FindRelation::Identical,
            shared_bytes: Some(size_bytes),
            resemblance: whole,
            sought_in_found: whole,
            found_in_sought: whole,
            estimated: false,
        }
    }

    /// The method proposes it without a measure.
    pub fn candidate() -> Measure {
        Measure {
            relation: FindRelation::Candidate,
            shared_bytes: None,
            resemblance: None,
            sought_in_found: None,
            found_in_sought: None,
            estimated: false,
        }
    }

    /// The exact overlap from chunks in common. Sizes are payloads.
    pub fn exact(shared_bytes: u64, query_bytes: u64, match_bytes: u64) -> Measure {
        let relation = match Relation::of(shared_bytes, match_bytes, query_bytes) {
            Relation::Near => FindRelation::Near,
            Relation::Contains => FindRelation::Contains,
            Relation::Contained => FindRelation::Contained,
            Relation::Shares => FindRelation::Shares,
        };
        let exactly = |part, whole| Some(Share::of(Ratio::of(part, whole)));
        let resemblance = Resemblance::of(shared_bytes, query_bytes, match_bytes);
        Measure {
            relation,
            shared_bytes: Some(shared_bytes),
            resemblance: exactly(resemblance.shared, resemblance.union),
            sought_in_found: exactly(shared_bytes, query_bytes),
            found_in_sought: exactly(shared_bytes, match_bytes),
            estimated: false,
        }
    }

    /// The agreement of two samples under a method, that of the query first, and the sizes of their documents.
    pub fn sampled(method: &Method, agreement: &Agreement, [query_bytes, match_bytes]: [u64; 2]) -> Measure {
        let has_interval = method.capabilities().interval;
        let share = |part: u64, whole: u64, is_all: bool| {
            let interval = has_interval && !is_all && whole > 0;
            Share {
                ratio: Ratio::of(part, whole),
                interval: interval.then(|| interval_of_selected(part, whole).map(rounded)),
                within_tenth: interval.then(|| rounded(within_tenth(part, whole))),
            }
        };
        let reaches = |part, whole| Containment::FOUR_FIFTHS.is_reached_by(part, whole);
        match *agreement {
            Agreement::Sets { common, a, b, whole } => {
                let relation = match (reaches(common, a), reaches(common, b)) {
                    (true, true) => FindRelation::Near,
                    (true, false) => FindRelation::Contains,
                    (false, true) => FindRelation::Contained,
                    (false, false) => FindRelation::Shares,
                };
                Measure {
                    relation,
                    shared_bytes: Some(part_of(common, a, query_bytes)),
                    resemblance: Some(share(common, a + b - common, whole)),
                    sought_in_found: Some(share(common, a, whole)),
                    found_in_sought: Some(share(common, b, whole)),
                    estimated: !whole,
                }
            }
            Agreement::Sample { agreeing, sample, whole } => Measure {
                relation: if reaches(agreeing, sample) { FindRelation::Near } else { FindRelation::Shares },
                // r (a + b) / (1 + r)
                shared_bytes: Some(part_of(agreeing, sample + agreeing, query_bytes.saturating_add(match_bytes))),
                resemblance: Some(share(agreeing, sample, whole)),
                sought_in_found: None,
                found_in_sought: None,
                estimated: !whole,
            },
        }
    }

    /// The cosine of the angle between the words of two texts, and the sizes of both.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cosine of counts is 0 to 1")]
    pub fn of_cosine(cosine: f64, [query_bytes, match_bytes]: [u64; 2]) -> Measure {
        let (part, whole) = ((cosine * 1e6).round() as u64, 1_000_000);
        let is_near = Containment::FOUR_FIFTHS.is_reached_by(part, whole);
        Measure {
            relation: if is_near { FindRelation::Near } else { FindRelation::Shares },
            // r (a + b) / (1 + r), as for any resemblance.
            shared_bytes: Some(part_of(part, whole + part, query_bytes.saturating_add(match_bytes))),
            resemblance: Some(Share::of(Ratio::of(part, whole))),
            sought_in_found: None,
            found_in_sought: None,
            estimated: true,
        }
    }

    /// True if it is enough for the query.
    pub fn reaches(&self, least: &Least, sizes: [u64; 2]) -> bool {
        let Least { shared_bytes, containment } = *least;
        let Some(shared) = self.shared_bytes else { return true };
        if self.relation == FindRelation::Identical || (shared_bytes == 0 && containment.is_none()) {
            return true;
        }
        let share = |containment: Containment| match (self.sought_in_found, self.resemblance) {
            // For methods without containment, the threshold applies to resemblance.
            (None, Some(resemblance)) => {
                let ratio = u64::try_from(resemblance.ratio.0).unwrap_or(0);
                containment.is_reached_by(ratio, 10_000)
            }
            _ => sizes.iter().any(|size| containment.is_reached_by(shared, *size)),
        };
        (shared_bytes > 0 && shared >= shared_bytes) || containment.is_some_and(share)
    }

    /// The order in which matches are listed: the stronger is the greater.
    pub fn rank(&self) -> (bool, u64, Option<Share>) {
        (self.relation == FindRelation::Identical, self.shared_bytes.unwrap_or(0), self.resemblance)
    }
}

/// This part of so many bytes.
fn part_of(part: u64, whole: u64, bytes: u64) -> u64 {
    let product = u128::from(part) * u128::from(bytes) / u128::from(whole.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "a share is between 0 and 1")]
fn rounded(share: f64) -> Ratio {
    Ratio((share * 10_000.0).round() as i64)
}
