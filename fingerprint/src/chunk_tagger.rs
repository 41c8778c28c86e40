//! The tags of chunks whose places are known.

use crate::chunk::Tag;
use crate::key::{Key, first_16};
use crate::lanes::ManyHasher;

/// Makes the [tags](Tag) of chunks under a key.
#[derive(Clone, Debug)]
pub struct ChunkTagger {
    hasher: ManyHasher,
}

impl ChunkTagger {
    /// A tagger under a key.
    pub fn new(key: &Key) -> ChunkTagger {
        ChunkTagger { hasher: ManyHasher::keyed(key.derive("cognate tag v1")) }
    }

    /// The tag of each chunk, in their order. Many chunks at a time take less time than one after the other.
    pub fn tags(&self, chunks: &[&[u8]]) -> impl Iterator<Item = Tag> + use<> {
        self.hasher.hash_each(chunks).into_iter().map(|hash| Tag(first_16(hash)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::noise;
    use crate::{Method, View};

    #[test]
    fn the_tag_of_a_chunk_is_the_one_that_it_has_in_its_document() {
        let (key, document) = (Key::parse(&[3; 32]).unwrap(), noise("tagged", 30_000));
        let (mut chunks, mut tags) = (Vec::new(), Vec::new());
        Method::tttd(View::Raw, 500).unwrap().fingerprinter(&key).slice(&document, |chunk| {
            let start = usize::try_from(chunk.offset).unwrap();
            chunks.push(&document[start..start + chunk.length_bytes as usize]);
            tags.push(chunk.tag);
        });
        assert!(ChunkTagger::new(&key).tags(&chunks).eq(tags));
    }
}
