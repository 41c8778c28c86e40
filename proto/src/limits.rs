//! All limits of the wire, with their reasons. A value over a limit is refused by name, never cut short.

use cognate_fingerprint::{FINE_CHUNK_BYTES_MOST, SAMPLE_VALUE_BYTES, SAMPLE_VALUES_MAX, fine_chunks_max};

/// A batch is sent once its body has grown to this: large enough to be cheap, small enough to be sent again.
pub const BATCH_BODY_BYTES_TARGET: usize = 192 * 1024;
/// No body may be larger.
pub const BATCH_BODY_BYTES_MAX: usize = 768 * 1024;
/// No message may be larger; tonic refuses it from its header, before it is buffered.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// A content with more chunks than this goes in parts, so that no message and no type holds a huge content at once.
pub const CONTENT_CHUNKS_MAX: usize = 8192;
/// Bytes of the unpacked paths of one batch at most: front-coding makes many bytes of few.
pub const BATCH_PATH_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of batches that may be sent and not yet durable: after a crash, so many are sent again.
pub const WINDOW_BYTES: u64 = 4 * 1024 * 1024;
/// The messages of a push are made multiples of this by a site that hides their sizes.
pub const PADDED_BYTES: usize = 64 * 1024;
/// Batches that may be sent and not yet durable.
pub const WINDOW_BATCHES: usize = 64;
/// The longest path of a document, in bytes.
pub const PATH_BYTES_MAX: usize = 8 * 1024;
/// The longest name of a site, party or repository.
pub const NAME_BYTES_MAX: usize = 64;
/// Bytes of one content at most: 281 TB, more than any file system holds in one file.
pub const CONTENT_BYTES_MAX: u64 = 1 << 48;
/// Bytes that a site may report of one repository, or of one sync of it: 18 PB. A larger number is a lie or a mistake.
pub const REPORTED_BYTES_MAX: u64 = 1 << 54;
/// Entries that a site may report of one repository: documents are numbered with 32 bits.
pub const REPORTED_ENTRIES_MAX: u64 = 1 << 32;
/// Repositories that a site may offer.
pub const REPOSITORIES_MAX: usize = 1024;
/// Patterns of a selection at most.
pub const PATTERNS_MAX: usize = 256;
/// The longest pattern of a selection.
pub const PATTERN_BYTES_MAX: usize = 1024;
/// The longest line of text for people only, such as a failure or a software version.
pub const TEXT_BYTES_MAX: usize = 1024;

/// Bytes of a window sample at most, with the number of its values.
pub const SAMPLE_BYTES_MAX: usize = 3 + SAMPLE_VALUE_BYTES * SAMPLE_VALUES_MAX;

/// Bytes that one row adds to a batch at most; a builder stops before the limit by it.
pub const ROW_BYTES_MAX: usize = PATH_BYTES_MAX + 64;

const _: () = assert!(
    BATCH_BODY_BYTES_TARGET + CONTENT_CHUNKS_MAX * 24 + SAMPLE_BYTES_MAX + ROW_BYTES_MAX < BATCH_BODY_BYTES_MAX
);
const _: () = assert!(BATCH_BODY_BYTES_MAX + 2 * PADDED_BYTES < MESSAGE_BYTES_MAX);
const _: () = assert!((BATCH_BODY_BYTES_MAX as u64) * 2 < WINDOW_BYTES);
/// Addresses that an invitation or a credential may name.
pub const ADDRESSES_MAX: usize = 16;
/// The longest `host:port`: a host name of DNS, a colon, and five digits.
pub const ADDRESS_BYTES_MAX: usize = 253 + 6;
/// The longest invitation, as a line.
pub const INVITATION_BYTES_MAX: usize = 8 * 1024;
/// The largest certificate signing request.
pub const SIGNING_REQUEST_BYTES_MAX: usize = 4 * 1024;
/// The largest certificate.
pub const CERTIFICATE_BYTES_MAX: usize = 4 * 1024;

/// Contents of a repository that one refinement may choose: both ends hold their digests in memory.
pub const SCOPE_CONTENTS_MAX: usize = 1 << 21;
/// Digests of chosen contents in one message.
pub const SCOPE_PIECE_CONTENTS: usize = 1 << 14;
const _: () = assert!(SCOPE_PIECE_CONTENTS * 16 * 2 < MESSAGE_BYTES_MAX);
const _: () = assert!(SCOPE_CONTENTS_MAX.is_multiple_of(SCOPE_PIECE_CONTENTS));
const _: () = assert!(SCOPE_CONTENTS_MAX * 16 <= 32 << 20);

/// Documents of one find at most; [`FIND_FEATURES_MAX`] bounds their features together: 80 MB at the coordinator.
pub const FIND_DOCUMENTS_MAX: usize = 256;
/// See [`FIND_DOCUMENTS_MAX`].
pub const FIND_FEATURES_MAX: usize = 1 << 22;
/// Features in one message of a find.
pub const FIND_PIECE_FEATURES: usize = 1 << 14;
const _: () = assert!(FIND_PIECE_FEATURES * 24 * 2 < MESSAGE_BYTES_MAX);
/// Fine chunks of one find at most, of all its documents together: about 59 MB of documents, and 17 MB at the coordinator.
/// Documents beyond it are compared by whole chunks.
pub const FIND_FINE_MAX: usize = 1 << 23;
/// Chunks in one message of an answer that lists those of which fine chunks are missing.
pub const FIND_WANTED_PIECE: usize = 1 << 14;
const _: () = assert!(FIND_WANTED_PIECE * 16 * 2 < MESSAGE_BYTES_MAX);
/// Matches that a find reports for a document by default.
pub const FIND_MATCHES_DEFAULT: usize = 100;
/// See [`FIND_MATCHES_DEFAULT`].
pub const FIND_MATCHES_MAX: usize = 10_000;
/// Documents that are named for a match of a find.
pub const FIND_HOLDERS_MAX: usize = 1_000;
/// Features of a stored query, all its documents together: it is one message, and one row of the store.
pub const STORED_FEATURES_MAX: usize = 1 << 15;
/// Documents of a stored query.
pub const STORED_DOCUMENTS_MAX: usize = 64;
const _: () = assert!(STORED_FEATURES_MAX * 24 + STORED_DOCUMENTS_MAX * (TEXT_BYTES_MAX + 128) < MESSAGE_BYTES_MAX);
/// Bytes of the features and fine chunks of a stored query: 24 for each chunk, and for one with fine chunks 20 and one and a half for each of them. The
/// fine chunks of documents for which there is no more space are left out: about 3.5 MB of documents have theirs at a mean of 1000.
pub const STORED_FINE_BYTES_MAX: usize = 900 << 10;
const _: () = assert!(STORED_FINE_BYTES_MAX + STORED_DOCUMENTS_MAX * (TEXT_BYTES_MAX + 128) < MESSAGE_BYTES_MAX);
const _: () = assert!(STORED_FEATURES_MAX * 24 < STORED_FINE_BYTES_MAX);

/// Hashes of files in one query: 32 MB at either end.
pub const FILE_HASHES_MAX: usize = 1 << 20;
/// Hashes in one message.
pub const FILE_HASHES_PIECE: usize = 1 << 14;
const _: () = assert!(FILE_HASHES_PIECE * 32 < MESSAGE_BYTES_MAX);
/// Files that a site names for all hashes of a query together; all are counted.
pub const FILE_HASH_HOLDERS_MAX: usize = 200_000;
/// Matching hashes in one message; [`FILE_HASH_HOLDERS_PIECE`] bounds the files that have them.
pub const FILE_HASH_HITS_PIECE: usize = 1024;
/// See [`FILE_HASH_HITS_PIECE`].
pub const FILE_HASH_HOLDERS_PIECE: usize = 64;
const _: () = assert!(FILE_HASH_HITS_PIECE * 32 + FILE_HASH_HOLDERS_PIECE * (PATH_BYTES_MAX + 256) < MESSAGE_BYTES_MAX);

/// Contents, and chunks, of one query for fine chunks: bounds what both ends hold of it.
pub const FINE_CHUNKS_MAX: usize = 1 << 16;
/// Contents, and chunks, in one message of a query for fine chunks.
pub const FINE_CHOICE_PIECE: usize = 1 << 14;
const _: () = assert!(FINE_CHOICE_PIECE * 32 < MESSAGE_BYTES_MAX);
/// A table of fine chunks is sent once it has so many.
pub const FINE_TABLE_TARGET: usize = 1 << 16;
/// Chunks of one table; it is sent once it has so many.
pub const FINE_TABLE_CHUNKS_MAX: usize = 1 << 13;
/// Fine chunks in one message, each of one and a half bytes.
pub const FINE_TABLE_MAX: usize = 1 << 17;
/// Fine chunks of one chunk at most: the longest chunk has fewer than three times the greatest mean.
pub const FINE_CHUNKS_PER_CHUNK_MAX: usize = fine_chunks_max(3 * FINE_CHUNK_BYTES_MOST) as usize;
const _: () = assert!(FINE_TABLE_TARGET + FINE_CHUNKS_PER_CHUNK_MAX < FINE_TABLE_MAX);
const _: () = assert!(FINE_TABLE_CHUNKS_MAX * 20 + FINE_TABLE_MAX * 2 < MESSAGE_BYTES_MAX);

/// Pairs of contents that the sites of a scan measure exactly for a layer, all together: enough for a ninth decile.
pub const MEASURE_PAIRS_MAX: usize = 64;
/// Bytes of a content that is measured exactly at most: both contents of a pair are in memory.
pub const MEASURE_CONTENT_BYTES_MAX: u64 = 512 << 10;
/// Bytes of all pairs of one query together, each content as often as it occurs: a site reads and measures no more.
pub const MEASURE_BYTES_MAX: u64 = 8 << 20;
const _: () = assert!(MEASURE_PAIRS_MAX * 32 + REPOSITORIES_MAX * (NAME_BYTES_MAX + 8) < MESSAGE_BYTES_MAX);
const _: () = assert!(2 * MEASURE_CONTENT_BYTES_MAX <= MEASURE_BYTES_MAX);
