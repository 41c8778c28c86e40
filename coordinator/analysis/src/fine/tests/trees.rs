//! Random repositories: documents of a few passages with a common header, copies, edits in every chunk, and new names.

use std::collections::BTreeMap;

use cognate_fingerprint::{Chunk, Content, ContentDigest, Key, Method, SplitMix64, View, WindowSample};
use cognate_proto::name::{PartyName, RepositoryName, SiteName};
use cognate_proto::options::{ScanOptions, ScanView};

/// Shares of the smaller document that make a link.
const CONTAINMENTS: [(&str, u64, u64); 5] = [("0.5", 1, 2), ("0.8", 4, 5), ("0.25", 1, 4), ("0.1", 1, 10), ("1", 1, 1)];
/// Folders and names from which paths are made: few, so that many are equal.
const FOLDERS: [&str; 6] = ["", "src/", "doc/", "doc/v1/", "doc/v2/", "old/src/"];
const NAMES: [&str; 8] = ["readme", "index", "main", "a", "b", "c", "license", "control-1"];

/// A repository.
pub(super) struct Repository {
    pub(super) party: PartyName,
    pub(super) site: SiteName,
    pub(super) name: RepositoryName,
    pub(super) sends_samples: bool,
    pub(super) documents: BTreeMap<String, Vec<u8>>,
}

/// The repositories of one scan, by site and name, and its options.
pub(super) struct Tree {
    pub(super) repositories: Vec<Repository>,
    pub(super) options: ScanOptions,
    /// The containment that makes a link, as a fraction.
    pub(super) containment: (u64, u64),
    pub(super) min_shared_bytes: u64,
    /// Folders of the first and of the second repository that are given as aligned.
    pub(super) aligned: Vec<[String; 2]>,
    pub(super) key: Key,
    pub(super) method: Method,
}

/// The facts of a content by which the definition decides.
pub(super) struct Facts {
    pub(super) bytes: Vec<u8>,
    pub(super) content: Content,
    pub(super) chunks: Vec<Chunk>,
    /// Repository and path of each document, ascending.
    pub(super) documents: Vec<(usize, String)>,
}

/// Random choices.
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, bound: u64) -> usize {
        usize::try_from(self.0.next() % bound).unwrap()
    }

    /// True once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64)].clone()
    }

    fn passage(&mut self) -> Vec<u8> {
        let length = 20 + self.below(500);
        // A few passages repeat one byte, or a short word.
        match self.below(12) {
            0 => vec![b'='; length],
            1 => b"ab cd, ".iter().copied().cycle().take(length).collect(),
            _ => (0..length).map(|_| b' ' + u8::try_from(self.below(64)).unwrap()).collect(),
        }
    }

    /// Replaces, inserts or removes a byte about every `distance` bytes.
    fn edited(&mut self, bytes: &[u8], distance: u64) -> Vec<u8> {
        let mut edited = Vec::with_capacity(bytes.len() + 16);
        for byte in bytes {
            match if self.once_in(distance) { self.below(3) } else { 3 } {
                0 => edited.push(b'!'),
                1 => edited.extend([*byte, b'?']),
                2 => {}
                _ => edited.push(*byte),
            }
        }
        edited
    }
}

impl Tree {
    /// The instance of a number.
    pub(super) fn random(seed: u64) -> Tree {
        let mut random = Random(SplitMix64::new(SplitMix64::mix(seed)));
        let parties = if random.once_in(3) { ["east", "west"] } else { ["home", "home"] };
        let count = [1, 2, 2, 2, 3, 4][random.below(6)];
        let mut repositories: Vec<Repository> = (0..count)
            .map(|number| Repository {
                party: parties[number % 2].parse().unwrap(),
                // Four repositories are at three sites.
                site: ["p", "q", "r", "p"][number].parse().unwrap(),
                name: if number == 3 { "second".parse().unwrap() } else { RepositoryName::main() },
                sends_samples: !random.once_in(8),
                documents: BTreeMap::new(),
            })
            .collect();
        if count == 4 {
            // A site belongs to one party.
            repositories[3].party = repositories[0].party.clone();
        }
        repositories.sort_by(|a, b| (&a.site, &a.name).cmp(&(&b.site, &b.name)));
        fill(&mut repositories, &mut random);
        let (min_containment, numerator, denominator) = random.pick(&CONTAINMENTS);
        let min_shared_bytes = random.pick(&[100, 600, 16_384]);
        let align = count == 2 && random.once_in(3);
        let aligned: Vec<[String; 2]> = match align {
            true => vec![["doc/v1".into(), "doc/v2".into()], ["src".into(), "old/src".into()]],
            false => Vec::new(),
        };
        let chunk_bytes = random.pick(&[80, 150, 300]);
        let options = ScanOptions {
            repositories: repositories.iter().map(|one| (one.site.clone(), one.name.clone())).collect(),
            view: ScanView::Raw,
            chunk_bytes: Some(chunk_bytes),
            min_shared_bytes: Some(min_shared_bytes),
            min_containment: min_containment.into(),
            across_only: random.once_in(2),
            control: if random.once_in(4) { vec!["**/control-*".into()] } else { Vec::new() },
            align: aligned.iter().map(|[a, b]| format!("{a}={b}")).collect(),
            no_align: true,
            no_sync: true,
            ..ScanOptions::default()
        };
        let key = if random.once_in(2) { Key::none() } else { Key::parse(&[7; 32]).unwrap() };
        let method = Method::tttd(View::Raw, chunk_bytes).unwrap();
        let containment = (numerator, denominator);
        Tree { repositories, options, containment, min_shared_bytes, aligned, key, method }
    }

    /// The contents in the order of their digests, which is that of their numbers.
    pub(super) fn contents(&self) -> Vec<Facts> {
        let fingerprinter = self.method.fingerprinter(&self.key);
        let mut of_digest: BTreeMap<ContentDigest, Facts> = BTreeMap::new();
        for (root, repository) in self.repositories.iter().enumerate() {
            for (path, bytes) in &repository.documents {
                let mut chunks = Vec::new();
                let content = fingerprinter.slice(bytes, |chunk| chunks.push(chunk));
                let facts = of_digest.entry(content.digest).or_insert_with(|| Facts {
                    bytes: bytes.clone(),
                    content: Content { sample: WindowSample::NONE, ..content },
                    chunks,
                    documents: Vec::new(),
                });
                if repository.sends_samples {
                    facts.content.sample = content.sample;
                }
                facts.documents.push((root, path.clone()));
            }
        }
        of_digest.into_values().collect()
    }
}

/// Puts documents into the repositories.
fn fill(repositories: &mut [Repository], random: &mut Random) {
    let passages: Vec<Vec<u8>> = (0..3 + random.below(12)).map(|_| random.passage()).collect();
    let header = if random.once_in(3) { random.passage() } else { Vec::new() };
    // In some instances a crowd of documents reaches the bounds.
    let documents = if random.once_in(6) { 30 + random.below(60) } else { 3 + random.below(18) };
    let crowd = random.once_in(2);
    let mut made: Vec<Vec<u8>> = Vec::new();
    for number in 0..documents {
        let earlier = if made.is_empty() { Vec::new() } else { random.pick(&made) };
        let bytes = match random.below(if crowd { 4 } else { 6 }) {
            0 if !made.is_empty() => earlier,
            1 | 2 if !made.is_empty() => {
                let distance = random.pick(&[40, 60, 90, 150, 400]);
                random.edited(&earlier, distance)
            }
            3 if !made.is_empty() => [&earlier[..], &random.passage()].concat(),
            _ => {
                let own: Vec<Vec<u8>> = (0..1 + random.below(5)).map(|_| random.pick(&passages)).collect();
                [&header[..], &own.concat(), &random.passage()].concat()
            }
        };
        // An instance in which every document is longer than the last one says nothing new.
        let bytes = if bytes.len() > 4000 { random.passage() } else { bytes };
        made.push(bytes.clone());
        let repository = random.below(repositories.len() as u64);
        let name = if random.once_in(2) { random.pick(&NAMES).to_owned() } else { format!("{number:x}") };
        let path = format!("{}{name}", random.pick(&FOLDERS));
        repositories[repository].documents.insert(path, bytes);
    }
}
