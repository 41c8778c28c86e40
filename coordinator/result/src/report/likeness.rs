//! Documents in an order in which like ones follow each other, for whoever compresses or stores them: a compressor finds again only
//! what it has seen within its window.
//!
//! Source: B. Stein, S. Meyer zu Eissen, "Fingerprint-based Similarity Search and its Applications" (2005), section 3, which groups similar texts
//! before they are compressed. Here the contents of a cluster are joined by a maximum spanning forest of their links. Documents come in the
//! order of their paths; each brings its copies, and then, from the strongest link on, the contents that the forest joins with it.

use std::collections::HashMap;

use cognate_similarity::SpanningForest;

use super::{DocumentFilter, DocumentSection, Report};
use crate::error::Error;

/// The bytes of listed documents that come again within the window: in another document that begins at most so many bytes before. Of each
/// document, what its best partner there has counts, so that a compressor may find more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RepeatedBytes {
    /// Documents in the list.
    pub documents: u64,
    /// Their bytes.
    pub document_bytes: u64,
    /// The window, in bytes.
    pub window_bytes: u64,
    /// Bytes that come again if the documents are in the order of likeness.
    pub by_likeness: u64,
    /// Bytes that come again if they are in the order of their paths.
    pub by_path: u64,
}

/// The documents of a list: of each the number of its content, and its size.
struct Shelf {
    contents: Vec<u32>,
    sizes_bytes: Vec<u64>,
    /// The documents of each content, ascending: the place where they start in `copies`, and the end.
    starts: Vec<usize>,
    copies: Vec<usize>,
}

impl Shelf {
    fn new(documents: impl Iterator<Item = (u32, u64)>, content_count: usize) -> Shelf {
        let (contents, sizes_bytes): (Vec<u32>, Vec<u64>) = documents.unzip();
        let mut copies: Vec<usize> = (0..contents.len()).collect();
        copies.sort_by_key(|document| contents[*document]);
        let starts = (0..=content_count)
            .map(|content| copies.partition_point(|document| (contents[*document] as usize) < content));
        Shelf { starts: starts.collect(), contents, sizes_bytes, copies }
    }

    fn copies_of(&self, content: u32) -> &[usize] {
        &self.copies[self.starts[content as usize]..self.starts[content as usize + 1]]
    }

    /// The documents so that like ones follow each other. `forest` has the links that join contents.
    fn by_likeness(&self, forest: impl Iterator<Item = (u32, u32, u64)>) -> Vec<usize> {
        let mut links: Vec<(u32, u64, u32)> =
            forest.flat_map(|(a, b, shared)| [(a, shared, b), (b, shared, a)]).collect();
        links.sort_unstable();
        let mut is_placed = vec![false; self.starts.len() - 1];
        let mut order = Vec::with_capacity(self.contents.len());
        let mut next = Vec::new();
        for content in &self.contents {
            next.push(*content);
            while let Some(content) = next.pop() {
                if std::mem::replace(&mut is_placed[content as usize], true) {
                    continue;
                }
                order.extend_from_slice(self.copies_of(content));
                let start = links.partition_point(|(from, ..)| *from < content);
                // The strongest link is pushed last, so that it is followed first.
                let of_content = links[start..].iter().take_while(|(from, ..)| *from == content);
                next.extend(of_content.map(|(.., to)| *to).filter(|to| !is_placed[*to as usize]));
            }
        }
        order
    }
}

/// Counts what comes again in an order, while links stream past.
struct Count<'a> {
    shelf: &'a Shelf,
    window_bytes: u64,
    /// Where each document starts, in bytes.
    offsets: Vec<u64>,
    /// The documents of each content as in `shelf.copies`, in the order.
    copies: Vec<usize>,
    repeated_bytes: Vec<u64>,
}

impl Count<'_> {
    fn new<'a>(shelf: &'a Shelf, order: &[usize], window_bytes: u64) -> Count<'a> {
        let mut offsets = vec![0; order.len()];
        let mut end = 0;
        for document in order {
            offsets[*document] = end;
            end += shelf.sizes_bytes[*document];
        }
        let mut copies = shelf.copies.clone();
        let mut repeated_bytes = vec![0; order.len()];
        for content in 0..shelf.starts.len() - 1 {
            let copies = &mut copies[shelf.starts[content]..shelf.starts[content + 1]];
            copies.sort_unstable_by_key(|document| offsets[*document]);
            for pair in copies.windows(2) {
                if offsets[pair[1]] - offsets[pair[0]] <= window_bytes {
                    repeated_bytes[pair[1]] = shelf.sizes_bytes[pair[1]];
                }
            }
        }
        Count { shelf, window_bytes, offsets, copies, repeated_bytes }
    }

    fn link(&mut self, a: u32, b: u32, shared_bytes: u64) {
        for (content, other) in [(a, b), (b, a)] {
            let of = |content: u32| self.shelf.starts[content as usize]..self.shelf.starts[content as usize + 1];
            let others = &self.copies[of(other)];
            for document in &self.copies[of(content)] {
                let offset = self.offsets[*document];
                let before = others.partition_point(|other| self.offsets[*other] < offset);
                let last = before.checked_sub(1).map(|place| self.offsets[others[place]]);
                if last.is_some_and(|last| offset - last <= self.window_bytes) {
                    let repeated = &mut self.repeated_bytes[*document];
                    *repeated = shared_bytes.min(self.shelf.sizes_bytes[*document]).max(*repeated);
                }
            }
        }
    }

    fn finish(&self) -> u64 {
        self.repeated_bytes.iter().sum()
    }
}

impl Report {
    /// The documents that a filter lets through, so that like ones follow each other, and what comes again within a window then.
    ///
    /// # Errors
    /// Fails if the file cannot be read, names no such site, or `each` fails.
    pub fn documents_by_likeness<E: From<Error>>(
        &self,
        filter: &DocumentFilter,
        window_bytes: u64,
        mut each: impl FnMut(DocumentSection) -> Result<(), E>,
    ) -> Result<RepeatedBytes, E> {
        let mut ids = Vec::new();
        self.numbered_documents_where(filter, |id, _| {
            ids.push(id);
            Ok::<(), Error>(())
        })?;
        let (order, repeated) = self.by_likeness(&ids, window_bytes)?;
        let order: Vec<i64> = order.into_iter().map(|place| ids[place]).collect();
        self.documents_numbered(&order, filter, &mut each)?;
        Ok(repeated)
    }

    /// The places of documents, which are in the order of their paths, in the order of likeness.
    fn by_likeness(&self, ids: &[i64], window_bytes: u64) -> Result<(Vec<usize>, RepeatedBytes), Error> {
        let places: HashMap<i64, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let mut numbers: HashMap<i64, u32> = HashMap::new();
        let mut documents = vec![(0, 0); ids.len()];
        // A document counts under the view in which it has relatives. One without any content is like no other.
        let sql =
            "SELECT d.id, d.size_bytes, coalesce(CASE WHEN c.cluster IS NULL THEN o.content END, d.content, -d.id)
                   FROM document d LEFT JOIN content c ON c.id = d.content LEFT JOIN document o ON o.id = d.other
                   WHERE d.listed";
        self.each_row(sql, (), |(id, size_bytes, content): (i64, u64, i64)| {
            if let Some(place) = places.get(&id) {
                let count = u32::try_from(numbers.len()).expect("a result has fewer than 2^32 contents");
                documents[*place] = (*numbers.entry(content).or_insert(count), size_bytes);
            }
            Ok::<_, Error>(())
        })?;
        let shelf = Shelf::new(documents.into_iter(), numbers.len());
        let mut forest = SpanningForest::new(numbers.len());
        self.each_link_of(&numbers, |a, b, shared_bytes| forest.add(a, b, shared_bytes))?;
        let order = shelf.by_likeness(forest.finish());
        let by_path: Vec<usize> = (0..ids.len()).collect();
        let mut counts = [&order, &by_path].map(|order| Count::new(&shelf, order, window_bytes));
        self.each_link_of(&numbers, |a, b, shared_bytes| {
            counts.iter_mut().for_each(|count| count.link(a, b, shared_bytes));
        })?;
        let repeated = RepeatedBytes {
            documents: ids.len() as u64,
            document_bytes: shelf.sizes_bytes.iter().sum(),
            window_bytes,
            by_likeness: counts[0].finish(),
            by_path: counts[1].finish(),
        };
        Ok((order, repeated))
    }

    /// The links between contents that have a number.
    fn each_link_of(&self, numbers: &HashMap<i64, u32>, mut each: impl FnMut(u32, u32, u64)) -> Result<(), Error> {
        self.each_row("SELECT a, b, shared_bytes FROM link", (), |(a, b, shared_bytes): (i64, i64, u64)| {
            if let (Some(a), Some(b)) = (numbers.get(&a), numbers.get(&b)) {
                each(*a, *b, shared_bytes);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documents by path: of each the content and the size.
    const DOCUMENTS: [(u32, u64); 7] = [(0, 10), (1, 20), (2, 30), (0, 10), (3, 40), (4, 50), (1, 20)];
    const LINKS: [(u32, u32, u64); 4] = [(0, 3, 9), (0, 4, 7), (3, 4, 30), (1, 2, 5)];

    fn order(shelf: &Shelf) -> Vec<usize> {
        let mut forest = SpanningForest::new(5);
        LINKS.iter().for_each(|(a, b, shared)| forest.add(*a, *b, *shared));
        shelf.by_likeness(forest.finish())
    }

    #[test]
    fn copies_follow_each_other_and_then_the_strongest_links() {
        let shelf = Shelf::new(DOCUMENTS.into_iter(), 5);
        // The first with its copy, what it shares most with, and what shares most with that; then the next by path.
        assert_eq!(order(&shelf), [0, 3, 4, 5, 1, 6, 2]);
    }

    #[test]
    fn what_comes_again_is_what_the_best_partner_within_the_window_has() {
        let shelf = Shelf::new(DOCUMENTS.into_iter(), 5);
        let repeated = |order: &[usize], window_bytes: u64| {
            let mut count = Count::new(&shelf, order, window_bytes);
            LINKS.iter().for_each(|(a, b, shared)| count.link(*a, *b, *shared));
            count.finish()
        };
        let by_path: Vec<usize> = (0..7).collect();
        // 5 of the third, the copy, 9 of the fifth, 30 of the sixth, and the other copy.
        assert_eq!(repeated(&by_path, u64::MAX), 5 + 10 + 9 + 30 + 20);
        // The copies of the second are 150 bytes apart; what the last shares with the third is nearer.
        assert_eq!(repeated(&by_path, 149), 5 + 10 + 9 + 30 + 5);
        assert_eq!(repeated(&by_path, 40), 5 + 9 + 30);
        assert_eq!(repeated(&by_path, 9), 0);
        let order = order(&shelf);
        assert_eq!(repeated(&order, u64::MAX), 10 + 9 + 30 + 20 + 5);
        assert_eq!(repeated(&order, 40), 10 + 9 + 30 + 20 + 5);
        assert_eq!(repeated(&order, 10), 10 + 9);
    }
}
