//! Every bytes and string field of the wire, with its purpose and its bound. A field that is not listed here cannot be
//! added without this test saying so: content has no way out.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::collections::BTreeMap;
use std::path::Path;

use prost_types::field_descriptor_proto::Type;

/// Message.field, what it is for, what bounds it.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("Assignment.repository", "the name of a repository that the worker offered", "64 bytes, letters and digits"),
    ("Ack.unknown_contents", "digests that documents refer to and that are not here", "16 bytes each, one message"),
    ("Batch.body", "an encoded BatchBody, kept as it came so that it can be digested", "768 KiB"),
    ("Batch.digest", "BLAKE3 of the body", "16 bytes"),
    ("ChunkTable.tags", "keyed hashes of chunks", "16 bytes each, one batch"),
    ("ContentEnd.digest", "the keyed hash of a content's list of tags and lengths", "16 bytes"),
    ("ContentTable.digests", "keyed hashes of contents' lists of tags and lengths", "16 bytes each, one batch"),
    ("DocumentTable.content_digests", "contents sent before", "16 bytes each, one batch"),
    ("DocumentTable.path_own", "names of documents", "8 KiB a path, one batch"),
    ("Hello.key_fingerprint", "the public name of the site's key", "16 bytes"),
    ("Hello.repositories", "names of repositories, never paths", "64 bytes each, 1,024 of them"),
    ("Hello.software", "the worker's version, for people", "1 KiB"),
    ("MethodSpec.method_id", "the digest of method, parameters and key fingerprint", "16 bytes"),
    ("MethodSpec.name", "a method's name", "known names only"),
    ("MethodSpec.view", "a view's name", "known names only"),
    ("OpenIndex.method_id", "the digest of method, parameters and key fingerprint", "16 bytes"),
    ("OpenIndex.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("Opened.root", "the multiset hash of an index", "32 bytes"),
    ("Seal.root", "the multiset hash of an index", "32 bytes"),
    ("Sealed.root", "the multiset hash of an index", "32 bytes"),
    ("SelectionSpec.exclude", "patterns that narrow a scan, coordinator to worker", "1 KiB each, 256 of them"),
    ("SelectionSpec.include", "patterns that narrow a scan, coordinator to worker", "1 KiB each, 256 of them"),
    ("SyncEnded.failure", "why a repository could not be synced, one line for people", "1 KiB"),
];

/// What a coordinator may say on the control stream.
const DOWN: &[&str] = &["assignment", "cancel", "drain", "result", "welcome"];

fn messages() -> Vec<prost_types::DescriptorProto> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let descriptors = protox::compile(["cognate/v1/worker.proto", "cognate/v1/enrolment.proto", "cognate/v1/operator.proto"], [folder]).unwrap();
    descriptors.file.into_iter().flat_map(|file| file.message_type).collect()
}

#[test]
fn every_bytes_and_string_field_has_a_purpose_and_a_bound() {
    let mut found = BTreeMap::new();
    for message in messages() {
        assert!(message.nested_type.is_empty(), "nested messages would escape this test: {}", message.name());
        for field in &message.field {
            if matches!(field.r#type(), Type::Bytes | Type::String) {
                found.insert(format!("{}.{}", message.name(), field.name()), ());
            }
        }
    }
    let allowed: BTreeMap<String, ()> = ALLOWED.iter().map(|(field, ..)| ((*field).to_owned(), ())).collect();
    assert_eq!(found, allowed);
    assert!(ALLOWED.iter().all(|(_, purpose, bound)| !purpose.is_empty() && !bound.is_empty()));
}

#[test]
fn nothing_else_ever_comes_down_the_control_stream() {
    let response = messages().into_iter().find(|message| message.name() == "AttachResponse").unwrap();
    let mut down: Vec<_> = response.field.iter().map(|field| field.name().to_owned()).collect();
    down.sort();
    assert_eq!(down, DOWN);
}
