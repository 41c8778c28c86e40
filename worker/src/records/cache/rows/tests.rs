//! Every key and every value is the same after a round trip, and no two keys of a family are mixed up.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn repository() -> impl Strategy<Value = RepositoryName> {
    "[a-z][a-z0-9-]{0,8}".prop_filter_map("a valid name", |name| name.parse().ok())
}

fn path() -> impl Strategy<Value = DocumentPath> {
    vec(1u8..=255, 1..12).prop_filter_map("a valid path", |bytes| DocumentPath::new(&bytes).ok())
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        (repository(), path()).prop_map(|(repository, path)| Key::Document(repository, path)),
        (repository(), path(), any::<[u8; 16]>(), any::<u32>()).prop_map(|(repository, path, id, number)| Key::Inside(
            repository,
            path,
            MethodId(id),
            number
        )),
        any::<[u8; 16]>().prop_map(|key| Key::Text(TextKey::from_bytes(key))),
        repository().prop_map(Key::Repository),
        Just(Key::Schema),
        Just(Key::Compacted),
    ]
}

fn location() -> impl Strategy<Value = Location> {
    any::<(u64, u64, u64)>().prop_map(|(file, offset, length_bytes)| Location { file, offset, length_bytes })
}

fn part() -> impl Strategy<Value = StoredPart> {
    let sample = (0..100_u64, 1..1000_u64)
        .prop_map(|(count, first)| WindowSample::new(&(first..first + count).collect::<Vec<_>>()).unwrap());
    let content = (any::<(u64, u64, [u8; 16])>(), sample, location()).prop_map(
        |((size_bytes, chunk_count, digest), sample, location)| {
            (Content { size_bytes, chunk_count, digest: ContentDigest(digest), sample }, location)
        },
    );
    let without = prop_oneof![
        Just(DocumentState::NoText),
        Just(DocumentState::Container),
        Just(DocumentState::Damaged),
        Just(DocumentState::Encrypted),
    ];
    let listed = prop_oneof![
        content.prop_map(|list| (DocumentState::Read, Some(list))),
        without.prop_map(|state| (state, None)),
    ];
    (listed, any::<Option<[u8; 16]>>()).prop_map(|((state, list), message_id_hash)| StoredPart {
        state,
        list,
        message_id_hash,
    })
}

fn document() -> impl Strategy<Value = KnownDocument> {
    let result = (any::<[u8; 16]>(), part(), any::<u32>(), any::<Option<u64>>())
        .prop_map(|(id, own, inside, recognition)| MethodResult { method_id: MethodId(id), own, inside, recognition });
    let class = prop_oneof![Just(FileClass::Plain), Just(FileClass::Pdf), Just(FileClass::Archive)];
    let hashes = any::<[u8; 16]>().prop_map(|md5| FileHashes::from_bytes(&[&[0][..], &md5].concat()).unwrap());
    (any::<(u64, i64, i64, u64)>(), class, any::<Option<[u8; 16]>>(), hashes, vec(result, 0..4)).prop_map(
        |((length_bytes, modified_ns, changed_ns, inode), class, bytes_digest, hashes, results)| KnownDocument {
            stamp: Stamp { length_bytes, modified_ns, changed_ns, inode },
            class,
            candidate: if class == FileClass::Pdf { Candidate::Document } else { Candidate::Picture },
            bytes_digest,
            hashes,
            results,
        },
    )
}

fn round_trip<V: super::Value + PartialEq + std::fmt::Debug>(value: &V) {
    assert_eq!(V::from_bytes(&value.to_bytes()).as_ref(), Some(value));
}

proptest! {
    #[test]
    fn every_key_is_read_back(key in key()) {
        prop_assert_eq!(Key::from_bytes(key.family(), &key.to_bytes()), Some(key));
    }

    #[test]
    fn two_keys_of_a_family_have_different_bytes(keys in vec(key(), 2..20)) {
        for (a, b) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
            if a != b && a.family() == b.family() {
                prop_assert_ne!(a.to_bytes(), b.to_bytes());
            }
        }
    }

    #[test]
    fn every_value_is_read_back(
        document in document(), path in path(), part in part(), parts in 1..=PARTS_PER_ROW, location in location(),
        (documents, files, seconds) in any::<(u64, u64, i64)>(), version in any::<u32>(),
    ) {
        round_trip(&document);
        round_trip(&Parts(vec![(path, part); parts]));
        round_trip(&location);
        round_trip(&LastSync { documents, files, seconds, root: (files, documents) });
        round_trip(&ListSize { bytes: documents, files });
        round_trip(&version);
    }

    #[test]
    fn any_bytes_are_a_value_or_nothing(bytes in vec(any::<u8>(), 0..64)) {
        let _ = KnownDocument::from_bytes(&bytes);
        let _ = Parts::from_bytes(&bytes);
        let _ = LastSync::from_bytes(&bytes);
    }
}

#[test]
fn the_rows_inside_of_a_document_sort_by_number_and_begin_alike() {
    let (repository, path, id) = (RepositoryName::main(), DocumentPath::new(b"a.zip").unwrap(), MethodId([7; 16]));
    let keys = [0, 1, 255, 256, 70_000].map(|number| Key::Inside(repository.clone(), path.clone(), id, number));
    let bytes = keys.map(|key| key.to_bytes());
    assert!(bytes.is_sorted());
    assert!(bytes.iter().all(|bytes| bytes.starts_with(&Key::inside_of(&repository, &path, id))));
    let neighbour = Key::inside_of(&repository, &DocumentPath::new(b"a.zi").unwrap(), id);
    assert!(!bytes.iter().any(|bytes| bytes.starts_with(&neighbour)));
}

#[test]
fn a_part_that_was_read_has_a_content_and_no_other_has_one() {
    let read = PartRow { state: DocumentState::Read.into(), ..PartRow::default() };
    assert_eq!(read.clone().part(), None);
    let failed = PartRow { state: DocumentState::Damaged.into(), location: Some(LocationRow::default()), ..read };
    assert_eq!(failed.part(), None);
}
