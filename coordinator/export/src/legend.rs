//! The words of reports, each defined once. Text, page and workbook end with the ones that they use.

/// The words of the summary of two repositories, in the order of its columns.
pub const CHANGES: [(&str, &str); 6] = [
    (
        "same",
        "equal content, or the same lines with other line ends, at the same place: under the same path, or in folders that are compared with each other",
    ),
    ("changed", "other content at the same place"),
    ("moved", "a copy or a relative at another place"),
    ("standard text", "shares standard text with documents of the other, and nothing else"),
    (
        "not decided",
        "nothing was found at the other, and something that could have shown the contrary was not measured",
    ),
    ("only", "nothing identical or linked at the other"),
];

/// The statuses of documents, in the order of their columns.
pub const STATUSES: [(&str, &str); 9] = [
    ("identical", "another document has the same content, or the same lines with other line ends"),
    ("near", "it and another have at least 80 % of each other"),
    ("contains", "it has at least 80 % of another"),
    ("contained", "another has at least 80 % of it"),
    ("shares", "less, but enough for a link"),
    (
        "standard_text",
        "shares nothing but standard text: what many otherwise unlike documents have, such as general terms",
    ),
    (
        "undecided",
        "nothing was found, and something that could have shown the contrary was cut, refused, not read or not measured",
    ),
    ("unique", "nothing identical or linked anywhere"),
    ("excluded", "nothing in it to compare"),
];

/// Other words.
pub const OTHERS: [(&str, &str); 3] = [
    (
        "in common",
        "of a document: the share of it that its partner has; of a cluster: the bytes of the strongest links that join it",
    ),
    ("alike", "resemblance: common bytes of two documents, divided by the bytes of both together"),
    (
        "rests on a frame",
        "would not be linked without text that many otherwise unlike documents have, such as the frame of the pages of one site",
    ),
];

/// The mark of documents that were scanned.
pub const RECOGNISED: (&str, &str) = (
    "recognised",
    "a program recognised the text of its pages, which are pictures: a letter may be another, and figures are lower for it",
);

/// A status as people read it.
pub fn in_words(status: &str) -> String {
    status.replace('_', " ")
}

/// All words with their definitions.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    CHANGES.into_iter().chain(STATUSES).chain(OTHERS).chain([RECOGNISED])
}
