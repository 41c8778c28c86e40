use proptest::prelude::*;

use super::*;

const CHUNK_BYTES_MAX: u32 = 2843;

fn chunk(number: u8, length_bytes: u32, repeated_byte: bool) -> Chunk {
    Chunk { offset: 0, length_bytes, tag: Tag([number; 16]), repeated_byte }
}

fn content(number: u8, chunks: &[Chunk]) -> (Content, v1::ChunkTable) {
    let mut table = v1::ChunkTable::default();
    chunks.iter().for_each(|chunk| table.push(chunk));
    let size_bytes = chunks.iter().map(|chunk| u64::from(chunk.length_bytes)).sum();
    let values = if size_bytes < 100 { vec![] } else { vec![7, u64::from(number) + 8] };
    let (chunk_count, sample) = (chunks.len() as u64, WindowSample::new(&values).unwrap());
    let content = Content { size_bytes, chunk_count, digest: ContentDigest([number; 16]), sample };
    (content, table)
}

fn document(path: &[u8], content: u8, modified: i64) -> DocumentRow {
    let path = DocumentPath::new(path).unwrap();
    DocumentRow {
        path,
        state: DocumentState::Read,
        content: Some(ContentDigest([content; 16])),
        modified,
        message_id_hash: None,
    }
}

fn gone(path: &[u8], state: DocumentState) -> DocumentRow {
    DocumentRow::without_content(DocumentPath::new(path).unwrap(), state)
}

fn example() -> BatchBuilder {
    let mut builder = BatchBuilder::default();
    let (one, table) = content(1, &[chunk(11, 500, false), chunk(12, 10, true)]);
    builder.content(&one, &table);
    let (two, table) = content(2, &[]);
    builder.content(&two, &table);
    builder.document(document(b"b/two", 2, -5));
    builder.document(document(b"b/one", 1, 1_700_000_000));
    builder.document(document(b"a/known", 9, 1_700_000_001));
    builder.document(gone(b"c", DocumentState::Removed));
    builder.document(gone(b"b/x\xff", DocumentState::PermissionDenied));
    builder
}

#[test]
fn a_batch_comes_out_as_it_went_in() {
    let (body, sent) = example().finish();
    let batch = Batch::decode(&body, CHUNK_BYTES_MAX).unwrap();
    assert_eq!(batch.documents, sent);
    let paths: Vec<String> = sent.iter().map(|row| row.path.to_string()).collect();
    assert_eq!(paths, ["a/known", "b/one", "b/two", "b/x%FF", "c"]);
    assert_eq!(batch.contents, [content(1, &[chunk(11, 500, false), chunk(12, 10, true)]).0, content(2, &[]).0]);
    let chunks: Vec<_> = batch.chunks.iter().collect();
    assert_eq!(chunks, [(Tag([11; 16]), 500, false), (Tag([12; 16]), 10, true)]);
}

#[test]
fn a_part_comes_out_as_it_went_in() {
    let mut builder = BatchBuilder::default();
    let (complete, table) = content(7, &[chunk(1, 300, true)]);
    builder.part(4, table.clone(), None);
    builder.part(4, v1::ChunkTable::default(), Some(&complete));
    let batch = Batch::decode(&builder.finish().0, CHUNK_BYTES_MAX).unwrap();
    assert_eq!((batch.parts[0].upload, &batch.parts[0].chunks, batch.parts[0].end.as_ref()), (4, &table, None));
    assert_eq!(batch.parts[1].end, Some(complete));
}

/// Changes one field of an encoded body and expects the refusal to name a field.
fn refused(change: impl FnOnce(&mut v1::BatchBody), named: &str) {
    let (body, _) = example().finish();
    let mut body = v1::BatchBody::decode(body).unwrap();
    change(&mut body);
    let error = Batch::decode(&body.encode_to_vec(), CHUNK_BYTES_MAX).unwrap_err().to_string();
    assert!(error.contains(&format!("`{named}`")), "{error}");
}

/// Takes a column's last entry away.
fn body_pop<T>(column: &mut Vec<T>) {
    column.truncate(column.len() - 1);
}

#[test]
fn columns_that_disagree_are_refused_with_the_name_of_the_field() {
    fn chunks(body: &mut v1::BatchBody) -> &mut v1::ChunkTable {
        body.contents.as_mut().unwrap().chunks.as_mut().unwrap()
    }
    fn contents(body: &mut v1::BatchBody) -> &mut v1::ContentTable {
        body.contents.as_mut().unwrap()
    }
    fn documents(body: &mut v1::BatchBody) -> &mut v1::DocumentTable {
        body.documents.as_mut().unwrap()
    }
    refused(|body| body_pop(&mut chunks(body).tags), "tags");
    refused(|body| chunks(body).length_bytes[0] = 0, "length_bytes");
    refused(|body| chunks(body).length_bytes[0] = CHUNK_BYTES_MAX + 1, "length_bytes");
    refused(|body| chunks(body).repeated_byte[0] = 2, "repeated_byte");
    refused(|body| contents(body).size_bytes[0] = 511, "size_bytes");
    refused(|body| contents(body).chunk_counts[0] = 3, "chunk_counts");
    refused(|body| contents(body).chunk_counts.push(1), "digests");
    refused(|body| body_pop(&mut contents(body).digests), "digests");
    refused(|body| body_pop(&mut contents(body).sample_counts), "sample_counts");
    refused(|body| contents(body).sample_counts[0] = u32::MAX, "samples");
    refused(|body| contents(body).sample_counts[0] += 1, "samples");
    refused(|body| contents(body).sample_counts[0] -= 1, "samples");
    refused(|body| contents(body).samples.copy_within(5..10, 0), "samples");
    refused(|body| contents(body).samples.push(1), "samples");
    refused(
        |body| {
            let table = contents(body);
            (table.sample_counts, table.samples) =
                (vec![0, 20], (0..20).flat_map(|value| [value, 0, 0, 0, 0]).collect());
        },
        "samples",
    );
    refused(|body| documents(body).path_shared_bytes[1] = 99, "path_shared_bytes");
    refused(|body| documents(body).path_own_bytes[0] += 999, "path_own");
    refused(|body| documents(body).path_own.push(b'x'), "path_own");
    refused(|body| documents(body).states.push(1), "path_own_bytes");
    refused(|body| documents(body).states[0] = 0, "states");
    refused(|body| documents(body).states[0] = 4711, "states");
    refused(|body| documents(body).contents[1] = 3, "contents");
    refused(|body| body_pop(&mut documents(body).contents), "contents");
    refused(|body| documents(body).contents.push(1), "contents");
    refused(|body| documents(body).content_digests.push(1), "contents");
    refused(|body| documents(body).modified_delta.push(1), "contents");
    refused(
        |body| body.parts.push(v1::ContentPart { end: Some(v1::ContentEnd::default()), ..Default::default() }),
        "digest",
    );
}

#[test]
fn contents_without_samples_cost_nothing_for_them() {
    let mut builder = BatchBuilder::default();
    let (short, table) = content(2, &[chunk(11, 50, false)]);
    builder.content(&short, &table);
    let body = v1::BatchBody::decode(builder.finish().0).unwrap();
    let table = body.contents.unwrap();
    assert!(table.sample_counts.is_empty() && table.samples.is_empty(), "{table:?}");
}

#[test]
fn features_that_are_no_chunks_have_no_sample() {
    let mut builder = BatchBuilder::default();
    let (one, table) = content(1, &[chunk(1, 1, false); 100]);
    builder.content(&one, &table);
    let error = Batch::decode(&builder.finish().0, FEATURE_WEIGHT_MAX).unwrap_err().to_string();
    assert!(error.contains("`samples`"), "{error}");
}

#[test]
fn a_path_that_leads_out_of_its_repository_is_refused() {
    refused(|body| body.documents.as_mut().unwrap().path_own[0] = b'/', "path_own");
}

#[test]
fn a_body_over_the_limit_is_refused_before_it_is_read() {
    let error = Batch::decode(&vec![0; BATCH_BODY_BYTES_MAX + 1], CHUNK_BYTES_MAX).unwrap_err();
    assert!(matches!(error, BatchError::TooLarge { .. }), "{error}");
}

/// Checks that bytes are refused with a reason, or that what they say is consistent: every content has its chunks, none is too
/// long, paths ascend, and the same rows make a batch that says the same.
fn check_decoded(body: &[u8]) {
    let batch = match Batch::decode(body, CHUNK_BYTES_MAX) {
        Ok(batch) => batch,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let chunks: Vec<_> = batch.chunks.iter().collect();
    assert!(chunks.iter().all(|(_, length_bytes, _)| (1..=CHUNK_BYTES_MAX).contains(length_bytes)), "{batch:?}");
    let mut rest = &chunks[..];
    let mut builder = BatchBuilder::default();
    for content in &batch.contents {
        let (own, others) = rest.split_at(usize::try_from(content.chunk_count).unwrap());
        assert_eq!(own.iter().map(|(_, length_bytes, _)| u64::from(*length_bytes)).sum::<u64>(), content.size_bytes);
        let mut table = v1::ChunkTable::default();
        for (tag, length_bytes, repeated_byte) in own.iter().copied() {
            table.push(&Chunk { offset: 0, length_bytes, tag, repeated_byte });
        }
        builder.content(content, &table);
        rest = others;
    }
    assert!(rest.is_empty(), "{batch:?}");
    assert!(batch.documents.is_sorted_by(|one, next| one.path < next.path), "{batch:?}");
    batch.documents.iter().cloned().for_each(|row| builder.document(row));
    if batch.parts.is_empty() {
        let again = Batch::decode(&builder.finish().0, CHUNK_BYTES_MAX).unwrap();
        assert_eq!((&again.contents, &again.documents), (&batch.contents, &batch.documents));
        assert_eq!(again.chunks.iter().collect::<Vec<_>>(), chunks);
    }
}

proptest! {
    #[test]
    fn random_bytes_are_refused_or_are_a_valid_batch(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_decoded(&body);
    }

    #[test]
    fn a_damaged_body_is_refused_or_is_a_valid_batch(position in 0..400_usize, byte in any::<u8>()) {
        let (body, _) = example().finish();
        let mut body = body.to_vec();
        let position = position % body.len();
        body[position] = byte;
        check_decoded(&body);
    }
}

#[test]
fn message_ids_stay_with_their_documents_and_rows_that_are_not_there_are_refused() {
    let mut builder = BatchBuilder::default();
    let hash = |number| Some([number; 16]);
    builder.document(DocumentRow { message_id_hash: hash(2), ..gone(b"b", DocumentState::Damaged) });
    builder.document(gone(b"c", DocumentState::NoText));
    builder.document(DocumentRow { message_id_hash: hash(1), ..gone(b"a", DocumentState::Container) });
    let (body, _) = builder.finish();
    let batch = Batch::decode(&body, 1000).unwrap();
    let hashes: Vec<_> = batch.documents.iter().map(|row| row.message_id_hash).collect();
    assert_eq!(hashes, [hash(1), hash(2), None]);
    let damaged = |damage: fn(&mut v1::DocumentTable)| {
        let mut body = v1::BatchBody::decode(body.clone()).unwrap();
        damage(body.documents.as_mut().unwrap());
        Batch::decode(&body.encode_to_vec(), 1000).unwrap_err().to_string()
    };
    assert!(damaged(|table| table.message_id_rows[1] = 3).contains("message_id_rows"));
    assert!(damaged(|table| table.message_id_rows[1] = 0).contains("ascending"));
    assert!(damaged(|table| table.message_id_hashes.truncate(31)).contains("message_id_hashes"));
}

fn rows() -> impl Strategy<Value = Vec<DocumentRow>> {
    let state = prop_oneof![
        Just(DocumentState::Read),
        Just(DocumentState::ReadAsText),
        Just(DocumentState::Recognised),
        Just(DocumentState::ReadInPart),
        Just(DocumentState::Changing),
        Just(DocumentState::Removed),
        Just(DocumentState::Damaged),
    ];
    let row = (state, 0u8..6, any::<i64>(), proptest::option::of(any::<[u8; 16]>()));
    proptest::collection::btree_map("[a-c/é]{1,9}", row, 0..30).prop_map(|rows| {
        let row = |(path, (state, content, modified, message_id_hash)): (String, (DocumentState, u8, i64, _))| {
            let path = DocumentPath::new(path.as_bytes()).ok()?;
            let is_read = state.has_content();
            let content = is_read.then_some(ContentDigest([content; 16]));
            Some(DocumentRow { path, state, content, modified: if is_read { modified } else { 0 }, message_id_hash })
        };
        rows.into_iter().filter_map(row).collect()
    })
}

proptest! {
    #[test]
    fn any_batch_is_unpacked_as_it_was_packed(
        documents in rows(),
        contents in proptest::collection::btree_map(
            0u8..4,
            proptest::collection::vec((any::<u8>(), 1..CHUNK_BYTES_MAX, any::<bool>()), 0..9),
            0..4,
        ),
    ) {
        let mut builder = BatchBuilder::default();
        prop_assert!(builder.is_empty());
        let mut sent = Vec::new();
        for (number, chunks) in &contents {
            let chunk = |&(tag, length, repeated): &(u8, u32, bool)| chunk(tag, length, repeated);
            let chunks: Vec<Chunk> = chunks.iter().map(chunk).collect();
            let (one, table) = content(*number, &chunks);
            builder.content(&one, &table);
            sent.push(one);
        }
        documents.iter().rev().for_each(|row| builder.document(row.clone()));
        let (body, ordered) = builder.finish();
        prop_assert!(builder.is_empty());
        let batch = Batch::decode(&body, CHUNK_BYTES_MAX).unwrap();
        prop_assert_eq!(&batch.documents, &documents);
        prop_assert_eq!(ordered, documents);
        prop_assert_eq!(batch.contents, sent);
        let lengths: Vec<_> = contents.values().flatten().copied().collect();
        let found: Vec<_> = batch.chunks.iter().map(|(tag, length, repeated)| (tag.0[0], length, repeated)).collect();
        prop_assert_eq!(found, lengths);
    }
}

#[test]
fn a_builder_is_full_at_its_target() {
    let mut builder = BatchBuilder::default();
    let mut rows = 0;
    while !builder.is_full() {
        builder.document(gone(format!("{rows:0100}").as_bytes(), DocumentState::Removed));
        rows += 1;
    }
    assert!((1000..3000).contains(&rows), "{rows}");
    assert!(builder.finish().0.len() < BATCH_BODY_BYTES_MAX);
    assert!(!builder.is_full());
}

#[test]
fn features_weigh_at_most_one_and_need_not_add_up() {
    let (mut one, table) = content(1, &[chunk(11, 1, false), chunk(12, 1, false)]);
    one.size_bytes = 5000;
    let mut builder = BatchBuilder::default();
    builder.content(&one, &table);
    let body = builder.finish().0;
    assert_eq!(Batch::decode(&body, FEATURE_WEIGHT_MAX).unwrap().contents[0].size_bytes, 5000);
    assert!(Batch::decode(&body, FEATURE_WEIGHT_MAX + 1).unwrap_err().to_string().contains("`size_bytes`"));
}

#[test]
fn unpacked_paths_may_not_be_many_times_the_batch() {
    // Each path repeats all of the path before it.
    let long = "a/".repeat(2000);
    let mut builder = BatchBuilder::default();
    (0..300).for_each(|n| builder.document(gone(format!("{long}{n:04}").as_bytes(), DocumentState::Removed)));
    let body = builder.finish().0;
    assert!(body.len() < 20_000);
    assert!(Batch::decode(&body, 1000).unwrap_err().to_string().contains("makes more than"));
}

#[test]
fn a_table_appends_another_with_its_marks() {
    let (_, mut one) = content(1, &[chunk(1, 5, true), chunk(2, 6, false)]);
    let (_, two) = content(2, &[chunk(3, 7, false), chunk(4, 8, true)]);
    one.append(&two);
    one.check(8).unwrap();
    let rows: Vec<_> = one.iter().map(|(tag, length, repeated)| (tag.0[0], length, repeated)).collect();
    assert_eq!(rows, [(1, 5, true), (2, 6, false), (3, 7, false), (4, 8, true)]);
    assert!(one.check(7).is_err(), "a length beyond the largest");
}

#[test]
fn the_digest_of_a_body_depends_on_every_byte() {
    assert_eq!(body_digest(b"x"), body_digest(b"x"));
    assert_ne!(body_digest(b"x"), body_digest(b"y"));
    assert_ne!(body_digest(b""), body_digest(b"\0"));
}
