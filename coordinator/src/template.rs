//! Templates: tags that later analyses set aside. Which of them are in force is fixed when a scan is frozen.
//!
//! A template is a record of what somebody decided: it goes through the journal, and what is taken back stays there as
//! taken back, since scans refer to it. Its id is made from its method and its tags, so that marking the same twice is
//! marking it once.

mod mark;
mod postings;
mod spread;
mod suggest;

use cognate_fingerprint::{MethodId, Tag};
use cognate_proto::v1;

use crate::error::Error;
use crate::store::Store;

pub(crate) use self::mark::Mark;
pub(crate) use self::suggest::Wish;

/// Tags of one template. It is a row of the store and an event of the journal: a few hundred kilobytes at most.
pub(crate) const TAGS_MAX: usize = 16_384;

/// The templates under a method that are in force, by their ids, and all their tags, ascending.
pub(crate) fn in_force(store: &Store, method_id: MethodId) -> Result<(Vec<u64>, Vec<Tag>), Error> {
    let mut templates = store.templates()?;
    templates.retain(|template| template.unmarked == 0 && method_of(template) == Some(method_id));
    let ids = templates.iter().map(|template| template.id).collect();
    Ok((ids, union(&templates)))
}

/// All tags of these templates, ascending, whether they are in force or not.
pub(crate) fn tags_of(store: &Store, ids: &[u64]) -> Result<Vec<Tag>, Error> {
    let templates: Vec<_> = ids.iter().filter_map(|id| store.template(*id).transpose()).collect::<Result<_, _>>()?;
    Ok(union(&templates))
}

/// The digest of a set of tags under a method: the same whatever templates they come from.
pub(crate) fn digest(method_id: MethodId, tags: &[Tag]) -> String {
    hash(method_id, tags).to_hex().to_string()
}

/// The id of a template.
fn id_of(method_id: MethodId, tags: &[Tag]) -> u64 {
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

/// Whether what is in common can be boilerplate: templates are chunks, which say what bytes they are.
fn check_chunks(has_chunks: bool, method: &str) -> Result<(), Error> {
    let why = || format!("templates are chunks, and `{method}` has none: use a scan with tttd or bsw-chunk");
    if has_chunks { Ok(()) } else { Err(Error::Refused(why())) }
}

fn method_of(template: &v1::Template) -> Option<MethodId> {
    template.method.as_ref()?.method_id.as_slice().try_into().ok().map(MethodId)
}

fn union(templates: &[v1::Template]) -> Vec<Tag> {
    let mut tags: Vec<Tag> = templates.iter().flat_map(|template| split(&template.tags)).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// Tags as they stand in a message.
fn split(bytes: &[u8]) -> impl Iterator<Item = Tag> {
    bytes.as_chunks().0.iter().map(|tag| Tag(*tag))
}

/// A tag and the length of its chunk.
pub(crate) type Chunk = (Tag, u32);

/// Tags and lengths as they stand in a message.
pub(crate) fn joined(chunks: &[Chunk]) -> (Vec<u8>, Vec<u32>) {
    chunks.iter().map(|(tag, length_bytes)| (tag.0, length_bytes)).fold((Vec::new(), Vec::new()), |mut all, chunk| {
        all.0.extend_from_slice(&chunk.0);
        all.1.push(*chunk.1);
        all
    })
}

#[cfg(test)]
mod tests;
