//! The entries of a ledger: one for every message that leaves this site.

/// Sums over a ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Totals {
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// One message, written before it is sent.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Entry {
    /// 1, 2, 3 and so on.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// Milliseconds since 1970.
    #[prost(sint64, tag = "2")]
    pub utc_ms: i64,
    /// The kind of the message.
    #[prost(enumeration = "Kind", tag = "3")]
    pub kind: i32,
    /// The address that the message is sent to.
    #[prost(string, tag = "4")]
    pub destination: String,
    /// The length of the encoded message.
    #[prost(uint64, tag = "5")]
    pub message_bytes: u64,
    /// BLAKE3 of the encoded message: 32 bytes.
    #[prost(bytes = "vec", tag = "6")]
    pub digest: Vec<u8>,
    /// Bytes of all messages up to and including this one.
    #[prost(uint64, tag = "7")]
    pub bytes_so_far: u64,
    /// The index that the message belongs to, if any.
    #[prost(message, optional, tag = "8")]
    pub index: Option<IndexEntry>,
}

/// The index and the batch that a message of a push belongs to.
#[derive(Clone, PartialEq, prost::Message)]
pub struct IndexEntry {
    /// The repository.
    #[prost(string, tag = "1")]
    pub repository: String,
    /// The method id: 16 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub method_id: Vec<u8>,
    /// The epoch of the index.
    #[prost(fixed64, tag = "3")]
    pub epoch: u64,
    /// The number of the batch; for a seal, of the last batch.
    #[prost(uint64, tag = "4")]
    pub sequence: u64,
    /// The length of the batch's body.
    #[prost(uint64, tag = "5")]
    pub body_bytes: u64,
    /// The digest under which the coordinator knows the body: 16 bytes.
    #[prost(bytes = "vec", tag = "6")]
    pub body_digest: Vec<u8>,
    /// Documents in the batch.
    #[prost(uint64, tag = "7")]
    pub documents: u64,
    /// Contents in the batch.
    #[prost(uint64, tag = "8")]
    pub contents: u64,
    /// Chunks in the batch.
    #[prost(uint64, tag = "9")]
    pub chunks: u64,
    /// The scope of a refinement's index: 16 bytes, or empty.
    #[prost(bytes = "vec", tag = "10")]
    pub scope: Vec<u8>,
}

/// All kinds of messages that leave a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, prost::Enumeration)]
#[repr(i32)]
pub enum Kind {
    /// The greeting of a session.
    Hello = 1,
    /// The progress of a sync.
    Progress = 2,
    /// The end of a sync, with its summary.
    Ended = 3,
    /// A sign of life.
    KeepAlive = 4,
    /// The state of the site: paused or not.
    State = 5,
    /// The opening of an index.
    Open = 6,
    /// A batch of an index.
    Batch = 7,
    /// The seal of a complete index.
    Seal = 8,
    /// A request for a certificate, with an invitation.
    Enroll = 9,
    /// A request for a new certificate.
    Renew = 10,
    /// A request for the coordinator's counts of this site's indexes.
    ReceivedRequest = 11,
    /// A request for results.
    ResultsRequest = 12,
    /// A request for the contents of a refinement.
    ScopeRequest = 13,
    /// A request for the file hashes of a query.
    FileHashesRequest = 14,
    /// The files that match a query by hashes.
    FileHashHits = 15,
    /// A request for the choice of a query for fine chunks.
    FineChoiceRequest = 16,
    /// Fine chunks of chosen chunks.
    FineChunks = 17,
    /// What pairs of contents truly have in common, in counts.
    Measures = 18,
    /// The end of a sync that failed.
    Failed = 19,
}

impl Kind {
    /// The name in listings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Hello => "hello",
            Kind::Progress => "progress",
            Kind::Ended => "ended",
            Kind::KeepAlive => "keep-alive",
            Kind::State => "state",
            Kind::Open => "open",
            Kind::Batch => "batch",
            Kind::Seal => "seal",
            Kind::Enroll => "enroll",
            Kind::Renew => "renew",
            Kind::ReceivedRequest => "received-request",
            Kind::ResultsRequest => "results-request",
            Kind::ScopeRequest => "scope-request",
            Kind::FileHashesRequest => "file-hashes-request",
            Kind::FileHashHits => "file-hash-hits",
            Kind::FineChoiceRequest => "fine-choice-request",
            Kind::FineChunks => "fine-chunks",
            Kind::Measures => "measures",
            Kind::Failed => "failed",
        }
    }
}
