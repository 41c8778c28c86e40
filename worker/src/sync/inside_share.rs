//! The share of the documents inside of other documents in an index: which files have theirs sent, where the coordinator does not take
//! all of them.
//!
//! Those of files with few are sent as they are read. Those of other files wait until everything was read, and are sent then, the
//! files with the fewest first, as long as they fit. So the answer depends on the files alone, and not on the order in which they
//! were read; and a file with very many is left out before any other.

use cognate_proto::path::DocumentPath;

use crate::records::cache::known::MethodResult;
use crate::records::stamp::Stamp;
use crate::sending::push::InsideMax;

/// A file with at most this many documents inside has them sent as it is read.
pub(super) const INSIDE_SENT_AT_ONCE_MAX: u32 = 16;

/// A file whose documents inside wait.
pub(super) struct WaitingFile {
    pub(super) path: DocumentPath,
    /// The stored result, by which the cache has them.
    pub(super) result: MethodResult,
    pub(super) stamp: Stamp,
    /// The bytes of their paths.
    pub(super) path_bytes: u64,
}

/// The documents inside that an index has so far, and the files that wait.
pub(super) struct InsideShare {
    left: InsideMax,
    waiting: Vec<WaitingFile>,
}

impl InsideShare {
    pub(super) fn new(most: InsideMax) -> InsideShare {
        InsideShare { left: most, waiting: Vec::new() }
    }

    /// True if the coordinator takes any number.
    pub(super) fn is_unlimited(&self) -> bool {
        self.left == InsideMax::NONE
    }

    /// What is left after documents inside of a file; nothing if they do not fit.
    fn after(&self, documents: u64, path_bytes: u64) -> Option<InsideMax> {
        if self.is_unlimited() {
            return Some(InsideMax::NONE);
        }
        let after = self.left.documents.checked_sub(documents).zip(self.left.path_bytes.checked_sub(path_bytes));
        after.map(|(documents, path_bytes)| InsideMax { documents, path_bytes })
    }

    /// True if documents inside of a file fit.
    pub(super) fn fits(&self, documents: u64, path_bytes: u64) -> bool {
        self.after(documents, path_bytes).is_some()
    }

    /// Counts documents inside of a file that are sent at once; returns false, and counts nothing, if they do not fit.
    pub(super) fn take(&mut self, documents: u64, path_bytes: u64) -> bool {
        let after = self.after(documents, path_bytes);
        self.left = after.unwrap_or(self.left);
        after.is_some()
    }

    pub(super) fn wait(&mut self, file: WaitingFile) {
        self.waiting.push(file);
    }

    /// The files whose documents are sent, and those that are left out. The former have the fewest.
    pub(super) fn decide(&mut self) -> Decision {
        let mut sent = std::mem::take(&mut self.waiting);
        sent.sort_unstable_by(|a, b| (a.result.inside, &a.path).cmp(&(b.result.inside, &b.path)));
        let does_not_fit = |file: &WaitingFile| !self.take(file.result.inside.into(), file.path_bytes);
        let count = sent.iter().position(does_not_fit).unwrap_or(sent.len());
        let left_out = sent.split_off(count);
        Decision { sent, left_out }
    }
}

/// The files that waited.
pub(super) struct Decision {
    pub(super) sent: Vec<WaitingFile>,
    pub(super) left_out: Vec<WaitingFile>,
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::MethodId;
    use cognate_proto::batch::DocumentState;

    use super::*;
    use crate::records::cache::known::StoredPart;

    fn file(name: &str, inside: u32, path_bytes: u64) -> WaitingFile {
        let own = StoredPart { state: DocumentState::Container, list: None, message_id_hash: None };
        let result = MethodResult { method_id: MethodId([1; 16]), own, inside, recognition: None };
        let stamp = Stamp { length_bytes: 5, modified_ns: 1, changed_ns: 1, inode: 1 };
        WaitingFile { path: DocumentPath::new(name.as_bytes()).unwrap(), result, stamp, path_bytes }
    }

    fn names(files: &[WaitingFile]) -> Vec<String> {
        files.iter().map(|file| file.path.to_string()).collect()
    }

    fn check(most: [u64; 2], at_once: u64, sent: &[&str], left_out: &[&str]) {
        let files = || [file("large", 100, 900), file("b", 20, 100), file("a", 20, 100), file("small", 17, 50)];
        for turn in 0..4 {
            let mut share = InsideShare::new(InsideMax { documents: most[0], path_bytes: most[1] });
            share.take(at_once, 10 * at_once);
            let mut files = files();
            files.rotate_left(turn);
            files.into_iter().for_each(|file| share.wait(file));
            let decision = share.decide();
            assert_eq!(names(&decision.sent), sent, "{most:?}");
            assert_eq!(names(&decision.left_out), left_out, "{most:?}");
        }
    }

    #[test]
    fn files_with_the_fewest_documents_inside_come_first_whatever_the_order_in_which_they_were_read() {
        check([u64::MAX; 2], 0, &["small", "a", "b", "large"], &[]);
        check([157, u64::MAX], 0, &["small", "a", "b", "large"], &[]);
        check([156, u64::MAX], 0, &["small", "a", "b"], &["large"]);
        check([57, u64::MAX], 1, &["small", "a"], &["b", "large"]);
        check([u64::MAX, 160], 0, &["small", "a"], &["b", "large"]);
        check([16, u64::MAX], 0, &[], &["small", "a", "b", "large"]);
        // What does not fit is not counted.
        check([57, u64::MAX], 99, &["small", "a", "b"], &["large"]);
    }
}
