//! Every limit of the wire, with its reason. What is over a limit is refused by name, never cut short.

/// A batch is sent once its body has grown to this: large enough to be cheap, small enough to be sent again.
pub const BATCH_BODY_BYTES_TARGET: usize = 192 * 1024;
/// No body may be larger.
pub const BATCH_BODY_BYTES_MAX: usize = 768 * 1024;
/// No message may be larger; tonic refuses it from its header, before it is buffered.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// A content with more chunks than this goes in parts, so that no message and no type holds a huge one whole.
pub const CONTENT_CHUNKS_MAX: usize = 8192;
/// What the paths of one batch may come to, in bytes, once they are taken apart: front-coding makes much of little.
pub const BATCH_PATH_BYTES_MAX: usize = 1024 * 1024;
/// How many bytes of batches may be sent and not yet durable: what a crash may cost in sending again.
pub const WINDOW_BYTES: u64 = 4 * 1024 * 1024;
/// How many batches may be sent and not yet durable.
pub const WINDOW_BATCHES: usize = 64;
/// The longest path of a document, in bytes.
pub const PATH_BYTES_MAX: usize = 8 * 1024;
/// The longest name of a site, party or repository.
pub const NAME_BYTES_MAX: usize = 64;
/// How many repositories a site may offer.
pub const REPOSITORIES_MAX: usize = 1024;
/// How many patterns a selection may hold, and how long each may be.
pub const PATTERNS_MAX: usize = 256;
/// The longest pattern of a selection.
pub const PATTERN_BYTES_MAX: usize = 1024;
/// The longest line of text that is only shown to people: why a sync failed, a software version.
pub const TEXT_BYTES_MAX: usize = 1024;

/// What an encoded path or content adds to a batch besides its own bytes, at most; used to stop in time.
pub const ROW_BYTES_MAX: usize = PATH_BYTES_MAX + 64;

const _: () = assert!(BATCH_BODY_BYTES_TARGET + CONTENT_CHUNKS_MAX * 24 + ROW_BYTES_MAX < BATCH_BODY_BYTES_MAX);
const _: () = assert!(BATCH_BODY_BYTES_MAX < MESSAGE_BYTES_MAX);
const _: () = assert!((BATCH_BODY_BYTES_MAX as u64) * 2 < WINDOW_BYTES);
/// How many addresses an invitation or a credential may name.
pub const ADDRESSES_MAX: usize = 16;
/// The longest `host:port`: a host name of DNS, a colon, and five digits.
pub const ADDRESS_BYTES_MAX: usize = 253 + 6;
/// The longest invitation, as a line.
pub const INVITATION_BYTES_MAX: usize = 8 * 1024;
/// The largest certificate signing request.
pub const SIGNING_REQUEST_BYTES_MAX: usize = 4 * 1024;
/// The largest certificate.
pub const CERTIFICATE_BYTES_MAX: usize = 4 * 1024;

/// How many contents of a repository one refinement may choose: each costs either side its digest in memory.
pub const SCOPE_CONTENTS_MAX: usize = 1 << 21;
/// How many digests of chosen contents go in one message.
pub const SCOPE_PIECE_CONTENTS: usize = 1 << 14;
const _: () = assert!(SCOPE_PIECE_CONTENTS * 16 * 2 < MESSAGE_BYTES_MAX);
const _: () = assert!(SCOPE_CONTENTS_MAX.is_multiple_of(SCOPE_PIECE_CONTENTS));
const _: () = assert!(SCOPE_CONTENTS_MAX * 16 <= 32 << 20);

/// How many documents one find may be about, and how many features they may have together: 80 MB at the coordinator.
pub const FIND_DOCUMENTS_MAX: usize = 256;
/// See [`FIND_DOCUMENTS_MAX`].
pub const FIND_FEATURES_MAX: usize = 1 << 22;
/// How many features go in one message of a find.
pub const FIND_PIECE_FEATURES: usize = 1 << 14;
const _: () = assert!(FIND_PIECE_FEATURES * 24 * 2 < MESSAGE_BYTES_MAX);
/// How many matches are told for a document of a find where nothing else is asked for, and at most.
pub const FIND_MATCHES_DEFAULT: usize = 100;
/// See [`FIND_MATCHES_DEFAULT`].
pub const FIND_MATCHES_MAX: usize = 10_000;
/// How many documents are named for a match of a find.
pub const FIND_HOLDERS_MAX: usize = 1_000;
/// How many features a query that is kept may have, all its documents together: it is one message, and one row of the store.
pub const STORED_FEATURES_MAX: usize = 1 << 15;
/// How many documents a query that is kept may have.
pub const STORED_DOCUMENTS_MAX: usize = 64;
const _: () = assert!(STORED_FEATURES_MAX * 24 + STORED_DOCUMENTS_MAX * (TEXT_BYTES_MAX + 128) < MESSAGE_BYTES_MAX);

/// How many hashes of whole files one query may be about: 32 MB at either side.
pub const FILE_HASHES_MAX: usize = 1 << 20;
/// How many hashes go in one message.
pub const FILE_HASHES_PIECE: usize = 1 << 14;
const _: () = assert!(FILE_HASHES_PIECE * 32 < MESSAGE_BYTES_MAX);
/// How many files a site names for all hashes of a query together; all are counted.
pub const FILE_HASH_HOLDERS_MAX: usize = 200_000;
/// How many hashes that were found go in one message, and how many files that have them.
pub const FILE_HASH_HITS_PIECE: usize = 1024;
/// See [`FILE_HASH_HITS_PIECE`].
pub const FILE_HASH_HOLDERS_PIECE: usize = 64;
const _: () = assert!(FILE_HASH_HITS_PIECE * 32 + FILE_HASH_HOLDERS_PIECE * (PATH_BYTES_MAX + 256) < MESSAGE_BYTES_MAX);
