//! A content as a comparison takes it, and its windows.
//!
//! A window of one repeated byte is no evidence: a comparison leaves out chunks of one repeated byte too. So such windows are
//! left out, and runs of one byte that hold them count in no size and in no share.

use cognate_fingerprint::{EXACT_WINDOW_BYTES, window_hashes};

/// The bytes of documents that are equal, or their text.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// True if they are the text of office files, which is compared in place of the files.
    pub(super) by_text: bool,
    /// Runs of one byte that are as long as a window or longer: start and end, ascending.
    runs: Vec<(usize, usize)>,
}

/// A window of a content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    pub(super) start: usize,
    pub(super) hash: u64,
}

impl Content {
    pub(super) fn new(bytes: Vec<u8>, by_text: bool) -> Content {
        let mut runs = Vec::new();
        let mut start = 0;
        for run in bytes.chunk_by(|a, b| a == b) {
            if run.len() >= EXACT_WINDOW_BYTES {
                runs.push((start, start + run.len()));
            }
            start += run.len();
        }
        Content { bytes, by_text, runs }
    }

    /// The bytes that count: all outside of runs of one byte.
    pub(super) fn counted_bytes(&self) -> usize {
        self.bytes.len() - self.runs.iter().map(|(start, end)| end - start).sum::<usize>()
    }

    /// All windows that count, in order.
    pub(super) fn windows(&self) -> impl Iterator<Item = Window> + '_ {
        let mut runs = self.runs.iter().copied().peekable();
        window_hashes(&self.bytes, EXACT_WINDOW_BYTES).enumerate().filter_map(move |(start, hash)| {
            while runs.next_if(|(_, end)| *end <= start).is_some() {}
            let in_run = runs.peek().is_some_and(|run| run.0 <= start && start + EXACT_WINDOW_BYTES <= run.1);
            (!in_run).then_some(Window { start, hash })
        })
    }

    /// The bytes that count in windows that begin at these places, ascending; each byte once.
    pub(super) fn covered_bytes(&self, starts: impl Iterator<Item = usize>) -> usize {
        let (mut covered, mut end) = (0, 0);
        let mut runs = self.runs.iter().copied().peekable();
        for start in starts {
            let (first, last) = (start.max(end), start + EXACT_WINDOW_BYTES);
            end = last;
            while runs.next_if(|run| run.1 <= first).is_some() {}
            let in_runs: usize =
                runs.clone().take_while(|run| run.0 < last).map(|run| run.1.min(last) - run.0.max(first)).sum();
            covered += last - first - in_runs;
        }
        covered
    }
}
