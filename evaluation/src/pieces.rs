//! `fine-chunks`: what a coordinator without the federation's key learns from the fine chunks of a site.
//!
//! A site has documents under a key. A third of them are public: the coordinator has them too, but does not know where. A third are known to the
//! site alone. The last third are at no site. The coordinator sees the chunks of each document with their lengths, and the lengths
//! and tags of the pieces of a share of the chunks, which is what `policy.fine_share_per_day` bounds. It knows neither where pieces
//! of a text would be cut nor what tags they would have. But the same bytes have the same tag everywhere, so it can
//!
//! 1. recognise public documents: their pieces with the same bytes have the same tags;
//! 2. write a dictionary from these, and find its runs of three pieces in documents that it does not have;
//! 3. confirm a guess of 60 bytes, if runs of the dictionary that documents have cover most of it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use cognate_fingerprint::{FineChunk, FineCutter, Key, Method, View};

use crate::corpus::{Selection, load};
use crate::document::Document;
use crate::error::Error;
use crate::findings::{Cell, Findings, Table};
use crate::rng::mixed;
use crate::setting::Setting;

/// The shares of chunks whose pieces a site gives.
const SHARES: [f64; 6] = [1.0, 0.5, 0.25, 0.1, 0.03, 0.01];
const MEAN: u64 = 1000;
/// A document is recognised if so many pairs of pieces with the same bytes have the same tag, and none has another: for another document of the
/// same size, one of 256 pairs agrees by chance.
const AGREEING_MIN: u64 = 4;
/// Pieces of a run that is looked up in the dictionary.
const RUN: usize = 3;
const GUESS_BYTES: usize = 60;
/// Bytes of a guess that have to be covered.
const COVERED_BYTES: usize = 45;
const GUESSES: usize = 200;

/// A document with its pieces, as far as the site gave them.
struct Seen {
    document: usize,
    /// The chunks whose pieces are known, each with its place and its pieces.
    chunks: Vec<(usize, Vec<FineChunk>)>,
}

/// What is known of a document besides its pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    /// The site and the coordinator have it.
    Public,
    /// The site alone has it.
    Private,
    /// No site has it.
    Elsewhere,
}

impl Group {
    fn of(number: usize) -> Group {
        [Group::Public, Group::Private, Group::Elsewhere][number % 3]
    }
}

type Run = [(u8, u8); RUN];

/// Runs of pieces of public documents: their lengths and tags, with their bytes. Runs that have several are none.
type Dictionary<'a> = HashMap<Run, Option<&'a [u8]>>;

/// The figures for one share.
struct Figures {
    share: f64,
    chunks: usize,
    recognised: usize,
    mistaken: usize,
    reconstructed_bytes: usize,
    wrong_bytes: usize,
    confirmed: usize,
    falsely_confirmed: usize,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let selection = Selection {
        bytes_min: 2_000,
        bytes_max: 64_000,
        documents_max: setting.either(600, 3_000),
        total_bytes_max: setting.either(8 << 20, 64 << 20),
        text: false,
    };
    let documents = load(setting, &selection, 300, 8_000)?;
    if documents.len() < 30 {
        return Err(setting.corpus_lacks(format!("{} documents", documents.len()), "30 of 2 to 64 KB"));
    }
    let key = key(setting.seed)?;
    let method = Method::tttd(View::Raw, MEAN).map_err(|error| Error::Method(error.to_string()))?;
    let [right, wrong] = both_guesses(&documents, setting.seed);
    let mut figures = Vec::new();
    for (number, share) in SHARES.into_iter().enumerate() {
        setting.step("looking through pieces", number, SHARES.len())?;
        figures.push(attack(&documents, &key, &method, share, [&right, &wrong]));
    }
    Ok(report(setting, &documents, &figures, [right.len(), wrong.len()]))
}

/// Guesses at what the site alone has, and at what no site has.
fn both_guesses(documents: &[Document], seed: u64) -> [Vec<&[u8]>; 2] {
    [
        guesses(documents, Group::Private, &[Group::Public], seed),
        guesses(documents, Group::Elsewhere, &[Group::Public, Group::Private], seed),
    ]
}

fn key(seed: u64) -> Result<Key, Error> {
    let bytes: Vec<u8> = (0..4).flat_map(|word| mixed(seed ^ word).to_le_bytes()).collect();
    Key::parse(&bytes).map_err(|error| Error::Method(error.to_string()))
}

/// `right` are guesses at what the site has, `wrong` at what it does not have.
fn attack(documents: &[Document], key: &Key, method: &Method, share: f64, [right, wrong]: [&[&[u8]]; 2]) -> Figures {
    let seen: Vec<Seen> = (0..documents.len())
        .filter(|number| Group::of(*number) != Group::Elsewhere)
        .map(|number| see(documents, number, (key, method), share))
        .collect();
    let of = |group: Group| seen.iter().filter(move |seen| Group::of(seen.document) == group);
    let recognised: Vec<&Seen> =
        of(Group::Public).filter(|seen| is_consistent(seen, &documents[seen.document].bytes)).collect();
    let mistaken = of(Group::Public).filter(|seen| is_consistent(seen, &decoy(documents, seen.document))).count();
    let dictionary = dictionary(documents, &recognised);
    let (mut reconstructed_bytes, mut wrong_bytes) = (0, 0);
    for seen in of(Group::Private) {
        let (right, wrong) = reconstructed(seen, &documents[seen.document].bytes, &dictionary);
        reconstructed_bytes += right;
        wrong_bytes += wrong;
    }
    let runs: HashSet<Run> = of(Group::Private).flat_map(|seen| runs_of(seen).map(|(run, _)| run)).collect();
    let mut known: HashMap<&[u8], Run> = HashMap::new();
    for (run, bytes) in dictionary.iter().filter_map(|(run, bytes)| Some((run, (*bytes)?))) {
        // Of several ways to cut the same bytes the least, whatever the order.
        known.entry(bytes).and_modify(|known| *known = (*known).min(*run)).or_insert(*run);
    }
    let confirmed = |guesses: &[&[u8]]| guesses.iter().filter(|guess| is_confirmed(guess, &known, &runs)).count();
    Figures {
        share,
        chunks: seen.iter().map(|seen| seen.chunks.len()).sum(),
        recognised: recognised.len(),
        mistaken,
        reconstructed_bytes,
        wrong_bytes,
        confirmed: confirmed(right),
        falsely_confirmed: confirmed(wrong),
    }
}

/// The pieces of a share of the chunks of a document, chosen by their tags.
fn see(documents: &[Document], number: usize, (key, method): (&Key, &Method), share: f64) -> Seen {
    let (bytes, cutter) = (&documents[number].bytes, FineCutter::new(key));
    let mut chunks = Vec::new();
    let mut place = 0;
    method.fingerprinter(key).slice(bytes, |chunk| {
        let length = chunk.length_bytes as usize;
        let drawn = u32::from_le_bytes(*chunk.tag.0.first_chunk().expect("a tag has sixteen bytes"));
        if f64::from(drawn) < share * f64::from(u32::MAX) {
            let mut pieces = Vec::new();
            cutter.cut(&bytes[place..place + length], |piece| pieces.push(piece));
            chunks.push((place, pieces));
        }
        place += length;
    });
    Seen { document: number, chunks }
}

/// The pieces of a chunk with their places in the document.
fn placed(chunk: &(usize, Vec<FineChunk>)) -> impl Iterator<Item = (Range<usize>, FineChunk)> + '_ {
    let mut end = chunk.0;
    chunk.1.iter().map(move |piece| {
        let start = end;
        end += usize::from(piece.length_bytes);
        (start..end, *piece)
    })
}

/// True if pieces can be those of a document, and enough of them say so.
fn is_consistent(seen: &Seen, bytes: &[u8]) -> bool {
    let mut tags: HashMap<&[u8], u8> = HashMap::new();
    let mut agreeing = 0;
    for (place, piece) in seen.chunks.iter().flat_map(placed) {
        let Some(bytes) = bytes.get(place) else { return false };
        match tags.insert(bytes, piece.tag) {
            Some(tag) if tag == piece.tag => agreeing += 1,
            Some(_) => return false,
            None => {}
        }
    }
    agreeing >= AGREEING_MIN
}

/// A document of the same size as another, out of the public ones that follow it.
fn decoy(documents: &[Document], number: usize) -> Vec<u8> {
    let length = documents[number].bytes.len();
    let others = (1..documents.len()).map(|step| (number + step) % documents.len());
    let public = others.filter(|other| Group::of(*other) == Group::Public);
    public.flat_map(|other| documents[other].bytes.iter().copied()).cycle().take(length).collect()
}

/// The runs of pieces that follow each other, each with its place.
fn runs_of(seen: &Seen) -> impl Iterator<Item = (Run, Range<usize>)> + '_ {
    seen.chunks.iter().flat_map(|chunk| {
        let pieces: Vec<(Range<usize>, FineChunk)> = placed(chunk).collect();
        let run = |window: &[(Range<usize>, FineChunk)]| {
            let run = [0, 1, 2].map(|place| (window[place].1.length_bytes, window[place].1.tag));
            (run, window[0].0.start..window[RUN - 1].0.end)
        };
        pieces.windows(RUN).map(run).collect::<Vec<_>>()
    })
}

fn dictionary<'a>(documents: &'a [Document], recognised: &[&Seen]) -> Dictionary<'a> {
    let mut dictionary = Dictionary::new();
    for seen in recognised {
        for (run, place) in runs_of(seen) {
            let bytes = &documents[seen.document].bytes[place];
            let entry = dictionary.entry(run).or_insert(Some(bytes));
            if entry.is_some_and(|known| known != bytes) {
                *entry = None;
            }
        }
    }
    dictionary
}

/// The bytes of a document that the dictionary has, and those that it has wrongly.
fn reconstructed(seen: &Seen, bytes: &[u8], dictionary: &Dictionary<'_>) -> (usize, usize) {
    let (mut right, mut wrong) = (vec![false; bytes.len()], vec![false; bytes.len()]);
    for (run, place) in runs_of(seen) {
        if let Some(Some(known)) = dictionary.get(&run) {
            let is_right = *known == &bytes[place.clone()];
            let marks = if is_right { &mut right } else { &mut wrong };
            marks[place].fill(true);
        }
    }
    let count = |marks: &[bool]| marks.iter().filter(|mark| **mark).count();
    (count(&right), count(&wrong))
}

/// Texts of 60 bytes out of the documents of a group, which no document of the others has.
fn guesses<'a>(documents: &'a [Document], group: Group, others: &[Group], seed: u64) -> Vec<&'a [u8]> {
    let of_group: Vec<&Document> =
        documents.iter().enumerate().filter(|(number, _)| Group::of(*number) == group).map(|(_, one)| one).collect();
    let others = || documents.iter().enumerate().filter(|(number, _)| others.contains(&Group::of(*number)));
    let is_own =
        |guess: &&[u8]| !others().any(|(_, other)| other.bytes.windows(GUESS_BYTES).any(|found| found == *guess));
    let drawn = (0..4 * GUESSES as u64).filter_map(|number| {
        let drawn = |limit: usize, turn: u64| {
            usize::try_from(mixed(seed ^ mixed(number ^ turn << 32)) % limit.max(1) as u64).unwrap_or_default()
        };
        let bytes = &of_group.get(drawn(of_group.len(), 1))?.bytes;
        let start = drawn(bytes.len() - GUESS_BYTES, 2);
        bytes.get(start..start + GUESS_BYTES)
    });
    drawn.filter(is_own).take(GUESSES).collect()
}

/// True if runs that the dictionary has of the guess, and that some document has, cover most of it.
fn is_confirmed(guess: &[u8], known: &HashMap<&[u8], Run>, runs: &HashSet<Run>) -> bool {
    let mut covered = vec![false; guess.len()];
    let ends = |start: usize| (start + 1..=guess.len()).map(move |end| start..end);
    for place in (0..guess.len()).flat_map(ends) {
        if known.get(&guess[place.clone()]).is_some_and(|run| runs.contains(run)) {
            covered[place].fill(true);
        }
    }
    covered.into_iter().filter(|covered| *covered).count() >= COVERED_BYTES
}

fn report(setting: &Setting<'_>, documents: &[Document], figures: &[Figures], [right, wrong]: [usize; 2]) -> Findings {
    let mut findings =
        Findings::new("What fine chunks tell a coordinator without the key", "An attack on this project.");
    let count = |group| (0..documents.len()).filter(|number| Group::of(*number) == group).count();
    let bytes = |group| -> usize {
        let of_group = documents.iter().enumerate().filter(|(number, _)| Group::of(*number) == group);
        of_group.map(|(_, document)| document.bytes.len()).sum()
    };
    let (public, private, private_bytes) = (count(Group::Public), count(Group::Private), bytes(Group::Private));
    findings.fact("corpus", setting.corpus_name());
    findings.fact("documents at the site", format!("{public} public, {private} known to the site alone"));
    findings.fact("bytes known to the site alone", private_bytes.to_string());
    findings
        .fact("guesses", format!("{right} of {GUESS_BYTES} bytes that the site alone has, {wrong} that no site has"));
    let percent = |part: usize, whole: usize| Cell::Number(100.0 * part as f64 / whole.max(1) as f64);
    let row = |one: &Figures| {
        vec![
            Cell::Number(one.share),
            Cell::Count(one.chunks as u64),
            percent(one.recognised, public),
            percent(one.mistaken, public),
            percent(one.reconstructed_bytes, private_bytes),
            percent(one.wrong_bytes, private_bytes),
            percent(one.confirmed, right),
            percent(one.falsely_confirmed, wrong),
        ]
    };
    let columns = [
        "share of chunks",
        "chunks",
        "public documents recognised, %",
        "others taken for them, %",
        "unknown bytes reconstructed, %",
        "wrongly, %",
        "guesses confirmed, %",
        "falsely, %",
    ];
    findings.tables.push(Table {
        name: "shares".to_owned(),
        title: "By the share of chunks whose pieces the site gave".to_owned(),
        columns: columns.map(str::to_owned).into(),
        rows: figures.iter().map(row).collect(),
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_pieces_tell_less_and_a_document_is_not_taken_for_another() {
        let progress = |_: &str, _, _| true;
        let setting =
            Setting { corpus: None, pairs: &[], office_set: false, full: false, seed: 1, progress: &progress };
        let documents = load(
            &setting,
            &Selection {
                bytes_min: 2_000,
                bytes_max: 64_000,
                documents_max: 100,
                total_bytes_max: 1 << 20,
                text: false,
            },
            60,
            6_000,
        )
        .unwrap();
        let (key, method) = (key(1).unwrap(), Method::tttd(View::Raw, MEAN).unwrap());
        let [right, wrong] = both_guesses(&documents, 1);
        let [all, few] = [1.0, 0.05].map(|share| attack(&documents, &key, &method, share, [&right, &wrong]));
        assert_eq!((all.recognised, all.mistaken, few.mistaken), (20, 0, 0));
        assert!(few.recognised < 20 && few.reconstructed_bytes < all.reconstructed_bytes / 4);
        assert!(few.confirmed <= all.confirmed);
    }
}
