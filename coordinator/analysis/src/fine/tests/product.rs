//! The product over a tree: indexes as sites send them, an analysis of them, and its result file.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use cognate_fingerprint::{Chunk, Content, ContentDigest, FineCutter, Key, WindowSample};
use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState, body_digest};
use cognate_proto::fine::Expansion;
use cognate_proto::index_digest::{IndexDigest, RowHash};
use cognate_proto::name::ScanId;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::ChunkTable;
use cognate_storage::indexes::{Indexes, IndexesConfig, SiteQuotas};
use cognate_storage::maintenance;
use cognate_storage::store::{FrozenRow, ScanRow, ScanStep, SlotKey, Store};

use super::Outcome;
use super::trees::{Facts, Repository, Tree};
use crate::analyser::Analyser;
use crate::error::Error;
use crate::fine::{FineArrival, FineFailure, FineSiteEnd, FineSource, FineWork, MeasureAnswer, MeasureRequest};
use crate::published::IntactResults;
use crate::spec::{AnalysisLimits, ScanJob, ScanSpec};

const LIMITS: AnalysisLimits =
    AnalysisLimits { memory_budget_bytes: 64 << 20, pairs_max: u64::MAX, threads: NonZeroUsize::new(2).expect("two") };

/// A coordinator's state, which all instances use.
pub(super) struct Product {
    folder: tempfile::TempDir,
    store: Arc<Store>,
    indexes: Arc<Indexes>,
}

/// The sites: they cut the chunks of the contents that they have.
struct Sites<'a> {
    contents: HashMap<ContentDigest, &'a Facts>,
    key: &'a Key,
}

impl Product {
    pub(super) fn open() -> Product {
        let folder = tempfile::tempdir().unwrap();
        let config = IndexesConfig {
            durable: false,
            clock: || UNIX_EPOCH,
            disk_reserve_bytes: 0,
            quotas: SiteQuotas::default(),
        };
        let (store, indexes) = maintenance::open(folder.path(), config).unwrap();
        Product { folder, store, indexes }
    }

    /// The outcome of a scan of a tree.
    pub(super) fn compare(&self, tree: &Tree, epoch: u64) -> Outcome {
        let frozen = tree.repositories.iter().map(|repository| self.frozen(tree, repository, epoch)).collect();
        let mut row = ScanRow {
            options: Some((&tree.options).into()),
            step: ScanStep::Frozen.into(),
            frozen,
            number: epoch,
            ..ScanRow::default()
        };
        let spec = ScanSpec { in_process: true, ..ScanSpec::new(tree.options.clone(), &LIMITS).unwrap() };
        let job = ScanJob::unwatched(ScanId(epoch), spec);
        let scans = self.folder.path().join("scans");
        let analyser = Analyser {
            store: Arc::clone(&self.store),
            indexes: Arc::clone(&self.indexes),
            folder: scans.clone(),
            clock: || UNIX_EPOCH,
            checked: IntactResults::default(),
            spark: Default::default(),
        };
        let contents = tree.contents();
        let of_digest = contents.iter().map(|facts| (facts.content.digest, facts)).collect();
        let written = analyser.analyse(&job, &mut row, &Sites { contents: of_digest, key: &tree.key }).unwrap();
        let outcome = read(&written.path, &contents);
        std::fs::remove_dir_all(scans).unwrap();
        outcome
    }

    /// Sends the index of a repository.
    fn frozen(&self, tree: &Tree, repository: &Repository, epoch: u64) -> FrozenRow {
        let method_id = tree.method.id(&tree.key);
        let key =
            SlotKey { site: repository.site.clone(), repository: repository.name.clone(), method_id, scope: None };
        let mut writer = self.indexes.writer(key.clone(), epoch, &tree.method).unwrap();
        let fingerprinter = tree.method.fingerprinter(&tree.key);
        let (mut batch, mut digest, mut sequence) = (BatchBuilder::default(), IndexDigest::default(), 0);
        let mut sent = HashSet::new();
        let documents = repository.documents.iter().map(Some).chain([None]);
        for document in documents {
            if let Some((path, bytes)) = document {
                let mut table = ChunkTable::default();
                let content = fingerprinter.slice(bytes, |chunk: Chunk| table.push(&chunk));
                let sample = if repository.sends_samples { content.sample } else { WindowSample::NONE };
                let content = Content { sample, ..content };
                if sent.insert(content.digest) {
                    let Content { size_bytes, chunk_count, digest: of_content, ref sample } = content;
                    digest.add(RowHash::of_content(of_content, size_bytes, chunk_count, sample.digest()));
                    batch.content(&content, &table);
                }
                let row = DocumentRow {
                    path: DocumentPath::new(path.as_bytes()).unwrap(),
                    state: DocumentState::Read,
                    content: Some(content.digest),
                    modified: 0,
                    message_id_hash: None,
                };
                digest.add(RowHash::of_document(&row));
                batch.document(row);
            }
            if batch.is_full() || document.is_none() && !batch.is_empty() {
                sequence += 1;
                let (body, _) = batch.finish();
                assert!(writer.batch(sequence, &body_digest(&body), &body).unwrap().is_ok());
            }
        }
        writer.seal(sequence, &digest.to_bytes()).unwrap();
        let sealed = self.indexes.sealed(&key).unwrap().unwrap();
        FrozenRow {
            site: key.site.to_string(),
            repository: key.repository.to_string(),
            index: sealed.id.0,
            sequence: sealed.sequence,
            party: repository.party.to_string(),
            method_id: method_id.0.to_vec(),
            ..FrozenRow::default()
        }
    }
}

/// Reads the links and the counts of a result.
fn read(path: &Path, contents: &[Facts]) -> Outcome {
    let result = rusqlite::Connection::open(path).unwrap();
    let number = |digest: Vec<u8>| {
        let place = contents.iter().position(|facts| facts.content.digest.0[..] == digest[..]);
        u32::try_from(place.unwrap()).unwrap()
    };
    let mut query = result
        .prepare(
            "SELECT x.digest, y.digest, shared_bytes FROM link JOIN content x ON x.id = a JOIN content y ON y.id = b",
        )
        .unwrap();
    let links = query
        .query_map([], |row| {
            let (a, b) = (number(row.get(0)?), number(row.get(1)?));
            Ok(((a.min(b), a.max(b)), row.get::<_, i64>(2)?.unsigned_abs()))
        })
        .unwrap();
    let links = links.collect::<Result<_, _>>().unwrap();
    let counts = result
        .query_row("SELECT fine_pairs, coarse_pairs, omitted_pairs FROM layer", [], |row| {
            Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?].map(i64::unsigned_abs))
        })
        .unwrap();
    assert_eq!(counts[1], 0, "every chunk was cut");
    Outcome { links, candidates: counts[0], omitted: counts[2], too_long: 0 }
}

impl FineSource for Sites<'_> {
    fn ask(&self, work: &mut dyn FineWork) -> Result<(), Error> {
        let cutter = FineCutter::new(self.key);
        for number in 0..work.repositories().len() {
            while let Some(request) = work.next(number, 3) {
                let mut expansions = Vec::new();
                for (digest, tags) in &request.choice.contents {
                    let facts = self.contents[digest];
                    for tag in tags {
                        let chunk = facts.chunks.iter().find(|chunk| chunk.tag == *tag).unwrap();
                        let start = usize::try_from(chunk.offset).unwrap();
                        let mut fine = Vec::new();
                        cutter.cut(&facts.bytes[start..start + chunk.length_bytes as usize], |piece| fine.push(piece));
                        expansions.push(Expansion { tag: *tag, fine });
                    }
                }
                work.take(vec![FineArrival { number, expansions, sent_bytes: 0 }])?;
                work.end(number, Ok(FineSiteEnd::default()));
            }
        }
        Ok(())
    }

    fn measure(&self, requests: Vec<MeasureRequest>) -> Vec<Result<MeasureAnswer, FineFailure>> {
        requests.iter().map(|_| Err(FineFailure::passing("the oracle is about links"))).collect()
    }
}
