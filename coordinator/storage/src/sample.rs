//! Blind samples as rows and events: pairs that were drawn by chance from the links of a result, and what people said of
//! each without seeing a verdict.
//!
//! Contents are named by their digests, since the journal cannot forget a path.

/// What a person says of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
pub enum Answer {
    /// Nothing yet.
    Open = 0,
    /// They truly have in common what is reported.
    Match = 1,
    /// They have not.
    NoMatch = 2,
    /// It cannot be seen from what is at hand.
    Unsure = 3,
}

impl Answer {
    /// The answers that can be given, as addresses and forms write them.
    pub const WORDS: [(Answer, &str); 3] =
        [(Answer::Match, "match"), (Answer::NoMatch, "no-match"), (Answer::Unsure, "unsure")];

    /// The answer that a word says.
    pub fn parse(word: &str) -> Option<Answer> {
        Answer::WORDS.iter().find(|(_, known)| *known == word).map(|(answer, _)| *answer)
    }

    /// The answer as a word; empty if there is none yet.
    pub fn word(self) -> &'static str {
        Answer::WORDS.iter().find(|(known, _)| *known == self).map_or("", |(_, word)| *word)
    }
}

/// A pair of a sample.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SampledPair {
    /// The view under which they are linked: `raw` or `text`.
    #[prost(string, tag = "1")]
    pub view: String,
    /// The digest of the first content: 16 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub a: Vec<u8>,
    /// The digest of the second content: 16 bytes.
    #[prost(bytes = "vec", tag = "3")]
    pub b: Vec<u8>,
    /// Their similarity in the result, in ten-thousandths.
    #[prost(sint64, tag = "4")]
    pub similarity: i64,
    /// An [`Answer`].
    #[prost(enumeration = "Answer", tag = "5")]
    pub answer: i32,
    /// Name of the person who answered; empty: nobody yet.
    #[prost(string, tag = "6")]
    pub by: String,
}

/// A sample.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SampleRow {
    /// Its number, unique in the federation.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// The scan from whose result it was drawn.
    #[prost(fixed64, tag = "2")]
    pub scan: u64,
    /// Name of the person who had it drawn.
    #[prost(string, tag = "3")]
    pub by: String,
    /// The time of that; seconds since 1970.
    #[prost(sint64, tag = "4")]
    pub time: i64,
    /// The filter of the clusters from whose links it was drawn; empty: of all clusters.
    #[prost(string, tag = "5")]
    pub filter: String,
    /// Number of those links.
    #[prost(uint64, tag = "6")]
    pub links: u64,
    /// The pairs, from the least similar to the most similar one.
    #[prost(message, repeated, tag = "7")]
    pub pairs: Vec<SampledPair>,
    /// The party of all sites of the scan; empty if there are several.
    #[prost(string, tag = "8")]
    pub party: String,
    /// True if the person may read the results of this party alone.
    #[prost(bool, tag = "9")]
    pub is_bound: bool,
}

/// A person said something of a pair of a sample.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Judged {
    /// The sample.
    #[prost(uint64, tag = "1")]
    pub sample: u64,
    /// The place of the pair among its pairs, from 0.
    #[prost(uint32, tag = "2")]
    pub pair: u32,
    /// An [`Answer`].
    #[prost(enumeration = "Answer", tag = "3")]
    pub answer: i32,
}
