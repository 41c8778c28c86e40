//! The rows of the store, as they are encoded.

use cognate_fingerprint::MethodId;
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::ScanOptions;
use cognate_proto::scope::ScopeId;
use cognate_proto::v1;
use prost::Message;

use crate::segment::{SealRecord, SegmentHeader};

/// The number of an index: never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexId(pub u64);

/// A site or a person: what it may do, and by which key it is known.
#[derive(Clone, PartialEq, Message)]
pub struct MemberRow {
    /// Name, party and permissions of the member.
    #[prost(message, optional, tag = "1")]
    pub membership: Option<v1::Membership>,
    /// A [`v1::MemberStatus`].
    #[prost(enumeration = "v1::MemberStatus", tag = "2")]
    pub status: i32,
    /// The invitation that is open or was used.
    #[prost(message, optional, tag = "3")]
    pub invited: Option<Invited>,
    /// The certificate that was given last.
    #[prost(message, optional, tag = "4")]
    pub certified: Option<Certified>,
    /// The key that the last renewal was asked for with, which holds until the next: its answer may have been lost.
    /// SHA-256, 32 bytes or none.
    #[prost(bytes = "vec", tag = "5")]
    pub previous_key_sha256: Vec<u8>,
    /// The keys by which it was known when it was revoked, of every time: none is certified again. SHA-256, 32 bytes each.
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub revoked_keys_sha256: Vec<Vec<u8>>,
}

/// The last contact with a site, and its state then.
#[derive(Clone, PartialEq, Message)]
pub struct SeenRow {
    /// The process of its worker that this one took the place of; 0 if there was none.
    #[prost(fixed64, tag = "1")]
    pub replaced_instance: u64,
    /// Seconds since 1970.
    #[prost(sint64, tag = "2")]
    pub last_heard: i64,
    /// The version of the worker program, as it reports it.
    #[prost(string, tag = "3")]
    pub software: String,
    /// The names of the repositories that it offered last.
    #[prost(string, repeated, tag = "4")]
    pub repositories: Vec<String>,
    /// The number that the process of its worker gave itself.
    #[prost(fixed64, tag = "5")]
    pub instance: u64,
    /// A process that took the place of this one while it lived: it works with a copy of the state. 0 if there was none.
    #[prost(fixed64, tag = "7")]
    pub copy_instance: u64,
    /// True if it takes part in scans across parties without a key.
    #[prost(bool, tag = "6")]
    pub unkeyed_across_parties: bool,
}

/// State of a watch for one repository.
#[derive(Clone, PartialEq, Message)]
pub struct WatchedRow {
    /// The number of the index that was checked last.
    #[prost(uint64, tag = "1")]
    pub index: u64,
    /// The last batch of it that was checked.
    #[prost(uint64, tag = "2")]
    pub sequence: u64,
    /// Time of that check; seconds since 1970.
    #[prost(sint64, tag = "3")]
    pub checked: i64,
    /// Time of the last check that saw a new match; seconds since 1970, 0: none did.
    #[prost(sint64, tag = "4")]
    pub last_new: i64,
    /// Hashes of the documents that match, ascending.
    #[prost(fixed64, repeated, tag = "5")]
    pub known: Vec<u64>,
}

/// Indexes of a repository under a method.
#[derive(Clone, PartialEq, Message)]
pub struct SlotRow {
    /// The index that is analysed, or 0.
    #[prost(uint64, tag = "1")]
    pub current: u64,
    /// The index that will take its place once it is sealed, or 0.
    #[prost(uint64, tag = "2")]
    pub pending: u64,
}

/// State of an index.
#[derive(Clone, PartialEq, Message)]
pub struct IndexRow {
    /// Chosen at random by the worker when it begins the index again from nothing.
    #[prost(fixed64, tag = "1")]
    pub epoch: u64,
    /// The last batch that was acknowledged; 0: none.
    #[prost(uint64, tag = "2")]
    pub committed_sequence: u64,
    /// Bytes of the segment that count; bytes after them were never acknowledged.
    #[prost(uint64, tag = "3")]
    pub segment_bytes: u64,
    /// True if the worker and the coordinator have agreed on the index at least once.
    #[prost(bool, tag = "7")]
    pub sealed: bool,
    /// The last batch after which they agreed.
    #[prost(uint64, tag = "4")]
    pub sealed_sequence: u64,
    /// The largest chunk that the method cuts, in bytes.
    #[prost(uint32, tag = "5")]
    pub chunk_bytes_max: u32,
    /// Summary that the last sync sent next to the index.
    #[prost(message, optional, tag = "9")]
    pub summary: Option<cognate_proto::v1::SyncSummary>,
    /// Whose index it is: what the header of its segment says.
    #[prost(message, optional, tag = "10")]
    pub header: Option<SegmentHeader>,
    /// The chain over the digests of the batches: 32 bytes.
    #[prost(bytes = "vec", tag = "11")]
    pub head: Vec<u8>,
    /// The total size of the bodies of the batches, in bytes.
    #[prost(uint64, tag = "12")]
    pub body_bytes: u64,
    /// Number of contents that have an ordinal.
    #[prost(uint32, tag = "13")]
    pub ordinals: u32,
    /// The number of documents in the index.
    #[prost(uint64, tag = "14")]
    pub documents: u64,
    /// The total size of the documents in bytes, each copy counted.
    #[prost(uint64, tag = "15")]
    pub size_bytes: u64,
    /// The last seal: which it was of all, when, and under which root and canary.
    #[prost(message, optional, tag = "16")]
    pub seal: Option<SealRecord>,
    /// Bytes of the segment that would remain after a compaction.
    #[prost(uint64, tag = "17")]
    pub live_bytes: u64,
    /// The size of the segment in bytes when all of it was live.
    #[prost(uint64, tag = "18")]
    pub measured_bytes: u64,
    /// The estimated size of the index at that moment, in bytes; 0: not measured yet.
    #[prost(uint64, tag = "19")]
    pub measured_weight: u64,
    /// Bytes of the paths of the documents.
    #[prost(uint64, tag = "20")]
    pub name_bytes: u64,
    /// Derived, sorted runs of the segment's postings.
    #[prost(message, repeated, tag = "6")]
    pub runs: Vec<RunRow>,
}

/// One run: the postings of the batches up to `last_sequence` that no earlier run has.
#[derive(Clone, PartialEq, Message)]
pub struct RunRow {
    /// The number of the run; its file is named by it.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// The last batch whose postings the run has.
    #[prost(uint64, tag = "2")]
    pub last_sequence: u64,
}

/// A scan and the last step that it has finished.
#[derive(Clone, PartialEq, Message)]
pub struct ScanRow {
    /// The options of the scan: enough to carry it on after a restart.
    #[prost(message, optional, tag = "1")]
    pub options: Option<v1::ScanOptions>,
    /// A [`ScanStep`].
    #[prost(enumeration = "ScanStep", tag = "2")]
    pub step: i32,
    /// Time of the launch; seconds since 1970.
    #[prost(sint64, tag = "3")]
    pub started: i64,
    /// Frozen indexes; filled by the step of that name.
    #[prost(message, repeated, tag = "4")]
    pub frozen: Vec<FrozenRow>,
    /// Repositories that could not take part, and why.
    #[prost(message, repeated, tag = "5")]
    pub missing: Vec<MissingRow>,
    /// True if the sites fingerprinted with a key.
    #[prost(bool, tag = "7")]
    pub keyed: bool,
    /// Why the scan failed.
    #[prost(string, tag = "6")]
    pub failure: String,
    /// Name of the operator that launched it.
    #[prost(string, tag = "8")]
    pub launched_by: String,
    /// Time of its end; seconds since 1970, 0: it has not ended.
    #[prost(sint64, tag = "9")]
    pub finished: i64,
    /// The digest of the report, once there is one.
    #[prost(string, tag = "10")]
    pub digest: String,
    /// Grows with every scan: which of two that began in the same second was later.
    #[prost(uint64, tag = "11")]
    pub number: u64,
    /// The layers of the scan, in the order in which they are compared; none before they are frozen.
    #[prost(message, repeated, tag = "12")]
    pub layers: Vec<LayerRow>,
    /// The kind of the failure.
    #[prost(enumeration = "v1::FailureKind", tag = "13")]
    pub failure_kind: i32,
    /// BLAKE3 of the result's file, 32 bytes, once there is one.
    #[prost(bytes = "vec", tag = "14")]
    pub file_digest: Vec<u8>,
    /// What people call it, or empty. Only the launch and [`ScanNamed`](crate::journal::ScanNamed) change it.
    #[prost(string, tag = "15")]
    pub name: String,
    /// The fingerprint of the federation key under which the indexes were made, 16 bytes; empty without a key, or where it is not
    /// known which one it was.
    #[prost(bytes = "vec", tag = "16")]
    pub key_fingerprint: Vec<u8>,
    /// Repositories that did not give the fine chunks that they were asked for, though their policy allows it, and why.
    #[prost(message, repeated, tag = "17")]
    pub coarse: Vec<MissingRow>,
}

/// Facts about one layer of a scan: fixed when it is frozen, and found after that.
#[derive(Clone, PartialEq, Message)]
pub struct LayerRow {
    /// Ids of the templates in force when the scan was frozen, ascending; empty: none were.
    #[prost(fixed64, repeated, tag = "1")]
    pub templates: Vec<u64>,
    /// The digest of the tags of those templates, in hexadecimal digits; empty: there were none.
    #[prost(string, tag = "2")]
    pub templates_digest: String,
    /// Digest of the inputs of its analysis, once there is one: 32 bytes.
    #[prost(bytes = "vec", tag = "3")]
    pub binding: Vec<u8>,
    /// Digest shared by the layers that may begin with what it found: 32 bytes.
    #[prost(bytes = "vec", tag = "4")]
    pub kind: Vec<u8>,
}

impl FrozenRow {
    /// Whose index it is, where that can be read.
    pub fn slot(&self) -> Option<SlotKey> {
        Some(SlotKey {
            site: self.site.parse().ok()?,
            repository: self.repository.parse().ok()?,
            method_id: MethodId(self.method_id.as_slice().try_into().ok()?),
            scope: ScopeId::from_field(&self.scope).ok()?,
        })
    }
}

impl ScanRow {
    /// Records that the scan has failed.
    pub fn fail(&mut self, kind: v1::FailureKind, reason: impl Into<String>) {
        self.step = ScanStep::Failed.into();
        self.failure_kind = kind.into();
        self.failure = reason.into();
    }

    /// True if a repository is missing from its result, or gave less than its policy allows.
    pub fn is_partial(&self) -> bool {
        !self.missing.is_empty() || !self.coarse.is_empty()
    }

    /// The options of the scan.
    pub fn options(&self) -> ScanOptions {
        ScanOptions::of_record(self.options.as_ref())
    }

    /// The row of a layer; empty if it is not frozen yet.
    pub fn layer(&self, layer: usize) -> LayerRow {
        self.layers.get(layer).cloned().unwrap_or_default()
    }

    /// Replaces the row of a layer.
    pub fn set_layer(&mut self, layer: usize, row: LayerRow) {
        if self.layers.len() <= layer {
            self.layers.resize_with(layer + 1, LayerRow::default);
        }
        self.layers[layer] = row;
    }

    /// The number of its layers.
    pub fn layer_count(&self) -> usize {
        self.options().view.views().len()
    }

    /// Frozen indexes of a layer.
    pub fn frozen_of(&self, layer: usize) -> impl Iterator<Item = &FrozenRow> {
        self.frozen.iter().filter(move |row| usize::try_from(row.layer).is_ok_and(|own| own == layer))
    }

    /// The method of what was frozen of a layer.
    pub fn method_id(&self, layer: usize) -> Option<MethodId> {
        self.frozen_of(layer).next().and_then(|frozen| frozen.method_id.as_slice().try_into().ok()).map(MethodId)
    }
}

/// The steps of a scan, each begun only when the one before it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum ScanStep {
    /// Sites are being synced.
    Syncing = 0,
    /// The set of indexes is fixed.
    Frozen = 1,
    /// The result is published.
    Published = 2,
    /// It ended without a result.
    Failed = 3,
    /// Somebody stopped it.
    Cancelled = 4,
    /// Links, clusters and overlap are found and in files; between `Frozen` and `Published`.
    Analysed = 5,
}

impl ScanStep {
    /// True if the scan has not ended.
    pub fn is_under_way(self) -> bool {
        matches!(self, ScanStep::Syncing | ScanStep::Frozen | ScanStep::Analysed)
    }
}

/// One index of a frozen scan, at one moment of it.
#[derive(Clone, PartialEq, Message)]
pub struct FrozenRow {
    /// The name of the site.
    #[prost(string, tag = "1")]
    pub site: String,
    /// The name of the repository.
    #[prost(string, tag = "2")]
    pub repository: String,
    /// The number of its index.
    #[prost(uint64, tag = "3")]
    pub index: u64,
    /// The last batch of the index that belongs to the scan.
    #[prost(uint64, tag = "4")]
    pub sequence: u64,
    /// The summary of the last sync, where the site sent one.
    #[prost(message, optional, tag = "5")]
    pub summary: Option<cognate_proto::v1::SyncSummary>,
    /// The party of the site at the launch.
    #[prost(string, tag = "6")]
    pub party: String,
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "7")]
    pub method_id: Vec<u8>,
    /// Digest of the chosen contents of a refinement: 16 bytes; none: all of the repository.
    #[prost(bytes = "vec", tag = "8")]
    pub scope: Vec<u8>,
    /// Number of documents that the refinement chose.
    #[prost(uint64, tag = "9")]
    pub chosen_documents: u64,
    /// Number of the scan's layer that it belongs to, from 0.
    #[prost(uint32, tag = "10")]
    pub layer: u32,
}

/// A repository that could not take part.
#[derive(Clone, PartialEq, Message)]
pub struct MissingRow {
    /// The name of the site.
    #[prost(string, tag = "1")]
    pub site: String,
    /// The name of the repository.
    #[prost(string, tag = "2")]
    pub repository: String,
    /// The reason, as reports show it.
    #[prost(string, tag = "3")]
    pub reason: String,
}

/// A repository under a method, or some of its contents. An index with a scope never counts as the complete index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SlotKey {
    /// The site.
    pub site: SiteName,
    /// The repository of the site.
    pub repository: RepositoryName,
    /// The method that fingerprinted it.
    pub method_id: MethodId,
    /// `None`: all documents of the repository.
    pub scope: Option<ScopeId>,
}

impl SlotKey {
    /// Whose index a segment holds.
    pub fn of(header: &SegmentHeader) -> Option<SlotKey> {
        let method_id = header.method.as_ref()?.method_id.as_slice().try_into().ok()?;
        Some(SlotKey {
            site: header.site.parse().ok()?,
            repository: header.repository.parse().ok()?,
            method_id: MethodId(method_id),
            scope: ScopeId::from_field(&header.scope).ok()?,
        })
    }
}

/// An invitation, as far as the coordinator keeps it: never the secret itself.
#[derive(Clone, PartialEq, Message)]
pub struct Invited {
    /// The membership that the invitation offers.
    #[prost(message, required, tag = "1")]
    pub membership: v1::Membership,
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub token_id: Vec<u8>,
    /// BLAKE3 of the secret: 32 bytes.
    #[prost(bytes = "vec", tag = "3")]
    pub secret_hash: Vec<u8>,
    /// Seconds since 1970.
    #[prost(sint64, tag = "4")]
    pub expires: i64,
}

/// A certificate that was given.
#[derive(Clone, PartialEq, Message)]
pub struct Certified {
    /// The member that the certificate is for.
    #[prost(message, required, tag = "1")]
    pub name: MemberName,
    /// DER.
    #[prost(bytes = "vec", tag = "2")]
    pub certificate: Vec<u8>,
    /// SHA-256 of the member's public key (`SubjectPublicKeyInfo`, DER): 32 bytes.
    #[prost(bytes = "vec", tag = "3")]
    pub key_sha256: Vec<u8>,
    /// Time of its end; seconds since 1970.
    #[prost(sint64, tag = "4")]
    pub not_after: i64,
    /// The invitation that it goes back to: 16 bytes, or nothing.
    #[prost(bytes = "vec", tag = "5")]
    pub token_id: Vec<u8>,
    /// The key that a renewal was asked for with: 32 bytes, or nothing.
    #[prost(bytes = "vec", tag = "6")]
    pub asked_with_key_sha256: Vec<u8>,
}

/// Name and kind of a member.
#[derive(Clone, PartialEq, Message)]
pub struct MemberName {
    /// A [`v1::MemberKind`]; sites and operators have names of their own.
    #[prost(enumeration = "v1::MemberKind", tag = "1")]
    pub kind: i32,
    /// The name, unique among members of the kind.
    #[prost(string, tag = "2")]
    pub name: String,
}

impl MemberName {
    /// The site of this name; none where the member is of another kind, since an operator may have the name of a site.
    pub fn site(&self) -> Option<SiteName> {
        if self.kind() == v1::MemberKind::Site { self.name.parse().ok() } else { None }
    }
}
