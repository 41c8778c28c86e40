//! The parameters of `shingle`: runs of w tokens of a text (Broder 1997), and the sample of them.

/// The tokens that a text is a sequence of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// The letters and digits of the words.
    Letters,
    /// The words.
    Words,
    /// The lines, each with its words.
    Lines,
}

/// The sample of the shingles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sample {
    /// All of them.
    All,
    /// One in m: the sample grows with the document.
    Mod {
        /// The modulus, 1 to 2^20.
        m: u32,
    },
    /// The s smallest.
    Min {
        /// Size of the sample, 1 to 65,536.
        s: u32,
    },
    /// The s smallest of one in m.
    MinOfMod {
        /// The modulus, 1 to 2^20.
        m: u32,
        /// Size of the sample, 1 to 65,536.
        s: u32,
    },
    /// One in `2^i`, i growing with the document, so that the sample has s to 2 s values.
    Levels {
        /// The least expected number, 1 to 65,536.
        s: u32,
    },
}

/// The parameters of `shingle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shingle {
    /// The tokens of the text.
    pub tokens: TokenKind,
    /// The number of tokens in a shingle, 1 to 1000.
    pub w: u32,
    /// Option A: shingles are counted with their repeats. Otherwise they are a set (option B).
    pub labelled: bool,
    /// The sample.
    pub sample: Sample,
}

impl TokenKind {
    /// The mean length of a token in bytes of English. A mean in bytes is converted to tokens by it.
    pub(crate) fn mean_bytes(self) -> u64 {
        match self {
            TokenKind::Letters => 1,
            TokenKind::Words => 6,
            TokenKind::Lines => 40,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            TokenKind::Letters => "letters",
            TokenKind::Words => "words",
            TokenKind::Lines => "lines",
        }
    }
}

impl Shingle {
    /// The mean number of bytes to a feature; `None` if the sample does not grow with the document.
    pub(crate) fn sampling_bytes(self) -> Option<u32> {
        let bytes = |m: u32| u32::try_from(u64::from(m) * self.tokens.mean_bytes()).unwrap_or(u32::MAX);
        match self.sample {
            Sample::All => Some(bytes(1)),
            Sample::Mod { m } => Some(bytes(m)),
            Sample::Min { .. } | Sample::MinOfMod { .. } | Sample::Levels { .. } => None,
        }
    }

    /// The mean length of a shingle in bytes.
    pub(crate) fn window_bytes(self) -> Option<u32> {
        u32::try_from(u64::from(self.w) * self.tokens.mean_bytes()).ok()
    }

    /// The greatest number of features in a signature; `None` if it grows with the document.
    pub(crate) fn signature_features_max(self) -> Option<u32> {
        match self.sample {
            Sample::Min { s } | Sample::MinOfMod { s, .. } => Some(s),
            Sample::Levels { s } => Some(2 * s),
            Sample::All | Sample::Mod { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_the_token_and_the_sample() {
        let of = |tokens, w, sample| Shingle { tokens, w, labelled: false, sample };
        for (shingle, sampling, window, most) in [
            (of(TokenKind::Words, 7, Sample::All), Some(6), Some(42), None),
            (of(TokenKind::Words, 7, Sample::Mod { m: 25 }), Some(150), Some(42), None),
            (of(TokenKind::Letters, 20, Sample::Mod { m: 25 }), Some(25), Some(20), None),
            (of(TokenKind::Lines, 3, Sample::Mod { m: 25 }), Some(1000), Some(120), None),
            (of(TokenKind::Lines, 1000, Sample::Mod { m: u32::MAX }), Some(u32::MAX), Some(40_000), None),
            (of(TokenKind::Words, 1, Sample::Min { s: 200 }), None, Some(6), Some(200)),
            (of(TokenKind::Words, 1, Sample::MinOfMod { m: 25, s: 200 }), None, Some(6), Some(200)),
            (of(TokenKind::Words, 1, Sample::Levels { s: 100 }), None, Some(6), Some(200)),
        ] {
            let found = (shingle.sampling_bytes(), shingle.window_bytes(), shingle.signature_features_max());
            assert_eq!(found, (sampling, window, most), "{shingle:?}");
        }
    }
}
