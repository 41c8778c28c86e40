//! Made indexes and scans over them, without a worker.

pub use std::num::NonZeroUsize;
use std::time::Duration;

use cognate_analysis::AnalysisLimits;
use cognate_fingerprint::{Chunk, Content, ContentDigest, Key, Method, Tag, View, WindowSample};
use cognate_proto::batch::{BatchBuilder, DocumentRow, DocumentState, body_digest};
use cognate_proto::index_digest::{IndexDigest, RowHash};
use cognate_proto::name::{PartyName, RepositoryName, ScanId};
use cognate_proto::options::{ScanOptions, ScanView};
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::{ChunkTable, ScanState, ScanStatus};
use cognate_storage::harness::method;
use cognate_storage::store::SlotKey;

use crate::coordinator::Coordinator;

pub const LIMITS: AnalysisLimits =
    AnalysisLimits { memory_budget_bytes: 64 << 20, pairs_max: u64::MAX, threads: NonZeroUsize::MIN };

pub fn key(site: &str) -> SlotKey {
    SlotKey {
        site: site.parse().unwrap(),
        repository: RepositoryName::main(),
        method_id: method().id(&Key::none()),
        scope: None,
    }
}

/// Options of a scan under [`method`].
pub fn spec(no_sync: bool) -> ScanOptions {
    let repositories = ["a", "b"].map(|site| (site.parse().unwrap(), RepositoryName::main()));
    let chunk_bytes = Some(method().chunk_bytes().into());
    ScanOptions {
        repositories: repositories.to_vec(),
        view: ScanView::Raw,
        chunk_bytes,
        min_shared_bytes: Some(50),
        no_sync,
        ..ScanOptions::default()
    }
}

/// Waits until a scan is in a state.
pub async fn wait(coordinator: &Coordinator, id: ScanId, wanted: impl Fn(&ScanState) -> bool) -> ScanState {
    let waiting = async {
        loop {
            let state = coordinator.services().scans.state(id).unwrap();
            if wanted(&state) {
                return state;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it comes to that soon")
}

pub fn ended(state: &ScanState) -> bool {
    !matches!(state.status(), ScanStatus::Syncing | ScanStatus::Analysing)
}

/// A document of an index: its path, and its chunks of a hundred bytes, or the reason for having none.
#[derive(Clone)]
pub struct Held {
    path: &'static str,
    what: Result<Vec<u8>, DocumentState>,
    message: Option<u8>,
    /// The chunks whose digest the content claims, in place of its own.
    claimed: Option<Vec<u8>>,
}

pub fn held(path: &'static str, chunks: &[u8]) -> Held {
    Held { path, what: Ok(chunks.to_vec()), message: None, claimed: None }
}

pub fn none(path: &'static str, why: DocumentState) -> Held {
    Held { path, what: Err(why), message: None, claimed: None }
}

pub fn message(path: &'static str, chunks: &[u8], message: u8) -> Held {
    Held { message: Some(message), ..held(path, chunks) }
}

/// A document that is sent with the digest of another content.
pub fn falsified(path: &'static str, claimed: &[u8], chunks: &[u8]) -> Held {
    Held { claimed: Some(claimed.to_vec()), ..held(path, chunks) }
}

pub fn under(view: View) -> Method {
    Method::tttd(view, 1000).unwrap()
}

/// Seals an index of these documents.
pub fn fill(coordinator: &Coordinator, site: &str, view: View, epoch: u64, documents: &[Held]) {
    fill_of((&PartyName::home(), &Key::none()), coordinator, site, view, epoch, documents);
}

/// The same, of a site of a party, under a key.
pub fn fill_of(
    (party, under_key): (&PartyName, &Key),
    coordinator: &Coordinator,
    site: &str,
    view: View,
    epoch: u64,
    documents: &[Held],
) {
    coordinator.admit(&site.parse().unwrap(), party).unwrap();
    let method = under(view);
    let key = SlotKey { method_id: method.id(under_key), ..key(site) };
    let mut writer = coordinator.services().scans.analyser.indexes.writer(key, epoch, &method).unwrap();
    let (mut builder, mut root) = (BatchBuilder::default(), IndexDigest::default());
    let mut sent = Vec::new();
    for document in documents {
        let content = document.what.as_ref().ok().map(|chunks| {
            let mut table = ChunkTable::default();
            for chunk in chunks {
                let tag = Tag([*chunk; 16]);
                table.push(&Chunk { offset: 0, length_bytes: 100, tag, repeated_byte: false });
            }
            let claimed = document.claimed.as_ref().unwrap_or(chunks);
            let digest = ContentDigest(*blake3::hash(claimed).as_bytes().first_chunk().unwrap());
            let (size_bytes, chunk_count) = (100 * chunks.len() as u64, chunks.len() as u64);
            let content = Content { size_bytes, chunk_count, digest, sample: WindowSample::NONE };
            (content, table)
        });
        if let Some((content, table)) = content.as_ref().filter(|(content, _)| !sent.contains(&content.digest)) {
            sent.push(content.digest);
            builder.content(content, table);
            root.add(RowHash::of_content(content.digest, content.size_bytes, content.chunk_count, 0));
        }
        let row = DocumentRow {
            path: DocumentPath::new(document.path.as_bytes()).unwrap(),
            state: document.what.as_ref().err().copied().unwrap_or(DocumentState::Read),
            content: content.map(|(content, _)| content.digest),
            modified: 0,
            message_id_hash: document.message.map(|message| [message; 16]),
        };
        root.add(RowHash::of_document(&row));
        builder.document(row);
    }
    let (body, _) = builder.finish();
    assert!(writer.batch(1, &body_digest(&body), &body).unwrap().is_ok());
    writer.seal(1, &root.to_bytes()).unwrap();
}

pub fn spec_of(view: ScanView) -> ScanOptions {
    ScanOptions { view, chunk_bytes: Some(1000), min_shared_bytes: Some(10_000), ..spec(true) }
}
