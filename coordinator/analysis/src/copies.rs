//! The documents of every content, packed: no list for each content.

use cognate_similarity::ContentIndex;

use crate::freeze::FrozenSet;

/// The documents of every content.
pub(crate) struct Copies {
    starts: Vec<u32>,
    documents: Vec<u32>,
}

impl Copies {
    pub(crate) fn of(frozen: &FrozenSet) -> Copies {
        let mut starts = vec![0_u32; frozen.contents.len() + 1];
        for document in &frozen.documents {
            starts[document.content.0 as usize + 1] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let mut documents = vec![0; frozen.documents.len()];
        for (number, document) in frozen.documents.iter().enumerate() {
            let place = &mut next[document.content.0 as usize];
            documents[*place as usize] = u32::try_from(number).expect("fewer than 2^32 documents");
            *place += 1;
        }
        Copies { starts, documents }
    }

    /// One document of each content.
    #[cfg(test)]
    pub(crate) fn of_each(contents: usize) -> Copies {
        let places = |count: usize| (0..).take(count).collect::<Vec<u32>>();
        Copies { starts: places(contents + 1), documents: places(contents) }
    }

    /// The documents of a content, in their order.
    pub(crate) fn of_content(&self, content: ContentIndex) -> &[u32] {
        let place = content.0 as usize;
        &self.documents[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}
