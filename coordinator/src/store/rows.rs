//! The rows of the store, as they are encoded.

use cognate_fingerprint::MethodId;
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::scope::ScopeId;
use cognate_proto::v1;
use prost::Message;

use crate::journal::{Certified, Invited};
use crate::segment::{SealRecord, SegmentHeader};

/// The number of an index: never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct IndexId(pub(crate) u64);

/// A site or a person: what it may do, and by which key it is known.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MemberRow {
    #[prost(message, optional, tag = "1")]
    pub(crate) membership: Option<v1::Membership>,
    #[prost(enumeration = "v1::MemberStatus", tag = "2")]
    pub(crate) status: i32,
    /// The invitation that is open or was used.
    #[prost(message, optional, tag = "3")]
    pub(crate) invited: Option<Invited>,
    /// The certificate that was given last.
    #[prost(message, optional, tag = "4")]
    pub(crate) certified: Option<Certified>,
    /// The key that the last renewal was asked for with, which holds until the next: its answer may have been lost.
    /// SHA-256, 32 bytes or none.
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) previous_key_sha256: Vec<u8>,
}

/// When a site was last heard of, and as what.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SeenRow {
    /// How often its worker has been started: a lower number is a copy of an older state.
    #[prost(uint64, tag = "1")]
    pub(crate) generation: u64,
    /// Seconds since 1970.
    #[prost(sint64, tag = "2")]
    pub(crate) last_heard: i64,
    #[prost(string, tag = "3")]
    pub(crate) software: String,
    /// The names of the repositories that it offered last.
    #[prost(string, repeated, tag = "4")]
    pub(crate) repositories: Vec<String>,
    /// The number that the worker of this generation gave itself.
    #[prost(fixed64, tag = "5")]
    pub(crate) instance: u64,
    /// Whether it takes part in scans across parties without a key.
    #[prost(bool, tag = "6")]
    pub(crate) unkeyed_across_parties: bool,
}

/// What a watch knows of a repository.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WatchedRow {
    /// The index that was looked at, and up to which batch.
    #[prost(uint64, tag = "1")]
    pub(crate) index: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) sequence: u64,
    /// When that was, and when there was last something new; seconds since 1970.
    #[prost(sint64, tag = "3")]
    pub(crate) checked: i64,
    #[prost(sint64, tag = "4")]
    pub(crate) last_new: i64,
    /// Hashes of the documents that match, ascending.
    #[prost(fixed64, repeated, tag = "5")]
    pub(crate) known: Vec<u64>,
}

/// Which indexes a repository has under a method.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SlotRow {
    /// The index that is analysed, or 0.
    #[prost(uint64, tag = "1")]
    pub(crate) current: u64,
    /// The index that will take its place once it is sealed, or 0.
    #[prost(uint64, tag = "2")]
    pub(crate) pending: u64,
}

/// Where an index stands.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct IndexRow {
    #[prost(fixed64, tag = "1")]
    pub(crate) epoch: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) committed_sequence: u64,
    /// How much of the segment counts; what lies beyond was never acknowledged.
    #[prost(uint64, tag = "3")]
    pub(crate) segment_bytes: u64,
    /// Whether the worker and the coordinator have ever agreed on the root, and after which batch they last did.
    #[prost(bool, tag = "7")]
    pub(crate) sealed: bool,
    #[prost(uint64, tag = "4")]
    pub(crate) sealed_sequence: u64,
    #[prost(uint32, tag = "5")]
    pub(crate) chunk_bytes_max: u32,
    /// What the last sync told beside the index.
    #[prost(message, optional, tag = "9")]
    pub(crate) summary: Option<cognate_proto::v1::SyncSummary>,
    /// Whose index it is: what the header of its segment says.
    #[prost(message, optional, tag = "10")]
    pub(crate) header: Option<SegmentHeader>,
    /// The chain over the digests of the batches, 32 bytes, and what their bodies came to.
    #[prost(bytes = "vec", tag = "11")]
    pub(crate) head: Vec<u8>,
    #[prost(uint64, tag = "12")]
    pub(crate) body_bytes: u64,
    /// How many contents have been numbered.
    #[prost(uint32, tag = "13")]
    pub(crate) ordinals: u32,
    /// What it holds.
    #[prost(uint64, tag = "14")]
    pub(crate) documents: u64,
    #[prost(uint64, tag = "15")]
    pub(crate) size_bytes: u64,
    /// The last seal: which it was of all, when, and under which root and canary.
    #[prost(message, optional, tag = "16")]
    pub(crate) seal: Option<SealRecord>,
    /// How much of the segment would stay if it were put together anew.
    #[prost(uint64, tag = "17")]
    pub(crate) live_bytes: u64,
    /// What the segment took when all of it was live, and what that was by estimate.
    #[prost(uint64, tag = "18")]
    pub(crate) measured_bytes: u64,
    #[prost(uint64, tag = "19")]
    pub(crate) measured_weight: u64,
    /// Derived, sorted runs of the segment's postings.
    #[prost(message, repeated, tag = "6")]
    pub(crate) runs: Vec<RunRow>,
}

/// One run: the postings of the batches up to `last_sequence` that no earlier run has.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RunRow {
    #[prost(uint64, tag = "1")]
    pub(crate) number: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) last_sequence: u64,
}

/// A scan and the last step that it has finished.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScanRow {
    /// What was asked for: enough to carry the scan on after a restart.
    #[prost(message, optional, tag = "1")]
    pub(crate) spec: Option<v1::ScanSpec>,
    #[prost(enumeration = "ScanStep", tag = "2")]
    pub(crate) step: i32,
    #[prost(sint64, tag = "3")]
    pub(crate) started: i64,
    /// What was frozen: filled by the step of that name.
    #[prost(message, repeated, tag = "4")]
    pub(crate) frozen: Vec<FrozenRow>,
    /// Repositories that could not take part, and why.
    #[prost(message, repeated, tag = "5")]
    pub(crate) missing: Vec<MissingRow>,
    /// Whether the sites fingerprinted with a key.
    #[prost(bool, tag = "7")]
    pub(crate) keyed: bool,
    /// Why the scan failed.
    #[prost(string, tag = "6")]
    pub(crate) failure: String,
    /// Who launched it.
    #[prost(string, tag = "8")]
    pub(crate) launched_by: String,
    /// When it ended; seconds since 1970, 0: it has not.
    #[prost(sint64, tag = "9")]
    pub(crate) finished: i64,
    /// The digest of the report, once there is one.
    #[prost(string, tag = "10")]
    pub(crate) digest: String,
    /// Grows with every scan: which of two that began in the same second was later.
    #[prost(uint64, tag = "11")]
    pub(crate) number: u64,
    /// The templates that were in force when it was frozen, ascending, and the digest of their tags; nothing: none were.
    #[prost(fixed64, repeated, tag = "12")]
    pub(crate) templates: Vec<u64>,
    #[prost(string, tag = "13")]
    pub(crate) templates_digest: String,
    /// What an analysis follows from, once there is one: its files are bound to it. 32 bytes.
    #[prost(bytes = "vec", tag = "20")]
    pub(crate) binding: Vec<u8>,
    /// What it has in common with the scans that may begin with what it found. 32 bytes.
    #[prost(bytes = "vec", tag = "21")]
    pub(crate) kind: Vec<u8>,
    /// The same of the second layer, where there are two.
    #[prost(message, optional, tag = "22")]
    pub(crate) text: Option<LayerRow>,
}

/// What is fixed of one layer of a scan when it is frozen, and what is found after that.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LayerRow {
    /// The templates that were in force, ascending, and the digest of their tags; nothing: none were.
    #[prost(fixed64, repeated, tag = "1")]
    pub(crate) templates: Vec<u64>,
    #[prost(string, tag = "2")]
    pub(crate) templates_digest: String,
    /// What its analysis follows from, once there is one: 32 bytes.
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) binding: Vec<u8>,
    /// What it has in common with the layers that may begin with what it found: 32 bytes.
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) kind: Vec<u8>,
}

impl FrozenRow {
    /// Whose index it is, where that can be read.
    pub(crate) fn slot(&self) -> Option<SlotKey> {
        Some(SlotKey {
            site: self.site.parse().ok()?,
            repository: self.repository.parse().ok()?,
            method_id: MethodId(self.method_id.as_slice().try_into().ok()?),
            scope: ScopeId::from_field(&self.scope).ok()?,
        })
    }
}

impl ScanRow {
    /// What is known of a layer.
    pub(crate) fn layer(&self, layer: usize) -> LayerRow {
        match (layer, &self.text) {
            (0, _) => LayerRow {
                templates: self.templates.clone(),
                templates_digest: self.templates_digest.clone(),
                binding: self.binding.clone(),
                kind: self.kind.clone(),
            },
            (_, text) => text.clone().unwrap_or_default(),
        }
    }

    /// Writes down what is known of a layer.
    pub(crate) fn set_layer(&mut self, layer: usize, row: LayerRow) {
        if layer > 0 {
            self.text = Some(row);
        } else {
            let LayerRow { templates, templates_digest, binding, kind } = row;
            *self = ScanRow { templates, templates_digest, binding, kind, ..std::mem::take(self) };
        }
    }

    /// How many layers it has.
    pub(crate) fn layers(&self) -> usize {
        1 + usize::from(self.spec.as_ref().is_some_and(|spec| spec.text.is_some()))
    }

    /// What was frozen of a layer.
    pub(crate) fn frozen_of(&self, layer: usize) -> impl Iterator<Item = &FrozenRow> {
        self.frozen.iter().filter(move |row| usize::try_from(row.layer).is_ok_and(|own| own == layer))
    }

    /// The method of what was frozen of a layer.
    pub(crate) fn method_id(&self, layer: usize) -> Option<MethodId> {
        self.frozen_of(layer).next().and_then(|frozen| frozen.method_id.as_slice().try_into().ok()).map(MethodId)
    }
}

/// The steps of a scan, each begun only when the one before it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum ScanStep {
    /// Sites are being synced.
    Syncing = 0,
    /// The set of indexes is fixed.
    Frozen = 1,
    /// The result stands.
    Published = 2,
    /// It ended without a result.
    Failed = 3,
    /// Somebody stopped it.
    Cancelled = 4,
    /// Links, clusters and overlap are found and in files; between `Frozen` and `Published`.
    Analysed = 5,
}

impl ScanStep {
    /// Whether the scan has not ended.
    pub(crate) fn is_under_way(self) -> bool {
        matches!(self, ScanStep::Syncing | ScanStep::Frozen | ScanStep::Analysed)
    }
}

/// One index of a frozen scan, at one moment of it.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FrozenRow {
    #[prost(string, tag = "1")]
    pub(crate) site: String,
    #[prost(string, tag = "2")]
    pub(crate) repository: String,
    #[prost(uint64, tag = "3")]
    pub(crate) index: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) sequence: u64,
    #[prost(message, optional, tag = "5")]
    pub(crate) summary: Option<cognate_proto::v1::SyncSummary>,
    #[prost(string, tag = "6")]
    pub(crate) party: String,
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "7")]
    pub(crate) method_id: Vec<u8>,
    /// Which contents it is about, where the scan refines: 16 bytes; none: all of the repository.
    #[prost(bytes = "vec", tag = "8")]
    pub(crate) scope: Vec<u8>,
    /// How many documents the refinement chose.
    #[prost(uint64, tag = "9")]
    pub(crate) chosen_documents: u64,
    /// Which of the scan's layers it belongs to, from 0.
    #[prost(uint32, tag = "10")]
    pub(crate) layer: u32,
}

/// A repository that could not take part.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MissingRow {
    #[prost(string, tag = "1")]
    pub(crate) site: String,
    #[prost(string, tag = "2")]
    pub(crate) repository: String,
    #[prost(string, tag = "3")]
    pub(crate) reason: String,
}

/// Which repository under which method, or which contents of it. What has a scope is never taken for the whole.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SlotKey {
    pub(crate) site: SiteName,
    pub(crate) repository: RepositoryName,
    pub(crate) method_id: MethodId,
    /// `None`: all documents of the repository.
    pub(crate) scope: Option<ScopeId>,
}

impl SlotKey {
    /// Whose index a segment holds.
    pub(crate) fn of(header: &SegmentHeader) -> Option<SlotKey> {
        let method_id = header.method.as_ref()?.method_id.as_slice().try_into().ok()?;
        Some(SlotKey {
            site: header.site.parse().ok()?,
            repository: header.repository.parse().ok()?,
            method_id: MethodId(method_id),
            scope: ScopeId::from_field(&header.scope).ok()?,
        })
    }

    /// Whose index it is: two names that each end with a 0, the method id, and the scope where there is one.
    pub(super) fn parse(bytes: &[u8]) -> Option<SlotKey> {
        let mut parts = bytes.splitn(3, |byte| *byte == 0);
        let (site, repository, ids) = (parts.next()?, parts.next()?, parts.next()?);
        let (method_id, scope) = ids.split_first_chunk()?;
        Some(SlotKey {
            site: std::str::from_utf8(site).ok()?.parse().ok()?,
            repository: std::str::from_utf8(repository).ok()?.parse().ok()?,
            method_id: MethodId(*method_id),
            scope: ScopeId::from_field(scope).ok()?,
        })
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let scope = self.scope.as_ref().map_or(&[][..], |scope| &scope.0);
        let names = [self.site.as_str().as_bytes(), &[0], self.repository.as_str().as_bytes(), &[0]].concat();
        [&names[..], &self.method_id.0, scope].concat()
    }
}
