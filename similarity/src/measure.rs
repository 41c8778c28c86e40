//! Exact measures of a pair, and the relations that follow from them.
//!
//! Sizes are payloads (bytes less template bytes). Every comparison is between integers.

use std::cmp::Ordering;

use crate::threshold::Containment;

/// The fraction shared / union of two contents, unreduced.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Resemblance {
    /// Bytes that both hold.
    pub shared: u64,
    /// Bytes that either holds.
    pub union: u64,
}

impl Resemblance {
    /// The resemblance of two contents by their payloads and what they share.
    #[inline]
    pub fn of(shared_bytes: u64, a_payload_bytes: u64, b_payload_bytes: u64) -> Resemblance {
        if let Some(sum) = a_payload_bytes.checked_add(b_payload_bytes)
            && sum > shared_bytes
            && sum - shared_bytes >= shared_bytes
        {
            return Resemblance { shared: shared_bytes, union: sum - shared_bytes };
        }
        // Payloads smaller than the shared bytes contradict the postings; the fraction then stays defined.
        let union = (u128::from(a_payload_bytes) + u128::from(b_payload_bytes))
            .saturating_sub(u128::from(shared_bytes))
            .max(u128::from(shared_bytes))
            .max(1);
        Resemblance { shared: shared_bytes, union: u64::try_from(union).unwrap_or(u64::MAX) }
    }

    /// True if the two belong in one family: resemblance at least four fifths.
    pub fn is_near(self) -> bool {
        Containment::FOUR_FIFTHS.is_reached_by(self.shared, self.union)
    }

    /// One in the units of [`to_fixed`](Resemblance::to_fixed).
    pub(crate) const FIXED_ONE: u64 = 1 << 32;

    /// The fraction in units of 2^-32, rounded from the nearest floating point number, which is the same on every
    /// machine: sums of these do not depend on their order.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction is at most one")]
    pub(crate) fn to_fixed(self) -> u64 {
        (self.to_f64() * Self::FIXED_ONE as f64 + 0.5) as u64
    }

    /// The fraction as the nearest floating point number, for showing.
    pub fn to_f64(self) -> f64 {
        self.shared as f64 / self.union as f64
    }
}

/// By value; equal values by their parts, so that the least of several is one certain fraction.
impl Ord for Resemblance {
    fn cmp(&self, other: &Resemblance) -> Ordering {
        let left = u128::from(self.shared) * u128::from(other.union);
        let right = u128::from(other.shared) * u128::from(self.union);
        left.cmp(&right).then(self.shared.cmp(&other.shared)).then(self.union.cmp(&other.union))
    }
}

impl PartialOrd for Resemblance {
    fn partial_cmp(&self, other: &Resemblance) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The relation of two linked contents a and b.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// Each holds at least four fifths of the other.
    Near,
    /// Only b is contained in a.
    Contains,
    /// Only a is contained in b.
    Contained,
    /// Neither is contained in the other.
    Shares,
}

impl Relation {
    /// The relation of a to b.
    pub fn of(shared_bytes: u64, a_payload_bytes: u64, b_payload_bytes: u64) -> Relation {
        let a_in_b = Containment::FOUR_FIFTHS.is_reached_by(shared_bytes, a_payload_bytes);
        let b_in_a = Containment::FOUR_FIFTHS.is_reached_by(shared_bytes, b_payload_bytes);
        match (a_in_b, b_in_a) {
            (true, true) => Relation::Near,
            (false, true) => Relation::Contains,
            (true, false) => Relation::Contained,
            (false, false) => Relation::Shares,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn relations_turn_exactly_at_four_fifths() {
        for (shared, a, b, relation) in [
            (80, 100, 100, Relation::Near),
            (79, 100, 100, Relation::Shares),
            (80, 100, 101, Relation::Contained),
            (80, 101, 100, Relation::Contains),
            (8, 10, 1_000_000, Relation::Contained),
        ] {
            assert_eq!(Relation::of(shared, a, b), relation, "{shared} {a} {b}");
        }
    }

    #[test]
    fn families_turn_exactly_at_four_fifths_of_the_union() {
        assert!(Resemblance::of(80, 90, 90).is_near());
        assert!(!Resemblance::of(80, 90, 91).is_near());
    }

    #[test]
    fn resemblances_are_ordered_by_value_not_by_their_parts() {
        let half = Resemblance { shared: 1, union: 2 };
        let same = Resemblance { shared: 2, union: 4 };
        let less = Resemblance { shared: 499, union: 1000 };
        assert!(less < half && half < same && less < same);
    }

    #[test]
    fn a_resemblance_stays_defined_where_payloads_contradict_the_shared_bytes() {
        for (shared, a, b, expected) in [
            (0, 0, 0, (0, 1)),
            (10, 10, 10, (10, 10)),
            (10, 20, 10, (10, 20)),
            (10, 5, 5, (10, 10)),
            (10, 0, 0, (10, 10)),
            (u64::MAX, u64::MAX, u64::MAX, (u64::MAX, u64::MAX)),
            (1, u64::MAX, u64::MAX, (1, u64::MAX)),
        ] {
            let resemblance = Resemblance::of(shared, a, b);
            assert_eq!((resemblance.shared, resemblance.union), expected, "{shared} {a} {b}");
            assert!(resemblance.to_fixed() <= Resemblance::FIXED_ONE);
        }
    }

    proptest! {
        #[test]
        fn resemblance_is_symmetric_and_in_order_in_either_form(
            x in (0u64..1000, 1u64..1000),
            y in (0u64..1000, 1u64..1000),
            shared in 0u64..500,
            a in 0u64..2000,
            b in 0u64..2000,
        ) {
            prop_assert_eq!(Resemblance::of(shared, a, b), Resemblance::of(shared, b, a));
            let resemblance = |(shared, more): (u64, u64)| Resemblance { shared, union: shared + more };
            let (x, y) = (resemblance(x), resemblance(y));
            if x.to_fixed() < y.to_fixed() {
                prop_assert!(x < y);
            }
            prop_assert_eq!(x.cmp(&y), y.cmp(&x).reverse());
            prop_assert_eq!(x.is_near(), x.shared * 10 >= x.union * 8);
        }

        #[test]
        fn a_relation_turns_around_with_its_contents(shared in 0u64..200, a in 1u64..300, b in 1u64..300) {
            let reversed = match Relation::of(shared, a, b) {
                Relation::Contains => Relation::Contained,
                Relation::Contained => Relation::Contains,
                same => same,
            };
            prop_assert_eq!(Relation::of(shared, b, a), reversed);
        }
    }
}
