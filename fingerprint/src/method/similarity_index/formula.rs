//! The 164 formulas of the paper: 14 ways to make a number from hashes, three streams, four variations.

use std::fmt;

/// The elements that a document is a stream of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// The letters and digits of the words, without spaces.
    Characters,
    /// The words.
    Words,
    /// The Soundex codes of the words.
    Soundex,
}

/// The elements that are left out of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variation {
    /// Nothing.
    A,
    /// Stop words.
    B,
    /// Vowels (of a stream of characters) or repeated words.
    C,
    /// Stop words, and vowels or repeated words.
    D,
}

/// One of the paper's 14 ways to make the number, with its stream and variation: `43B`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Formula {
    /// The number of the way, 1 to 14.
    pub number: u8,
    /// The elements that it reads.
    pub stream: Stream,
    /// The elements that it leaves out.
    pub variation: Variation,
}

/// The hashes that are selected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    All,
    Modulus,
    Winnowing,
    Lowest,
    Highest,
    RandomThird,
}

impl Formula {
    /// The formula used if none is given: the paper's best, `43B`.
    pub(crate) const DEFAULT: Formula = Formula { number: 3, stream: Stream::Soundex, variation: Variation::B };

    /// Reads a tracking number and a variation, as `43B`; `None` if the paper has no such formula.
    pub fn parse(text: &str) -> Option<Formula> {
        let (number, variation) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let variation = match variation {
            "A" | "a" => Variation::A,
            "B" | "b" => Variation::B,
            "C" | "c" => Variation::C,
            "D" | "d" => Variation::D,
            _ => return None,
        };
        let tracking: u8 = number.parse().ok().filter(|_| !number.starts_with(['0', '+']))?;
        let stream = [Stream::Characters, Stream::Words, Stream::Soundex].get(usize::from(tracking / 20))?;
        let formula = Formula { number: tracking % 20, stream: *stream, variation };
        let exists =
            (1..=14).contains(&formula.number) && !(formula.number == 13 && formula.stream == Stream::Characters);
        exists.then_some(formula)
    }

    /// All 164 formulas.
    pub fn all() -> impl Iterator<Item = Formula> {
        (1..=54)
            .flat_map(|number| ["A", "B", "C", "D"].map(|variation| format!("{number}{variation}")))
            .filter_map(|name| Formula::parse(&name))
    }

    /// True if stop words are left out.
    pub(super) fn without_stop_words(self) -> bool {
        matches!(self.variation, Variation::B | Variation::D)
    }

    /// True if vowels or repeated words are left out.
    pub(super) fn is_thinned(self) -> bool {
        matches!(self.variation, Variation::C | Variation::D)
    }

    pub(super) fn selection(self) -> Selection {
        match self.number {
            3 | 4 => Selection::Modulus,
            5 | 6 => Selection::Winnowing,
            7 | 8 => Selection::Lowest,
            9 | 10 => Selection::Highest,
            11 | 12 => Selection::RandomThird,
            _ => Selection::All,
        }
    }

    /// True if memory grows with the document.
    pub(super) fn needs_whole_document(self) -> bool {
        self.number >= 13 || (self.is_thinned() && self.stream != Stream::Characters)
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = match self.stream {
            Stream::Characters => 0,
            Stream::Words => 20,
            Stream::Soundex => 40,
        };
        write!(f, "{}{:?}", self.number + offset, self.variation)
    }
}

/// True if a document of index `other` is a hit for a query of index `query`: strictly within 30 % of the query's (Roth 2011,
/// section 3). The relation is not symmetric. Sites send any numbers, the greatest among them.
pub fn is_hit(query: i128, other: i128) -> bool {
    let query_size = query.unsigned_abs();
    let (tenth, rest) = (query_size / 10, query_size % 10);
    match query.abs_diff(other).checked_sub(3 * tenth) {
        None => true,
        Some(more) => more.saturating_mul(10) < 3 * rest,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_formula_is_read_back_from_its_name() {
        let all: Vec<Formula> = Formula::all().collect();
        assert_eq!(all.len(), 164);
        for formula in all {
            assert_eq!(Formula::parse(&formula.to_string()), Some(formula));
            assert_eq!(Formula::parse(&formula.to_string().to_lowercase()), Some(formula));
        }
        assert_eq!(Formula::DEFAULT.to_string(), "43B");
    }

    #[test]
    fn only_formulas_that_store_all_values_need_the_whole_document() {
        for (name, expected) in [
            ("1A", false),
            ("1D", false),
            ("14A", true),
            ("21A", false),
            ("21B", false),
            ("21C", true),
            ("43D", true),
            ("33A", true),
            ("34A", true),
        ] {
            assert_eq!(Formula::parse(name).unwrap().needs_whole_document(), expected, "{name}");
        }
    }

    #[test]
    fn numbers_at_the_ends_of_their_range_are_hits_for_their_neighbours_alone() {
        let (least, most) = (i128::MIN, i128::MAX);
        for (query, other, expected) in [
            (most, most, true),
            (least, least, true),
            (most, least, false),
            (least, most, false),
            // Their difference is the least number, which has no opposite.
            (1 << 126, -(1 << 126), false),
            (0, least, false),
            (least, 0, false),
            // Ten times their difference is a multiple of 2^128.
            (1, least + 1, false),
            (most, most - most / 10 * 3, true),
            (most, most - most / 10 * 3 - 2, true),
            (most, most - most / 10 * 3 - 3, false),
            (least, least - least / 10 * 3 + 2, true),
            (least, least - least / 10 * 3 + 3, false),
        ] {
            assert_eq!(is_hit(query, other), expected, "{query} {other}");
        }
    }

    proptest! {
        #[test]
        fn a_hit_is_what_its_definition_says(
            query in -1_000_000..1_000_000_i128,
            other in -1_000_000..1_000_000_i128,
            shift in 0..100_u32,
        ) {
            let expected = (other - query).abs() * 10 < query.abs() * 3;
            prop_assert_eq!(is_hit(query, other), expected);
            prop_assert_eq!(is_hit(query << shift, other << shift), expected, "the scale does not matter");
            prop_assert_eq!(is_hit(-query, -other), expected);
        }

        #[test]
        fn no_number_of_a_site_is_too_large(query: i128, other: i128) {
            // In steps so coarse that the definition has room.
            let (query_steps, other_steps) = (query >> 8, other >> 8);
            let expected = (other_steps - query_steps).abs().checked_mul(10).unwrap() < query_steps.abs() * 3;
            let is_close = ((other_steps - query_steps).abs() * 10 - query_steps.abs() * 3).abs() < 100;
            prop_assert!(is_close || is_hit(query, other) == expected, "{} {}", query, other);
        }
    }
}
