//! What a machine can check of words: a parameter with several parts is a struct, and types are nouns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cognate_integration_tests::binary::workspace;

/// What each crate still has: parameters that are tuples, and types whose names are participles. Neither grows.
const LEFT: [(&str, usize, &str); 18] = [
    (
        "cli",
        7,
        "Checked Expected Fetched Fingerprinted Followed Found Hidden Loaded Named Planned Read Refused \
     Rotated Sealed Seen Shared Streamed Typed Untouched Zeroized",
    ),
    ("desk", 7, "Found Known Lent Listed Searched Unsearched"),
    ("disk-faults", 0, "Armed Observed Told"),
    ("evaluation", 12, "Clustered Cut Edited Found Gathered Made Measured Partitioned Planted Seen Spread"),
    ("export", 2, "Asked Cut Made Read"),
    ("fingerprint", 8, "Broken Extracted Folded Found Interrupted Seen"),
    ("fuzzing", 0, "Ran"),
    ("integration-tests", 3, "Cut Kept Made Shared"),
    ("proto", 2, "Drawn"),
    ("query", 1, "Found Kept Seen"),
    (
        "result",
        6,
        "Asked Compared Explained Found Gathered Joined Left Linked Located Measured Named Placed Shared \
     Summed Unpacked",
    ),
    ("result-file", 0, "Damaged Refined Skipped"),
    (
        "server",
        8,
        "Asked Assigned Attached Contradicted Cut Found Given Held Logged Proposed Redeemed Renamed Signed Synced Taken Wanted Written",
    ),
    ("spark", 12, "Left"),
    (
        "storage",
        1,
        "Acknowledged Acted Certified Checked Compacted Decided Expired Found Held Ignored Invited \
     Judged Kept Restored Saved Sealed Sent Undone Verified",
    ),
    (
        "view",
        6,
        "Bounded Broken Checked Collected Counted Drawn Filled Metered Normalised Predefined Remembered \
     Shared Shown Visited",
    ),
    ("web", 2, "Asked Compared Dropped Shown Suggested"),
    (
        "worker",
        15,
        "Compared Counted Cut Fingerprinted Held Inspected Listed Measured Opened Paced Read Received \
     Remembered Sent Shared Skipped Stopped Stored Taken Verified Walked",
    ),
];

/// Participles that do not end in "ed".
const IRREGULAR: &str = "Begun Bound Broken Built Chosen Cut Done Drawn Driven Found Frozen Given Gone Grown Held Hidden Kept Known \
                         Left Lent Lost Made Met Paid Put Ran Read Seen Sent Shown Sought Spoken Spread Taken Taught Thrown Told \
                         Undone Written";

/// The participles among the names of types in a source, and the number of parameters that are tuples.
pub(super) fn of_source(text: &str) -> (BTreeSet<String>, usize) {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let kinds = ["struct ", "enum ", "type ", "trait "];
    let names =
        kinds.iter().flat_map(|kind| code.match_indices(kind).map(|(place, _)| word(&code[place + kind.len()..])));
    let participles = names.filter(|name| is_participle(name)).map(str::to_owned).collect();
    let functions = code.match_indices("fn ").map(|(place, _)| &code[place + 3..]);
    (participles, functions.flat_map(parameters).filter(|parameter| is_tuple(parameter)).count())
}

/// The sums over the sources of each crate.
pub(super) fn by_crate<'a>(
    sources: impl Iterator<Item = (&'a Path, &'a str)>,
) -> BTreeMap<String, (BTreeSet<String>, usize)> {
    let mut all: BTreeMap<String, (BTreeSet<String>, usize)> = BTreeMap::new();
    for (path, text) in sources {
        let mut folders = path.iter().map(|part| part.to_string_lossy().into_owned());
        let first = folders.next().unwrap_or_default();
        let name = if first == "coordinator" { folders.next().unwrap_or_default() } else { first };
        let (participles, tuples) = of_source(text);
        let of_crate = all.entry(name).or_default();
        of_crate.0.extend(participles);
        of_crate.1 += tuples;
    }
    all.retain(|_, (participles, tuples)| !participles.is_empty() || *tuples > 0);
    all
}

fn word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default()
}

/// True for a single word that says what happened to a thing, and not what it is.
fn is_participle(name: &str) -> bool {
    let is_one_word = name.starts_with(char::is_uppercase) && !name[1..].contains(char::is_uppercase);
    is_one_word
        && (name.ends_with("ed") && !["Feed", "Need", "Seed", "Speed"].contains(&name)
            || IRREGULAR.split(' ').any(|one| one == name))
}

/// The parameters of a function, from its name on.
fn parameters(signature: &str) -> Vec<&str> {
    let rest = &signature[word(signature).len()..];
    let rest = if rest.starts_with('<') { &rest[bracket(rest).0..] } else { rest };
    if rest.starts_with('(') { bracket(rest).1 } else { Vec::new() }
}

/// The length of the bracket with which a text begins, and its parts.
fn bracket(text: &str) -> (usize, Vec<&str>) {
    let (mut depth, mut parts, mut begin, mut last) = (0, Vec::new(), 1, ' ');
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if last == '-' || last == '=' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 1 => parts.extend([&text[std::mem::replace(&mut begin, place + 1)..place]]),
            _ => {}
        }
        if depth == 0 {
            parts.push(&text[begin..place]);
            return (place + letter.len_utf8(), parts);
        }
        last = letter;
    }
    (text.len(), parts)
}

/// True if a parameter is taken apart where it is declared, or its type is written as a tuple.
fn is_tuple(parameter: &str) -> bool {
    let parameter = parameter.trim();
    if parameter.starts_with('(') {
        return parameter[bracket(parameter).0..].starts_with(':');
    }
    let kind = parameter.split_once(':').map_or("", |(_, kind)| kind);
    let is_left_out = |word: &&str| ["&", "mut"].contains(word) || word.trim_start_matches('&').starts_with('\'');
    let kind: Vec<&str> = kind.split_whitespace().skip_while(is_left_out).collect();
    let kind = kind.join(" ");
    let kind = kind.trim_start_matches('&').trim_start_matches("mut ");
    kind.starts_with('(') && bracket(kind).1.len() > 1
}

#[test]
fn tuples_in_parameters_and_participles_are_recognised() {
    let source = "struct Found;\n// struct Kept;\nenum FrozenSet {}\ntype Waited = u8;\n\
                  fn a<F: Fn(u8) -> u8>((x, y): (u8, u8), f: F) {}\nfn b(&self, pair: &'a mut (u8, u8), c: &(dyn Fn(u8, u8) + Sync)) {}\n\
                  fn d(e: &[(u8, u8)]) -> (u8, u8) {}\nfn f(g: Vec<u8>, (h, _): Pair) {}\n";
    let names = ["Found", "Waited"].map(str::to_owned);
    assert_eq!(of_source(source), (BTreeSet::from(names), 3));
}

#[test]
fn parameters_are_no_tuples_and_types_no_participles_but_for_those_that_are_left() {
    let sources = super::sources();
    let own = |path: &Path| path.ends_with("tidy/words.rs");
    let sources = sources.iter().filter(|(path, _)| !own(path));
    let root = workspace();
    let found = by_crate(sources.map(|(path, text)| (path.strip_prefix(root).unwrap(), text.as_str())));
    let left = LEFT.iter().map(|(name, tuples, participles)| {
        let participles = participles.split_whitespace().map(str::to_owned).collect();
        ((*name).to_owned(), (participles, *tuples))
    });
    let left: BTreeMap<String, (BTreeSet<String>, usize)> = left.collect();
    assert_eq!(found, left, "a new name is a noun and a new parameter a struct; what is gone leaves the list");
}
