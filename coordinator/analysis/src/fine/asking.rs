//! The questions to the sites: each chunk once, to the repository of its first document, and only where no earlier scan has its fine
//! chunks. What arrives is checked, and kept at once.

use cognate_fingerprint::Tag;
use cognate_proto::fine::{Expansion, FineChoice};

use super::arrivals::Arrivals;
use super::expansions::{Expansions, ExpansionsWriter};
use super::tag_list::TagList;
use super::wanted::WantedChunk;
use super::{AskedRepository, FineArrival, FineFailure, FineRequest, FineRoot, FineRound, FineSiteEnd, FineWork};
use crate::compare::Task;
use crate::error::Error;
use crate::subject::index;

/// The chunks of one root that are not asked for yet, in the order in which they are asked for.
struct RootQueue {
    root: u16,
    /// The number of chunks when the questions began.
    chunks: usize,
    left: std::vec::IntoIter<WantedChunk>,
}

/// The chunks that are asked for, and the file for their fine chunks.
struct Asking<'a, 't> {
    task: &'a Task<'t>,
    round: &'a FineRound<'a>,
    wanted: WantedLengths<'a>,
    queues: Vec<RootQueue>,
    roots: Vec<FineRoot>,
    writer: &'a mut ExpansionsWriter,
    /// The log of what arrives, if the scan continues after the end of the process.
    arrivals: Option<Arrivals>,
}

/// The lengths of the chunks that are wanted, by their tags.
struct WantedLengths<'a> {
    /// By their tags.
    chunks: &'a [WantedChunk],
    tags: &'a TagList,
}

impl Task<'_> {
    /// Has the chunks cut that no earlier scan has, and writes all of them down. The chunks ascend by their `tags`.
    pub(super) fn ask(
        &self,
        wanted: &[WantedChunk],
        tags: &TagList,
        round: &FineRound<'_>,
        earlier: &[Expansions],
        writer: &mut ExpansionsWriter,
    ) -> Result<Vec<FineRoot>, Error> {
        let mut roots = vec![FineRoot::default(); self.subject.frozen.roots.len()];
        let arrivals = round.durable.then(|| Arrivals::open(&round.files.arrivals, writer)).transpose()?;
        let queues = self.queues(wanted, earlier, writer, &mut roots)?;
        let wanted = WantedLengths { chunks: wanted, tags };
        let mut asking = Asking { task: self, round, wanted, queues, roots, writer, arrivals };
        if !asking.queues.is_empty() {
            round.source.ask(&mut asking)?;
        }
        Ok(asking.roots)
    }

    /// Takes over the chunks that earlier scans have; the others are in the queue of the root of their first document.
    fn queues(
        &self,
        wanted: &[WantedChunk],
        earlier: &[Expansions],
        writer: &mut ExpansionsWriter,
        roots: &mut [FineRoot],
    ) -> Result<Vec<RootQueue>, Error> {
        let mut of_root: Vec<Vec<WantedChunk>> = vec![Vec::new(); roots.len()];
        let mut of_earlier: Vec<Vec<Tag>> = vec![Vec::new(); earlier.len()];
        for chunk in wanted {
            let number = self.root_of(chunk.content);
            let root = &mut roots[usize::from(number)];
            root.chunks += 1;
            let place = earlier.iter().position(|earlier| earlier.contains(&chunk.tag));
            place.into_iter().for_each(|place| of_earlier[place].push(chunk.tag));
            match place.is_some() || writer.contains(&chunk.tag) {
                true => root.expanded_chunks += 1,
                false => of_root[usize::from(number)].push(*chunk),
            }
        }
        earlier.iter().zip(of_earlier).try_for_each(|(earlier, tags)| writer.take_over(earlier, &tags))?;
        let with_chunks = (0..).zip(of_root).filter(|(_, chunks)| !chunks.is_empty());
        let queue = |(root, chunks): (u16, Vec<WantedChunk>)| RootQueue {
            root,
            chunks: chunks.len(),
            left: self.by_documents(chunks).into_iter(),
        };
        Ok(with_chunks.map(queue).collect())
    }

    /// The root of the first document with a content.
    fn root_of(&self, content: u32) -> u16 {
        let copies = self.subject.copies.of_content(index(content as usize));
        self.subject.frozen.root_of(copies[0])
    }

    /// The chunks by the first documents of their contents: what is inside of one file, which is read as a whole, comes together.
    fn by_documents(&self, mut chunks: Vec<WantedChunk>) -> Vec<WantedChunk> {
        let first_document = |content: u32| self.subject.copies.of_content(index(content as usize))[0];
        chunks.sort_by_cached_key(|chunk| (first_document(chunk.content), chunk.content, chunk.tag));
        chunks
    }
}

impl FineWork for Asking<'_, '_> {
    fn repositories(&self) -> Vec<AskedRepository> {
        let repository = |queue: &RootQueue| {
            let root = &self.task.subject.frozen.roots[usize::from(queue.root)];
            let (site, repository) = (root.site.clone(), root.repository.clone());
            AskedRepository { site, repository, chunks: queue.chunks as u64 }
        };
        self.queues.iter().map(repository).collect()
    }

    /// A content with very many chunks is in several requests.
    fn next(&mut self, number: usize, chunks_max: usize) -> Option<FineRequest> {
        let queue = &mut self.queues[number];
        let part: Vec<WantedChunk> = queue.left.by_ref().take(chunks_max).collect();
        if part.is_empty() {
            return None;
        }
        let frozen = self.task.subject.frozen;
        let root = &frozen.roots[usize::from(queue.root)];
        let of_content = |chunks: &[WantedChunk]| {
            let content = frozen.digest_at_site(&frozen.contents[chunks[0].content as usize]);
            (content, chunks.iter().map(|chunk| chunk.tag).collect())
        };
        Some(FineRequest {
            site: root.site.clone(),
            repository: root.repository.clone(),
            method: self.task.scan.spec.layers[self.task.layer].method,
            method_id: self.round.method_id,
            choice: FineChoice { contents: part.chunk_by(|a, b| a.content == b.content).map(of_content).collect() },
        })
    }

    fn take(&mut self, arrived: Vec<FineArrival>) -> Result<(), Error> {
        let path = &self.round.files.arrivals;
        for FineArrival { number, expansions, sent_bytes } in arrived {
            let root = &mut self.roots[usize::from(self.queues[number].root)];
            if root.failure.is_some() {
                continue;
            }
            if !expansions.iter().all(|expansion| self.wanted.has_length_of(expansion)) {
                root.failure = Some(FineFailure::passing("its fine chunks do not add up to its chunks"));
                continue;
            }
            root.expanded_chunks += expansions.len() as u64;
            root.sent_bytes = root.sent_bytes.saturating_add(sent_bytes);
            expansions.iter().try_for_each(|expansion| self.writer.push(expansion))?;
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.append(&expansions, path)?;
            }
        }
        self.arrivals.iter().try_for_each(|arrivals| arrivals.sync(path))
    }

    fn end(&mut self, number: usize, end: Result<FineSiteEnd, FineFailure>) {
        let root = &mut self.roots[usize::from(self.queues[number].root)];
        match end {
            Ok(FineSiteEnd { changed_contents, read_bytes }) => {
                root.changed_contents = root.changed_contents.saturating_add(changed_contents);
                root.read_bytes = root.read_bytes.saturating_add(read_bytes);
            }
            Err(failure) => drop(root.failure.get_or_insert(failure)),
        }
    }

    fn failed(&self, number: usize) -> bool {
        self.roots[usize::from(self.queues[number].root)].failure.is_some()
    }
}

impl WantedLengths<'_> {
    /// True if the fine chunks of a chunk that is wanted are together as long as it is.
    fn has_length_of(&self, expansion: &Expansion) -> bool {
        let length: u32 = expansion.fine.iter().map(|fine| u32::from(fine.length_bytes)).sum();
        self.tags.place(&expansion.tag).is_some_and(|place| self.chunks[place as usize].length_bytes == length)
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::FineChunk;

    use super::*;

    #[test]
    fn fine_chunks_fit_if_they_are_as_long_as_a_chunk_that_was_asked_for() {
        let chunk = |number: u8| WantedChunk { tag: Tag([number; 16]), content: 0, length_bytes: 21 };
        let chunks = [chunk(1), chunk(4), chunk(9)];
        let tags = TagList::of(chunks.iter().map(|chunk| chunk.tag).collect());
        let wanted = WantedLengths { chunks: &chunks, tags: &tags };
        let of = |number: u8, lengths: &[u8]| {
            let fine = lengths.iter().map(|length| FineChunk { tag: number, length_bytes: *length });
            wanted.has_length_of(&Expansion { tag: Tag([number; 16]), fine: fine.collect() })
        };
        assert!(of(1, &[7, 7, 7]) && of(4, &[16, 5]) && of(9, &[7, 14]));
        assert!(!of(1, &[7, 7]) && !of(4, &[16, 6]) && !of(9, &[]) && !of(2, &[7, 7, 7]));
    }
}
