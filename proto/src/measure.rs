//! The exact measure on the wire: the pairs of contents that a site is asked about, and its counts, both checked on arrival.

use cognate_fingerprint::ContentDigest;

use crate::limits::{MEASURE_CONTENT_BYTES_MAX, MEASURE_PAIRS_MAX};
use crate::v1;

/// The length of a digest.
const ID_BYTES: usize = 16;

/// Two contents that a site sent.
pub type ContentPair = [ContentDigest; 2];

/// The counts of a pair: the bytes of the first content in windows of 32 bytes that occur in the second, and the reverse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairMeasure {
    /// The place of the pair in the query, from 0.
    pub number: usize,
    /// The bytes of each that are in the other; 0 of both, or of none.
    pub shared_bytes: [u64; 2],
}

/// The error of a message about the exact measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MeasureError {
    /// The contents are no list of pairs.
    #[error("contents that are not in pairs")]
    Length,
    /// There are no pairs, or more than a query may have.
    #[error("a number of pairs from 1 to {MEASURE_PAIRS_MAX} is allowed")]
    Count,
    /// A count is of no pair of the query, out of order, larger than a content may be, or of one of the two alone.
    #[error("counts that cannot be those of the pairs")]
    Counts,
}

/// The pairs as a query has them.
pub fn pack_pairs(pairs: &[ContentPair]) -> Vec<u8> {
    pairs.iter().flatten().flat_map(|digest| digest.0).collect()
}

/// The pairs of a received query.
///
/// # Errors
/// If the list is empty, too long, or ends within a pair.
pub fn unpack_pairs(bytes: &[u8]) -> Result<Vec<ContentPair>, MeasureError> {
    let (digests, rest) = bytes.as_chunks::<ID_BYTES>();
    let (pairs, alone) = digests.as_chunks::<2>();
    if !rest.is_empty() || !alone.is_empty() {
        return Err(MeasureError::Length);
    }
    if pairs.is_empty() || pairs.len() > MEASURE_PAIRS_MAX {
        return Err(MeasureError::Count);
    }
    Ok(pairs.iter().map(|pair| pair.map(ContentDigest)).collect())
}

/// The counts of a received answer to a query about `pairs` pairs.
///
/// # Errors
/// If they cannot be the counts of these pairs.
pub fn unpack_measures(answer: &v1::MeasureAnswer, pairs: usize) -> Result<Vec<PairMeasure>, MeasureError> {
    let mut next = 0;
    let mut measures = Vec::with_capacity(answer.pairs.len().min(pairs));
    for v1::PairMeasure { number, first_bytes, second_bytes } in &answer.pairs {
        let number = usize::try_from(*number).map_err(|_| MeasureError::Counts)?;
        let most = (*first_bytes).max(*second_bytes);
        if number < next
            || number >= pairs
            || most > MEASURE_CONTENT_BYTES_MAX
            || (*first_bytes == 0) != (*second_bytes == 0)
        {
            return Err(MeasureError::Counts);
        }
        measures.push(PairMeasure { number, shared_bytes: [*first_bytes, *second_bytes] });
        next = number + 1;
    }
    Ok(measures)
}

impl From<PairMeasure> for v1::PairMeasure {
    fn from(measure: PairMeasure) -> v1::PairMeasure {
        let [first_bytes, second_bytes] = measure.shared_bytes;
        let number = u32::try_from(measure.number).expect("a query has few pairs");
        v1::PairMeasure { number, first_bytes, second_bytes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(count: u8) -> Vec<ContentPair> {
        (0..count).map(|number| [number, 200 - number].map(|byte| ContentDigest([byte; 16]))).collect()
    }

    #[test]
    fn pairs_arrive_as_they_were_sent() {
        for count in [1, 2, 64] {
            assert_eq!(unpack_pairs(&pack_pairs(&pairs(count))), Ok(pairs(count)));
        }
        let bytes = pack_pairs(&pairs(2));
        for (received, error) in [
            (&bytes[..63], MeasureError::Length),
            (&bytes[..48], MeasureError::Length),
            (&[][..], MeasureError::Count),
            (&pack_pairs(&pairs(65)), MeasureError::Count),
        ] {
            assert_eq!(unpack_pairs(received), Err(error), "{} bytes", received.len());
        }
    }

    #[test]
    fn counts_that_cannot_be_those_of_the_pairs_are_refused() {
        let measure = |number, first_bytes, second_bytes| v1::PairMeasure { number, first_bytes, second_bytes };
        let check = |rows: &[v1::PairMeasure], expected: Result<usize, MeasureError>| {
            let answer = v1::MeasureAnswer { pairs: rows.to_vec(), ..v1::MeasureAnswer::default() };
            assert_eq!(unpack_measures(&answer, 3).map(|measures| measures.len()), expected, "{rows:?}");
        };
        check(&[], Ok(0));
        check(&[measure(0, 40, 36), measure(2, 0, 0)], Ok(2));
        check(&[measure(3, 40, 36)], Err(MeasureError::Counts));
        check(&[measure(1, 40, 36), measure(1, 40, 36)], Err(MeasureError::Counts));
        check(&[measure(1, 40, 36), measure(0, 40, 36)], Err(MeasureError::Counts));
        check(&[measure(0, 40, 0)], Err(MeasureError::Counts));
        check(&[measure(0, MEASURE_CONTENT_BYTES_MAX + 1, 40)], Err(MeasureError::Counts));
        let own = PairMeasure { number: 2, shared_bytes: [40, 36] };
        let answer = v1::MeasureAnswer { pairs: vec![own.into()], ..v1::MeasureAnswer::default() };
        assert_eq!(unpack_measures(&answer, 3), Ok(vec![own]));
    }

    proptest! {
        #[test]
        fn counts_of_a_stranger_are_refused_or_are_one_for_each_named_pair(
            rows in prop::collection::vec(
                (0..6_u32, prop_oneof![Just(0), 1..99_u64, Just(MEASURE_CONTENT_BYTES_MAX), any::<u64>()], any::<bool>()),
                0..5,
            ),
            pairs in 0..6_usize,
        ) {
            let row = |&(number, first_bytes, same): &(u32, u64, bool)| v1::PairMeasure {
                number,
                first_bytes,
                second_bytes: if same { first_bytes } else { 1 },
            };
            let answer = v1::MeasureAnswer { pairs: rows.iter().map(row).collect(), ..v1::MeasureAnswer::default() };
            if let Ok(measures) = unpack_measures(&answer, pairs) {
                prop_assert!(measures.is_sorted_by(|one, next| one.number < next.number));
                prop_assert!(measures.iter().all(|measure| measure.number < pairs));
                prop_assert!(measures.iter().flat_map(|measure| measure.shared_bytes).all(|most| most <= MEASURE_CONTENT_BYTES_MAX));
                let again: Vec<v1::PairMeasure> = measures.into_iter().map(Into::into).collect();
                prop_assert_eq!(again, answer.pairs);
            }
        }
    }
}
