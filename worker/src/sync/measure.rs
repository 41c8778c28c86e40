//! The exact measure for the coordinator: documents that have chosen contents are read once more, and what pairs of them truly
//! have in common is counted. Nothing but the counts leaves.
//!
//! A content is put together from the chunks of its file, and counts only if its digest is still the chosen one: a document
//! that has changed gives nothing. Both contents of a pair are in memory, so their sizes have limits.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cognate_fingerprint::{Chunk, ContentDigest, Fingerprinter, exact_shared_bytes};
use cognate_proto::limits::{MEASURE_BYTES_MAX, MEASURE_CONTENT_BYTES_MAX};
use cognate_proto::measure::{ContentPair, PairMeasure};
use cognate_proto::selection::Selection;

use super::job::Job;
use super::syncs::Syncs;
use crate::documents::outcome::ReadOutcome;
use crate::documents::root::Root;
use crate::error::SyncError;

/// The counts of a query.
pub(crate) struct Measured {
    /// The pairs whose contents are unchanged, ascending.
    pub(crate) pairs: Vec<PairMeasure>,
    pub(crate) read_bytes: u64,
}

impl Syncs {
    /// Measures pairs of contents that are in the repositories of `jobs`, which are of one method. Blocks.
    pub(crate) fn measure(
        &self,
        jobs: &[Job],
        pairs: &[ContentPair],
        cancelled: &AtomicBool,
    ) -> Result<Measured, SyncError> {
        let Some(first) = jobs.first() else { return Ok(Measured { pairs: Vec::new(), read_bytes: 0 }) };
        if let Some(answers) = &self.answers {
            answers.take_pairs(pairs.len())?;
        }
        let wanted: HashSet<ContentDigest> = pairs.iter().flatten().copied().collect();
        let collector = Collector::new(first.method.fingerprinter(&self.settings.key), wanted);
        let collector = Arc::new(Mutex::new(collector));
        let read: Result<u64, SyncError> = jobs.iter().map(|job| self.collect(job, &collector, cancelled)).sum();
        if first.method.view().is_text() {
            self.processes.stop();
        }
        let read_bytes = read?;
        let contents = std::mem::take(&mut collector.lock().expect("nothing panics while it is held").kept);
        let measured = self.measure_all(pairs, &contents, cancelled);
        if cancelled.load(Ordering::Relaxed) {
            return Err(SyncError::Cancelled);
        }
        Ok(Measured { pairs: measured, read_bytes })
    }

    /// Measures the pairs whose contents are there, in all threads.
    fn measure_all(
        &self,
        pairs: &[ContentPair],
        contents: &HashMap<ContentDigest, Vec<u8>>,
        cancelled: &AtomicBool,
    ) -> Vec<PairMeasure> {
        let there = |(number, [a, b]): (usize, &ContentPair)| Some((number, [contents.get(a)?, contents.get(b)?]));
        let mut left: Vec<_> = pairs.iter().enumerate().filter_map(there).collect();
        // The longest first: otherwise one of them may come last, and all other threads wait for it.
        left.sort_by_key(|(_, [a, b])| std::cmp::Reverse(a.len() + b.len()));
        let next = AtomicUsize::new(0);
        let measure = || {
            let mut measured = Vec::new();
            while let Some(&(number, [a, b])) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                if cancelled.load(Ordering::Relaxed) {
                    break;
                }
                measured.push(PairMeasure { number, shared_bytes: exact_shared_bytes(a, b) });
            }
            measured
        };
        let mut measured: Vec<PairMeasure> = std::thread::scope(|scope| {
            let count = self.settings.threads.get().min(left.len());
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(measure)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("measuring does not panic")).collect()
        });
        measured.sort_unstable_by_key(|pair| pair.number);
        measured
    }

    /// Reads the files of a repository that have contents which are still wanted; returns the number of bytes that were read.
    fn collect(&self, job: &Job, collector: &Arc<Mutex<Collector>>, cancelled: &AtomicBool) -> Result<u64, SyncError> {
        let lock = || collector.lock().expect("nothing panics while it is held");
        let root = Root::open(&job.path, job.follow_symlinks, &job.own_files)
            .map_err(|source| SyncError::Root { path: job.path.clone(), source })?;
        let cache = self.records.cache()?;
        let wanted = lock().wanted.clone();
        let files = self.files_with_contents(job, &wanted)?;
        let of_visitor = Arc::clone(collector);
        let visitor = move |chunk: &Chunk, bytes: &[u8]| {
            of_visitor.lock().expect("nothing panics while it is held").take(chunk, bytes);
        };
        let all = Selection::all();
        let read = || -> io::Result<u64> {
            let parts = (job, &root, cache.as_deref());
            let mut reader = self.chunk_reader(parts, Box::new(visitor), &all, cancelled)?;
            let mut read_bytes = 0;
            for (path, contents) in &files {
                if cancelled.load(Ordering::Relaxed) {
                    break;
                }
                if !contents.iter().any(|content| lock().wanted.contains(content)) {
                    continue;
                }
                let known = cache.as_deref().and_then(|cache| cache.get(&job.repository, path));
                let outcome = reader.read(path, known.as_ref())?;
                lock().end();
                // A document that cannot be read now counts as changed.
                let ReadOutcome::Fingerprinted(done) = outcome else { continue };
                read_bytes += done.read_bytes;
                reader.discard(&done)?;
            }
            Ok(read_bytes)
        };
        read().map_err(|source| self.records.failure(source))
    }
}

/// Puts contents together again as their chunks are shown, and keeps those that are wanted.
struct Collector {
    /// Names a content by its chunks.
    fingerprinter: Fingerprinter,
    wanted: HashSet<ContentDigest>,
    /// The content whose chunks are being shown; empty if it is too long.
    content: Vec<u8>,
    too_long: bool,
    kept: HashMap<ContentDigest, Vec<u8>>,
    kept_bytes: u64,
}

impl Collector {
    fn new(fingerprinter: Fingerprinter, wanted: HashSet<ContentDigest>) -> Collector {
        Collector { fingerprinter, wanted, content: Vec::new(), too_long: false, kept: HashMap::new(), kept_bytes: 0 }
    }

    /// Receives the next chunk; the chunks of a content come in order.
    fn take(&mut self, chunk: &Chunk, bytes: &[u8]) {
        if chunk.offset == 0 {
            self.end();
        }
        self.too_long |= (self.content.len() + bytes.len()) as u64 > MEASURE_CONTENT_BYTES_MAX;
        match self.too_long {
            true => self.content.clear(),
            false => self.content.extend_from_slice(bytes),
        }
    }

    /// Ends a content.
    fn end(&mut self) {
        let content = std::mem::take(&mut self.content);
        if std::mem::take(&mut self.too_long) || content.is_empty() {
            return;
        }
        let length = content.len() as u64;
        let digest = self.fingerprinter.slice(&content, |_| ()).digest;
        if self.kept_bytes + length <= MEASURE_BYTES_MAX && self.wanted.remove(&digest) {
            self.kept_bytes += length;
            self.kept.insert(digest, content);
        }
    }
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Key, Method, View};

    use super::*;

    fn method() -> Method {
        Method::tttd(View::Raw, 80).unwrap()
    }

    fn digest(document: &[u8]) -> ContentDigest {
        method().fingerprinter(&Key::none()).slice(document, |_| ()).digest
    }

    /// Shows the documents to a collector, one after the other, and returns those that it keeps.
    fn kept(documents: &[&[u8]], wanted: &[&[u8]]) -> HashMap<ContentDigest, Vec<u8>> {
        let wanted = wanted.iter().map(|document| digest(document)).collect();
        let collector = Arc::new(Mutex::new(Collector::new(method().fingerprinter(&Key::none()), wanted)));
        let of_visitor = Arc::clone(&collector);
        let visitor = move |chunk: &Chunk, bytes: &[u8]| of_visitor.lock().unwrap().take(chunk, bytes);
        let reader = method().visiting_fingerprinter(&Key::none(), Box::new(visitor)).unwrap();
        for document in documents {
            reader.slice(document, |_| ());
        }
        let mut collector = collector.lock().unwrap();
        collector.end();
        std::mem::take(&mut collector.kept)
    }

    #[test]
    fn contents_are_put_together_and_kept_if_they_are_wanted() {
        let documents: Vec<Vec<u8>> = (0..5_u32)
            .map(|number| (0..4000).flat_map(|word| (word * (word + number)).to_le_bytes()).collect())
            .collect();
        let shown: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
        let found = kept(&shown, &[shown[1], shown[4], b"another"]);
        let expected = [shown[1], shown[4]].map(|document| (digest(document), document.to_vec())).into();
        assert_eq!(found, expected);
    }

    #[test]
    fn contents_that_are_too_long_and_more_than_a_query_may_have_are_left_out() {
        let long = |number: u8, length: u64| -> Vec<u8> {
            let mut document = vec![number; usize::try_from(length).unwrap()];
            document.iter_mut().step_by(3).enumerate().for_each(|(place, byte)| *byte = place.to_le_bytes()[0]);
            document
        };
        let fits = long(0, MEASURE_CONTENT_BYTES_MAX);
        let too_long = long(1, MEASURE_CONTENT_BYTES_MAX + 1);
        let found = kept(&[&too_long, &fits], &[&too_long, &fits]);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [digest(&fits)]);
        let most = MEASURE_BYTES_MAX / MEASURE_CONTENT_BYTES_MAX;
        let many: Vec<Vec<u8>> =
            (0..=most).map(|number| long(number.to_le_bytes()[0], MEASURE_CONTENT_BYTES_MAX)).collect();
        let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
        assert_eq!(kept(&many, &many).len() as u64, most);
    }
}
