//! Edited excerpts inside of longer documents: how many a comparison finds.
//!
//! An excerpt of a document is a document of its own at one site. Edited every 200 bytes or so, it stands in the middle of a longer
//! document at the other site, which has nothing else of it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::only_here::comparison::{Place, compare};
use crate::only_here::content::Content;
use crate::only_here::shared::ContentWindows;
use crate::only_here::sites::Sites;
use crate::only_here::window_sample::{self, Common};
use crate::rng::Rng;
use crate::setting::Setting;

/// The sizes of excerpts.
pub(super) const EXCERPT_BYTES: [usize; 3] = [1500, 4000, 8000];
/// Excerpts of each size, in a small run and in a full one.
const EXCERPTS: (usize, usize) = (40, 120);
/// The sizes of the documents around them.
const AROUND_BYTES: (usize, usize) = (20_000, 60_000);
/// An edit comes about so many bytes after the one before.
const EDIT_EVERY_BYTES: usize = 200;
/// Documents around an excerpt may have at most this share of it already.
const UNLIKE_SHARE_MAX: f64 = 0.05;
/// Tries to find such a document before an excerpt is left out.
const TRIES: usize = 50;

/// What is found of the excerpts of one size.
pub(super) struct ExcerptResult {
    pub(super) excerpt_bytes: usize,
    pub(super) excerpts: usize,
    /// The excerpts that the comparison links with the document around them.
    pub(super) linked: usize,
    /// The excerpts that it links with that document, or with another that truly has as much of them: where documents repeat each other, an
    /// excerpt of one is an excerpt of many, and a person needs one of these.
    pub(super) found: usize,
    /// The mean share of an excerpt that is truly in the document around it.
    pub(super) true_share: f64,
    /// For each pair, what samples of windows would have in common.
    pub(super) common: Vec<Common>,
}

/// Of what the document around an excerpt has of it, another has as much from this share on.
const AS_MUCH: f64 = 0.95;

/// An excerpt, and the document with the edited excerpt in its middle.
struct ExcerptPair {
    /// The paths of both, which have nothing in common: else a comparison would hold the two against each other for their place.
    paths: [String; 2],
    excerpt: Content,
    around: Content,
}

/// Makes the excerpts and compares them. Empty if the corpus has no documents that are long enough.
pub(super) fn excerpts(setting: &Setting<'_>, sites: &Sites) -> Result<Vec<ExcerptResult>, Error> {
    let mut rng = Rng::of(setting.seed, 48);
    let mut sources = Sources::of(sites, &mut rng);
    let folder = tempfile::tempdir().map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let mut pairs: Vec<(usize, Vec<ExcerptPair>)> = Vec::new();
    for excerpt_bytes in EXCERPT_BYTES {
        let count = setting.either(EXCERPTS.0, EXCERPTS.1);
        let made: Vec<ExcerptPair> = (0..count).map_while(|_| sources.pair(excerpt_bytes, &mut rng)).collect();
        for pair in &made {
            write(&a.join(&pair.paths[0]), &pair.excerpt.bytes)?;
            write(&b.join(&pair.paths[1]), &pair.around.bytes)?;
        }
        pairs.push((excerpt_bytes, made));
    }
    if pairs.iter().all(|(_, made)| made.is_empty()) {
        return Ok(Vec::new());
    }
    let report = compare(setting, &[("a".to_owned(), &a), ("b".to_owned(), &b)])?;
    let links: HashSet<(Place, Place)> =
        report.links.into_iter().flat_map(|link| [(link.of.clone(), link.at.clone()), (link.at, link.of)]).collect();
    let all: Vec<&ExcerptPair> = pairs.iter().flat_map(|(_, made)| made).collect();
    let are_linked = |excerpt: &ExcerptPair, around: &ExcerptPair| {
        let place = |site: &str, path: &String| Place { site: site.to_owned(), path: path.clone() };
        links.contains(&(place("a", &excerpt.paths[0]), place("b", &around.paths[1])))
    };
    let is_found = |pair: &ExcerptPair, true_share: f64| {
        let windows = ContentWindows::of(&pair.excerpt);
        let has_as_much = |other: &ExcerptPair| windows.share(&other.around) >= AS_MUCH * true_share;
        are_linked(pair, pair) || all.iter().any(|other| are_linked(pair, other) && has_as_much(other))
    };
    Ok(pairs
        .iter()
        .map(|(excerpt_bytes, made)| {
            let shares: Vec<f64> =
                made.iter().map(|pair| ContentWindows::of(&pair.excerpt).share(&pair.around)).collect();
            ExcerptResult {
                excerpt_bytes: *excerpt_bytes,
                excerpts: made.len(),
                linked: made.iter().filter(|pair| are_linked(pair, pair)).count(),
                found: made.iter().zip(&shares).filter(|(pair, share)| is_found(pair, **share)).count(),
                true_share: crate::statistics::mean(&shares),
                common: made.iter().map(|pair| window_sample::in_common(&pair.excerpt, &pair.around)).collect(),
            }
        })
        .collect())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    fs::write(path, bytes).map_err(Error::io("write", path))
}

/// The documents from which excerpts are cut, and those that are put around them.
struct Sources<'s> {
    sites: &'s Sites,
    /// Contents in the order in which they are taken; each is used once, and then from the first again.
    excerpts: Vec<usize>,
    around: Vec<usize>,
    used: HashMap<usize, usize>,
}

impl<'s> Sources<'s> {
    fn of(sites: &'s Sites, rng: &mut Rng) -> Sources<'s> {
        let mut of_size = |least: usize| {
            let contents = sites.contents.iter().enumerate();
            let mut found: Vec<(u64, usize)> = contents
                .filter(|(_, content)| !content.by_text && content.counted_bytes() >= least)
                .map(|(number, _)| (rng.next(), number))
                .collect();
            found.sort_unstable();
            found.into_iter().map(|(_, number)| number).collect::<Vec<usize>>()
        };
        let longest = EXCERPT_BYTES.into_iter().max().unwrap_or(0);
        Sources { sites, excerpts: of_size(longest), around: of_size(AROUND_BYTES.0), used: HashMap::new() }
    }

    /// The next pair; none if there are no documents for it.
    fn pair(&mut self, excerpt_bytes: usize, rng: &mut Rng) -> Option<ExcerptPair> {
        let take = |from: &[usize], used: &mut HashMap<usize, usize>, pool: usize| {
            let next = used.entry(pool).or_insert(0);
            *next += 1;
            from.get((*next - 1) % from.len().max(1)).copied()
        };
        for _ in 0..TRIES {
            let source = &self.sites.contents[take(&self.excerpts, &mut self.used, 0)?];
            let start = rng.below(source.bytes.len() - excerpt_bytes + 1);
            let excerpt = Content::new(source.bytes[start..start + excerpt_bytes].to_vec(), false);
            let long = &self.sites.contents[take(&self.around, &mut self.used, 1)?].bytes;
            let most = long.len().min(AROUND_BYTES.1);
            let size = AROUND_BYTES.0 + rng.below(most - AROUND_BYTES.0 + 1);
            let (before, after) = long[..size].split_at(size / 2);
            let unlike = Content::new(long[..size].to_vec(), false);
            if excerpt.counted_bytes() < excerpt_bytes || ContentWindows::of(&excerpt).share(&unlike) > UNLIKE_SHARE_MAX
            {
                continue;
            }
            let around = [before, &edited(&excerpt.bytes, rng), after].concat();
            let paths = ["excerpts", "longer"].map(|folder| format!("{folder}/{:016x}", rng.next()));
            return Some(ExcerptPair { paths, excerpt, around: Content::new(around, false) });
        }
        None
    }
}

/// The bytes with one to four others in the place of some, every 150 to 250 bytes.
fn edited(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut edited = bytes.to_vec();
    let mut next = EDIT_EVERY_BYTES / 2 + rng.below(EDIT_EVERY_BYTES);
    while next + 4 <= edited.len() {
        let count = 1 + rng.below(4);
        for byte in &mut edited[next..next + count] {
            *byte = b'A' + u8::try_from(rng.below(26)).expect("a letter");
        }
        next += 3 * EDIT_EVERY_BYTES / 4 + rng.below(EDIT_EVERY_BYTES / 2);
    }
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_excerpt_has_its_length_and_an_edit_every_200_bytes() {
        let bytes = vec![b'-'; 8000];
        for seed in 0..20 {
            let edited = edited(&bytes, &mut Rng::new(seed));
            let places: Vec<usize> = (0..8000).filter(|place| edited[*place] != b'-').collect();
            let edits = places.chunk_by(|a, b| a + 1 == *b);
            assert!((30..60).contains(&edits.count()) && edited.len() == 8000, "seed {seed}: {places:?}");
        }
    }
}
