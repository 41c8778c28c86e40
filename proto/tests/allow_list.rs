//! Every bytes and string field of the wire, with its purpose and its bound. A new field that is not in the list fails
//! this test: no field can carry content.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::collections::BTreeMap;
use std::path::Path;

use prost_types::field_descriptor_proto::Type;

/// Message.field, its purpose, its bound.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "Ack.unknown_contents",
        "digests that documents refer to and the coordinator does not have",
        "16 bytes each, one message",
    ),
    ("Assignment.repository", "the name of a repository that the worker offered", "64 bytes, letters and digits"),
    ("AuditEvent.action", "the action of an event, for people", "known words only"),
    ("AuditEvent.by", "the name of a person or site", "64 bytes, letters and digits"),
    ("AuditEvent.detail", "details of an event, for people", "1 KiB"),
    ("AuditEvent.subject", "the person or thing that an event is about", "1 KiB"),
    (
        "AuditResponse.piece",
        "a piece of a signed report, coordinator to a person who may see all of the result",
        "256 KiB",
    ),
    ("Batch.body", "an encoded BatchBody, stored as received so that its digest stays valid", "768 KiB"),
    ("Batch.digest", "BLAKE3 of the body", "16 bytes"),
    ("ChunkTable.tags", "keyed hashes of chunks", "16 bytes each, one batch"),
    ("ContentEnd.digest", "the keyed hash of a content's list of tags and lengths", "16 bytes"),
    ("ContentEnd.sample", "keyed hashes of sampled windows of 32 bytes of a content", "5 bytes each, 8,192 of them"),
    ("ContentTable.digests", "keyed hashes of contents' lists of tags and lengths", "16 bytes each, one batch"),
    (
        "ContentTable.samples",
        "keyed hashes of sampled windows of 32 bytes of each content",
        "5 bytes each, 8,192 a content, one batch",
    ),
    ("CoordinatorState.reasons", "reasons why the coordinator is not ready, one line each for people", "1 KiB each"),
    ("CoordinatorState.software", "the coordinator's version, for people", "1 KiB"),
    ("DocumentTable.content_digests", "contents sent earlier", "16 bytes each, one batch"),
    ("DocumentTable.message_id_hashes", "ids of messages that other programs know too", "16 bytes each, one batch"),
    ("DocumentTable.path_own", "names of documents", "8 KiB a path, one batch"),
    ("EnrollRequest.secret", "the secret of an invitation", "32 bytes"),
    ("EnrollRequest.signing_request", "a public key, signed by its owner", "4 KiB"),
    ("EnrollRequest.software", "the worker's version, for people", "1 KiB"),
    ("EnrollRequest.token_id", "the id of an invitation", "16 bytes"),
    ("EnrollResponse.ca_certificate", "the CA's certificate", "4 KiB"),
    ("EnrollResponse.certificate", "the member's certificate", "4 KiB"),
    ("FileHashCoverage.repository", "the name of a repository that the worker offered", "64 bytes, letters and digits"),
    ("FileHashEnd.failure", "the reason why a site does not answer, one line for people", "1 KiB"),
    ("FileHashHolder.path", "the name of a file with a hash that was asked for", "8 KiB"),
    ("FileHashHolder.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("FileHashQuery.asked_by", "the name of a person, for the site's log", "64 bytes, letters and digits"),
    ("FileHashQuery.repositories", "names of repositories that the worker offered", "64 bytes each, 1,024 of them"),
    ("FileHashTable.md5", "hashes of the files of a query, never of files of the sender", "16 bytes each, 16,384"),
    ("FileHashTable.sha1", "hashes of the files of a query, never of files of the sender", "20 bytes each, 16,384"),
    ("FileHashTable.sha256", "hashes of the files of a query, never of files of the sender", "32 bytes each, 16,384"),
    (
        "FineChoice.contents",
        "contents that the site itself sent, coordinator to worker",
        "16 bytes each, 16,384 of them",
    ),
    ("FineChoice.tags", "keyed hashes of chunks that the site itself sent", "16 bytes each, 16,384 of them"),
    (
        "FineAnswerTable.fine",
        "keyed hashes and lengths of fine chunks, compressed",
        "1.5 bytes each of 131,072, refused if they unpack to more",
    ),
    ("FineEnd.failure", "the reason why a site sends no fine chunks, one line for people", "1 KiB"),
    ("FineQuery.repository", "the name of a repository that the worker offered", "64 bytes, letters and digits"),
    ("FineTable.fine_tags", "keyed hashes of fine chunks", "1 byte each, 131,072 of them"),
    ("FineTable.lengths", "lengths of fine chunks", "half a byte each, 131,072 of them"),
    ("FineTable.tags", "keyed hashes of the chunks that were cut again", "16 bytes each, 65,536 of them"),
    ("FindCoarse.reason", "the reason why matches are coarse, one line for people", "1 KiB"),
    ("FindCoarse.repository", "the name of a repository, or none", "64 bytes, letters and digits"),
    ("FindCoarse.site", "the name of a site, or none", "64 bytes, letters and digits"),
    ("FindCoverage.party", "the name of a party", "64 bytes, letters and digits"),
    ("FindCoverage.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("FindCoverage.site", "the name of a site", "64 bytes, letters and digits"),
    ("FindEnd.digest", "the keyed hash of a content of a query, operator to coordinator", "16 bytes"),
    (
        "FindEnd.sample",
        "keyed hashes of sampled windows of 32 bytes of a query, operator to coordinator",
        "5 bytes each, 8,192 of them",
    ),
    ("FindEnd.index", "the number of a document under similarity-index", "a number, 48 bytes"),
    ("FindHolder.party", "the name of a party", "64 bytes, letters and digits"),
    ("FindHolder.path", "the name of a document, coordinator to a person who may see its site", "8 KiB"),
    ("FindHolder.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("FindHolder.site", "the name of a site", "64 bytes, letters and digits"),
    ("FindHashesCoverage.party", "the name of a party", "64 bytes, letters and digits"),
    ("FindHashesCoverage.reason", "the reason why a repository was not searched, one line for people", "1 KiB"),
    ("FindHashesCoverage.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("FindHashesCoverage.site", "the name of a site", "64 bytes, letters and digits"),
    ("FindHashesHolder.party", "the name of a party", "64 bytes, letters and digits"),
    ("FindHashesHolder.site", "the name of a site", "64 bytes, letters and digits"),
    ("FindMatch.digest", "the keyed hash of a matching content", "16 bytes"),
    ("FindMatch.precision", "the precision of a match", "known words only"),
    ("FindOpen.min_containment", "a decimal number from 0 to 1", "32 bytes"),
    ("FindOpen.precision", "the precision that a query asks for", "known words only"),
    ("FindPrecision.precision", "the precision of an answer", "known words only"),
    ("FindWanted.tags", "keyed hashes of chunks of the query itself", "16 bytes each, 16,384 of them"),
    ("ExplainRequest.a", "the digest of a content of a result", "16 bytes"),
    ("ExplainRequest.b", "the digest of a content of a result", "16 bytes"),
    ("ExplainResponse.coarse_reason", "the reason why figures are coarse, one line for people", "1 KiB"),
    ("ExplainResponse.precision", "the precision of the figures", "known words only"),
    ("FetchResultResponse.piece", "a piece of a result, coordinator to operator", "256 KiB"),
    ("ForgetSiteRequest.site", "the name of a site", "64 bytes, letters and digits"),
    ("Hello.key_fingerprint", "the public name of the site's key", "16 bytes"),
    ("Hello.repositories", "names of repositories, never paths", "64 bytes each, 1,024 of them"),
    ("Hello.software", "the worker's version, for people", "1 KiB"),
    (
        "Invitation.addresses",
        "addresses of the coordinator, in a line that people pass on",
        "259 bytes each, 16 of them",
    ),
    ("Invitation.ca_key_sha256", "SHA-256 of the CA's public key", "32 bytes"),
    ("Invitation.secret", "the secret of the invitation", "32 bytes"),
    ("Invitation.token_id", "the id of an invitation", "16 bytes"),
    ("InviteResponse.line", "an invitation, coordinator to operator", "8 KiB"),
    (
        "LabelChange.add",
        "tags that people give to clusters, operator to coordinator and back",
        "40 characters each, 16 of them",
    ),
    ("LabelChange.assignee", "the name of a person", "one line of 60 characters"),
    (
        "LabelChange.remove",
        "tags that people take from clusters, operator to coordinator and back",
        "40 characters each, 16 of them",
    ),
    ("LaunchScanRequest.name", "what people call a scan", "one line of 100 characters"),
    ("ListEventsRequest.by", "the name of the person or site of the events", "64 bytes, letters and digits"),
    ("LoginResponse.address", "the address where a browser signs in, coordinator to operator", "1 KiB"),
    ("LoginResponse.token", "a credential for programs, coordinator to operator", "64 bytes"),
    ("MarkTemplateRequest.cluster", "the id of a cluster", "32 hexadecimal digits"),
    ("MarkTemplateRequest.note", "a note about a template, for people", "1 KiB"),
    (
        "MarkTemplateRequest.rows",
        "tags and lengths of fine chunks in rows of four, operator to coordinator",
        "6 bytes each, 16,384 of them",
    ),
    ("MarkTemplateRequest.share", "a decimal number above 0, at most 1", "32 bytes"),
    ("MarkTemplateRequest.tags", "keyed hashes of chunks, operator to coordinator", "16 bytes each, 16,384 of them"),
    ("Member.key_words", "96 bits of the SHA-256 of a public key, to be read out", "35 bytes"),
    ("Member.software", "the worker's version, for people", "1 KiB"),
    ("Member.party_full_name", "the name of a party in full, coordinator to operator", "one line of 100 characters"),
    ("Membership.name", "the name of a site or a person", "64 bytes, letters and digits"),
    ("Membership.party", "the name of a party", "64 bytes, letters and digits"),
    ("Membership.site", "the name of the site that a person is bound to", "64 bytes, letters and digits"),
    ("MeasureAnswer.failure", "the reason why a site does not measure, one line for people", "1 KiB"),
    ("MeasureQuery.contents", "contents that the site itself sent, in pairs", "16 bytes each, 64 pairs of them"),
    ("MeasureQuery.repositories", "names of repositories that the worker offered", "64 bytes each, 1,024 of them"),
    ("MethodSpec.method_id", "the digest of method, parameters and key fingerprint", "16 bytes"),
    ("MethodSpec.name", "a method's name", "known names only"),
    ("MethodSpec.param", "a method's parameters", "names and numbers that the method knows"),
    ("MethodSpec.view", "a view's name", "known names only"),
    ("OpenIndex.method_id", "the digest of method, parameters and key fingerprint", "16 bytes"),
    ("OpenIndex.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("OpenIndex.scope", "the digest over the contents that a refinement chose", "16 bytes or none"),
    ("Opened.index_digest", "the multiset hash of an index", "32 bytes"),
    ("Profile.name", "the name of a profile", "64 bytes, letters and digits"),
    (
        "PushRequest.padding",
        "zeros, so that the size of a message tells less; refused if one of them is none",
        "64 KiB and a few bytes",
    ),
    ("ReceivedIndex.head", "a chain over the digests of batches", "32 bytes"),
    ("ReceivedIndex.method_id", "the digest of method, parameters and key fingerprint", "16 bytes"),
    ("ReceivedIndex.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("Refinement.of_method_id", "the method under which the site sent the chosen contents", "16 bytes"),
    ("Refinement.scope", "the digest over the contents that a refinement chose", "16 bytes"),
    ("RemoveProfileRequest.name", "the name of a profile", "64 bytes, letters and digits"),
    ("RemoveScheduleRequest.name", "the name of a schedule", "64 bytes, letters and digits"),
    ("RenameScanRequest.name", "what people call a scan", "one line of 100 characters"),
    ("RenewRequest.signing_request", "a public key, signed by its owner", "4 KiB"),
    ("RenewResponse.ca_certificate", "the CA's certificate", "4 KiB"),
    ("RenewResponse.certificate", "the member's certificate", "4 KiB"),
    (
        "NamePartyRequest.full_name",
        "the name of a party in full, operator to coordinator",
        "one line of 100 characters",
    ),
    ("NamePartyRequest.party", "the name of a party", "64 bytes, letters and digits"),
    ("Repository.party", "the name of a party", "64 bytes, letters and digits"),
    ("Repository.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("Repository.site", "the name of a site", "64 bytes, letters and digits"),
    ("RepositoryEstimate.unknown", "the reason why there is no estimate, one line for people", "1 KiB"),
    ("RepositoryEstimate.view", "a view's name, coordinator to operator", "known names only"),
    ("RepositoryIndex.scope", "the digest over the contents that a refinement chose", "16 bytes or none"),
    ("RepositoryPlace.repository", "the name of a repository, or nothing", "64 bytes, letters and digits"),
    ("RepositoryPlace.site", "the name of a site", "64 bytes, letters and digits"),
    ("RepositoryRef.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("RepositoryRef.site", "the name of a site", "64 bytes, letters and digits"),
    ("RepositoryState.failure", "the reason why a repository could not take part, one line for people", "1 KiB"),
    ("RepositoryState.waiting", "the reason why an analysis waits for a site, one line for people", "1 KiB"),
    ("Resend.method_id", "the digest of method, parameters and key fingerprint", "16 bytes"),
    (
        "ResultsResponse.row",
        "a row of a report, coordinator to worker: documents of the site, and their matches elsewhere",
        "one message",
    ),
    ("RevokeRequest.name", "the name of a site or a person", "64 bytes, letters and digits"),
    ("ScanOptions.align", "folders that an operator wants compared", "16 KiB each, 256 of them"),
    ("ScanOptions.control", "which documents were planted: patterns, as in a selection", "1 KiB each, 256 of them"),
    ("ScanOptions.engine", "the engine that groups chunks", "known names only"),
    ("ScanOptions.exchange", "a folder that the coordinator's configuration allows", "1 KiB of plain characters"),
    ("ScanOptions.exclude", "patterns that narrow a scan, operator to coordinator", "1 KiB each, 256 of them"),
    ("ScanOptions.include", "patterns that narrow a scan, operator to coordinator", "1 KiB each, 256 of them"),
    ("ScanOptions.method", "a method's name", "known names only"),
    ("ScanOptions.min_containment", "a decimal number from 0 to 1", "32 bytes"),
    ("ScanOptions.origin", "the profile or schedule that a scan comes from", "1 KiB"),
    ("ScanOptions.precision", "how exactly pairs are measured", "known names only"),
    ("ScanOptions.param", "a method's parameters", "names and numbers that the method knows"),
    ("ScanOptions.spark", "a server that the coordinator's configuration allows", "1 KiB of plain characters"),
    ("ScanOptions.view", "a view's name, or both", "known names only"),
    ("ScanState.digest", "the digest of a report", "64 hexadecimal digits"),
    ("ScanState.failure", "the reason of a failure, one line for people", "1 KiB"),
    ("ScanState.name", "what people call a scan", "one line of 100 characters"),
    ("ScanState.waiting", "the condition that a scan waits for, one line for people", "1 KiB"),
    ("ScanState.launched_by", "the name of a person", "64 bytes, letters and digits"),
    ("Schedule.name", "the name of a schedule", "64 bytes, letters and digits"),
    ("Schedule.at", "days of the week and a time of a schedule", "32 bytes"),
    ("Schedule.last_error", "why the last scan of a schedule failed, coordinator to operator", "64 KiB"),
    ("Schedule.webhook", "an address that is called when a scan ends, operator to coordinator", "1 KiB"),
    (
        "ScopeResponse.contents",
        "contents that the site itself sent, coordinator to worker",
        "16 bytes each, 16,384 of them",
    ),
    ("Seal.canary", "the fingerprint of a public text under the method and the key", "16 bytes"),
    ("Seal.index_digest", "the multiset hash of an index", "32 bytes"),
    ("Sealed.index_digest", "the multiset hash of an index", "32 bytes"),
    ("SelectionSpec.exclude", "patterns that narrow a scan, coordinator to worker", "1 KiB each, 256 of them"),
    ("SelectionSpec.include", "patterns that narrow a scan, coordinator to worker", "1 KiB each, 256 of them"),
    ("SetVerdictsRequest.filter", "which clusters are decided about, operator to coordinator", "4 KiB"),
    ("SetVerdictsRequest.note", "a note about a verdict, for people", "1 KiB"),
    ("SpaceRow.kind", "a kind of files of the state", "known words only"),
    ("Subject.id", "the id of a cluster or identical set", "32 hexadecimal digits"),
    ("Subject.path", "which document is decided about, operator to coordinator and back", "8 KiB"),
    ("Subject.repository", "the name of a repository", "64 bytes, letters and digits"),
    ("Subject.site", "the name of a site", "64 bytes, letters and digits"),
    ("Subject.view", "a view's name", "known names only"),
    (
        "SyncSummary.recognition",
        "the program that recognises text, its version and languages, one line for people",
        "1 KiB",
    ),
    ("SyncEnded.failure", "the reason why a repository could not be synced, one line for people", "1 KiB"),
    ("Template.cluster", "the id of a cluster", "32 hexadecimal digits"),
    ("Template.marked_by", "the name of a person", "64 bytes, letters and digits"),
    ("Template.note", "a note about a template, for people", "1 KiB"),
    (
        "Template.rows",
        "tags and lengths of fine chunks in rows of four, coordinator to operator",
        "6 bytes each, 16,384 of them",
    ),
    ("Template.tags", "keyed hashes of chunks, coordinator to operator", "16 bytes each, 16,384 of them"),
    ("Template.unmarked_by", "the name of a person", "64 bytes, letters and digits"),
    ("TemplateSuggestion.cluster", "the id of a cluster", "32 hexadecimal digits"),
    (
        "TemplateSuggestion.examples",
        "places of documents, coordinator to a person who may see all of the result",
        "three of them, 8 KiB a path",
    ),
    (
        "TemplateSuggestion.rows",
        "tags and lengths of fine chunks in rows of four, coordinator to operator",
        "6 bytes each, 16,384 of them",
    ),
    ("TemplateSuggestion.tags", "keyed hashes of chunks, coordinator to operator", "16 bytes each, 16,384 of them"),
    ("Reviewer.by", "the name of a person", "64 bytes, letters and digits"),
    ("SampleState.by", "the name of a person", "64 bytes, letters and digits"),
    ("SampleState.filter", "of which clusters a sample was drawn, coordinator to operator", "4 KiB"),
    ("VerdictAction.by", "the name of a person", "64 bytes, letters and digits"),
    ("VerdictAction.filter", "which clusters were decided about, coordinator to operator", "4 KiB"),
    ("VerdictAction.note", "a note about a verdict, for people", "1 KiB"),
    ("VerdictAction.undone_by", "the name of a person", "64 bytes, letters and digits"),
    ("VerdictState.assignee", "the name of a person", "one line of 60 characters"),
    ("VerdictState.by", "the name of a person", "64 bytes, letters and digits"),
    ("VerdictState.changed", "the reason why a verdict no longer holds, one line for people", "1 KiB"),
    ("VerdictState.note", "a note about a verdict, for people", "1 KiB"),
    ("VerdictState.tags", "tags that people gave to a cluster", "40 characters each, 32 of them"),
    ("Case.name", "the name of a case", "64 bytes, letters and digits"),
    ("Case.note", "a note about a case, for people", "1 KiB"),
    ("Case.opened_by", "the name of a person", "64 bytes, letters and digits"),
    ("Case.party", "the name of a party", "64 bytes, letters and digits"),
    ("Case.site", "the name of a site", "64 bytes, letters and digits"),
    ("CaseCheck.by", "the name of a person", "64 bytes, letters and digits"),
    ("CaseCheck.digest", "the digest of an answer", "64 hexadecimal digits"),
    ("CaseCheck.sites", "the names of sites", "64 bytes each, letters and digits"),
    ("CheckCaseRequest.name", "the name of a case", "64 bytes, letters and digits"),
    ("ExportCaseRequest.name", "the name of a case", "64 bytes, letters and digits"),
    ("ExportCaseResponse.piece", "a piece of a case, coordinator to a person who may see it", "256 KiB"),
    ("OpenCaseRequest.name", "the name of a case", "64 bytes, letters and digits"),
    ("OpenCaseRequest.note", "a note about a case, for people", "1 KiB"),
    ("RemoveWatchRequest.name", "the name of a watch", "64 bytes, letters and digits"),
    ("QueryDocument.name", "the name of a document of a query, operator to coordinator", "1 KiB"),
    ("Watch.created_by", "the name of a person", "64 bytes, letters and digits"),
    ("Watch.name", "the name of a watch", "64 bytes, letters and digits"),
    ("Watch.note", "a note about a watch, for people", "1 KiB"),
    ("Watch.party", "the name of a party", "64 bytes, letters and digits"),
    ("Watch.site", "the name of a site", "64 bytes, letters and digits"),
    ("Watch.webhook", "an address that is called on new matches, operator to coordinator", "1 KiB"),
    ("Welcome.site", "the name under which the coordinator knows the site", "64 bytes, letters and digits"),
];

/// The messages of a coordinator on the control stream.
const DOWN: &[&str] = &[
    "assignment",
    "cancel",
    "credit",
    "drain",
    "file_hash_query",
    "fine_query",
    "keep_alive",
    "measure_query",
    "resend",
    "result",
    "welcome",
];

fn messages() -> Vec<prost_types::DescriptorProto> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let descriptors = protox::compile(
        ["cognate/v1/worker.proto", "cognate/v1/enrolment.proto", "cognate/v1/operator.proto"],
        [folder],
    )
    .unwrap();
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

fn fields(message: &str) -> Vec<String> {
    let message = messages().into_iter().find(|one| one.name() == message).unwrap();
    let mut fields: Vec<_> = message.field.iter().map(|field| field.name().to_owned()).collect();
    fields.sort();
    fields
}

#[test]
fn nothing_else_ever_comes_down_the_control_stream() {
    assert_eq!(fields("AttachResponse"), DOWN);
}

#[test]
fn a_site_receives_a_list_of_hashes_and_sends_hits_alone() {
    assert_eq!(fields("FileHashQuery"), ["asked_by", "hashes", "holders_max", "query", "repositories"]);
    assert_eq!(fields("FileHashHit"), ["files", "holders", "number"]);
    assert_eq!(fields("FileHashHolder"), ["modified", "path", "repository", "size_bytes", "state"]);
}

#[test]
fn a_site_receives_tags_of_its_own_chunks_and_sends_fine_tags_alone() {
    assert_eq!(
        fields("FineQuery"),
        ["across_parties", "chunks", "contents", "follow_symlinks", "method", "query", "repository"]
    );
    assert_eq!(fields("FineChoice"), ["contents", "counts", "tags"]);
    assert_eq!(fields("FineAnswerTable"), ["counts", "fine", "numbers"]);
}

#[test]
fn a_site_receives_pairs_of_its_own_contents_to_measure_and_sends_counts_alone() {
    assert_eq!(
        fields("MeasureQuery"),
        ["across_parties", "contents", "follow_symlinks", "method", "query", "repositories"]
    );
    assert_eq!(fields("MeasureAnswer"), ["failure", "pairs", "query", "read_bytes", "refused"]);
    assert_eq!(fields("PairMeasure"), ["first_bytes", "number", "second_bytes"]);
}

#[test]
fn a_refinement_sends_a_site_digests_alone() {
    assert_eq!(fields("Refinement"), ["contents", "of_method_id", "scope"]);
    assert_eq!(fields("ScopeResponse"), ["contents"]);
}
