//! The words of English that do not depend on the subject of a text: articles, pronouns, prepositions, conjunctions,
//! auxiliaries, and the parts of contractions.
//!
//! The list is part of the recipes that use it. It is our own, not a package's, since a list that changed with an update
//! would change the fingerprints of documents.

use std::sync::LazyLock;

const STOP_WORDS: &str = "
a about above after again against all also although always am among an and another any are aren as at
be because been before being below between both but by
can cannot could couldn
d did didn do does doesn doing don down during
each either else ever every
few for from further
had hadn has hasn have haven having he hence her here hers herself him himself his how however
i if in into is isn it its itself
just
ll
m many may me might mine more most much must my myself
neither never no nor not now
o of off often on once only onto or other others our ours ourselves out over own
per
quite
rather re
s same shall she should shouldn since so some such
t than that the thee their theirs them themselves then there therefore these they thine this those thou though
through thus thy to too toward towards
under until up upon us
ve very via
was wasn we were weren what whatever when where whether which while who whom whose why will with within without
won would wouldn
yet you your yours yourself yourselves
";

/// The list as sorted numbers: a word of up to 16 bytes is one, and comparing numbers is quicker than comparing words.
static NUMBERS: LazyLock<Vec<u128>> = LazyLock::new(|| {
    let mut numbers: Vec<u128> = STOP_WORDS.split_whitespace().filter_map(|word| number(word.as_bytes())).collect();
    numbers.sort_unstable();
    numbers
});

/// True if a word, in lower case, is a stop word.
pub(crate) fn is_stop_word(word: &[u8]) -> bool {
    number(word).is_some_and(|number| NUMBERS.binary_search(&number).is_ok())
}

fn number(word: &[u8]) -> Option<u128> {
    (word.len() <= 16).then(|| word.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_stop_words_and_others_are_not() {
        for word in ["a", "the", "themselves", "yourselves", "t"] {
            assert!(is_stop_word(word.as_bytes()), "{word}");
        }
        for word in ["", "rose", "thematic", "b", "nation", "a word of more than sixteen bytes"] {
            assert!(!is_stop_word(word.as_bytes()), "{word}");
        }
        assert_eq!(NUMBERS.len(), STOP_WORDS.split_whitespace().count(), "every word of the list fits");
        assert!(NUMBERS.windows(2).all(|pair| pair[0] < pair[1]), "no word occurs twice");
    }
}
