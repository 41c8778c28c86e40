//! Templates: tags that later analyses set aside. A scan fixes which of them are in force when it is frozen.
//!
//! A template is the record of a decision: it goes through the journal, and a template that is unmarked stays there as
//! unmarked, since scans refer to it. Its id is made from its method and its tags, so that marking the same twice is
//! marking it once.

use cognate_fingerprint::{Method, MethodId, Tag};
use cognate_proto::v1;

use crate::error::Error;
use crate::store::Store;

/// Tags of one template. It is a row of the store and an event of the journal: a few hundred kilobytes at most.
pub const TAGS_MAX: usize = 16_384;

/// The templates under a method that are in force, by their ids, and all their tags, ascending.
pub fn in_force(store: &Store, method_id: MethodId) -> Result<(Vec<u64>, Vec<Tag>), Error> {
    let mut templates = store.templates()?;
    templates.retain(|template| template.unmarked == 0 && method_of(template) == Some(method_id));
    let ids = templates.iter().map(|template| template.id).collect();
    Ok((ids, union(&templates)))
}

/// All tags of these templates, ascending, whether they are in force or not.
pub fn tags_of(store: &Store, ids: &[u64]) -> Result<Vec<Tag>, Error> {
    let templates: Vec<_> = ids.iter().filter_map(|id| store.template(*id).transpose()).collect::<Result<_, _>>()?;
    Ok(union(&templates))
}

/// The digest of a set of tags under a method: the same whatever templates they come from.
pub fn digest(method_id: MethodId, tags: &[Tag]) -> String {
    hash(method_id, tags).to_hex().to_string()
}

/// The id of a template.
pub fn id_of(method_id: MethodId, tags: &[Tag]) -> u64 {
    let hash = hash(method_id, tags);
    let bytes = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
    u64::from_be_bytes(*bytes).max(1)
}

/// `tags` ascend.
fn hash(method_id: MethodId, tags: &[Tag]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"cognate template 1").update(&method_id.0);
    tags.iter().for_each(|tag| {
        hasher.update(&tag.0);
    });
    hasher.finalize()
}

/// Checks that a method has templates ([`cognate_fingerprint::Capabilities::templates`]).
///
/// # Errors
/// Fails if it has none.
pub fn check_chunks(method: &Method) -> Result<(), Error> {
    let why = || format!("templates are chunks, and `{}` has none: use a scan with tttd or bsw-chunk", method.name());
    if method.capabilities().templates { Ok(()) } else { Err(Error::Refused(why())) }
}

/// The method whose chunks a template lists; none where its id does not have 16 bytes.
pub fn method_of(template: &v1::Template) -> Option<MethodId> {
    template.method.as_ref()?.method_id.as_slice().try_into().ok().map(MethodId)
}

/// The tags of all these templates, ascending, each once.
pub fn union(templates: &[v1::Template]) -> Vec<Tag> {
    let mut tags: Vec<Tag> = templates.iter().flat_map(|template| split(&template.tags)).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// Tags as a message has them.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = Tag> {
    bytes.as_chunks().0.iter().map(|tag| Tag(*tag))
}

/// A tag and the length of its chunk.
pub type Chunk = (Tag, u32);

/// Tags and lengths as a message has them.
pub fn joined(chunks: &[Chunk]) -> (Vec<u8>, Vec<u32>) {
    chunks.iter().map(|(tag, length_bytes)| (tag.0, length_bytes)).fold((Vec::new(), Vec::new()), |mut all, chunk| {
        all.0.extend_from_slice(&chunk.0);
        all.1.push(*chunk.1);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u8) -> Tag {
        Tag([number; 16])
    }

    #[test]
    fn a_set_has_one_digest_whatever_its_templates_and_another_under_another_method() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(&folder.path().join("store"), &folder.path().join("journal"), true).unwrap();
        let (method, other) = (MethodId([7; 16]), MethodId([8; 16]));
        let template = |method: MethodId, numbers: &[u8]| {
            let chunks: Vec<Chunk> = numbers.iter().map(|number| (tag(*number), 10)).collect();
            let (tags, lengths) = joined(&chunks);
            let ascending: Vec<Tag> = chunks.iter().map(|chunk| chunk.0).collect();
            let spec = v1::MethodSpec { method_id: method.0.to_vec(), ..v1::MethodSpec::default() };
            v1::Template { id: id_of(method, &ascending), method: Some(spec), tags, lengths, ..v1::Template::default() }
        };
        let record = |store: &Store, time: i64, what| {
            let event = crate::journal::Event { time, by: "anna".to_owned(), what: Some(what) };
            store.record(&event).unwrap();
        };
        let store = open();
        assert_eq!(in_force(&store, method).unwrap(), (vec![], vec![]));
        let (two, three) = (template(method, &[1, 2]), template(method, &[2, 3]));
        for one in [&two, &three, &template(other, &[9])] {
            record(&store, 5, crate::journal::What::Template(one.clone()));
        }
        let (mut ids, tags) = in_force(&store, method).unwrap();
        ids.sort_unstable();
        let mut expected = [two.id, three.id];
        expected.sort_unstable();
        assert_eq!((ids.as_slice(), tags.as_slice()), (&expected[..], &[tag(1), tag(2), tag(3)][..]));
        assert_eq!(digest(method, &tags), digest(method, &union(&[template(method, &[1, 2, 3])])));
        assert_ne!(digest(method, &tags), digest(other, &tags));
        record(&store, 6, crate::journal::What::TemplateUnmarked(two.id));
        assert_eq!(in_force(&store, method).unwrap(), (vec![three.id], vec![tag(2), tag(3)]));
        // An earlier frozen scan still finds it, in a rebuilt store as well.
        drop(store);
        std::fs::remove_dir_all(folder.path().join("store")).unwrap();
        let store = open();
        assert_eq!(tags_of(&store, &[two.id]).unwrap(), [tag(1), tag(2)]);
        let stored = store.template(two.id).unwrap().unwrap();
        assert_eq!((stored.unmarked, stored.unmarked_by.as_str()), (6, "anna"));
    }
}
