//! Floor 3: the plan of a sync. Pure decisions, without files, database or threads: which documents are read, sent
//! again without reading, left unchanged, and removed.
//!
//! The plan is made per document and not for the whole walk. A plan of the whole walk would hold the path and the stamp of
//! every document of the repository in memory before the first one is read; this way a sync of millions of documents holds
//! a few hundred of them. For one path, the sync asks in this order:
//!
//! 1. [`ReadRules::step`], in a reader: the remembered path and the metadata of the walk make a [`Step`].
//! 2. [`send_step`], in the collector, for every row of a document: the sent row and the new row make a [`SendStep`].
//! 3. [`RemovalRules::is_removed`], after the walk, for every path that was sent and not seen.

use std::collections::HashSet;

use cognate_proto::batch::DocumentState;
use cognate_proto::documents::IndexedDocument;
use cognate_proto::path::{DocumentPath, INSIDE};
use cognate_proto::selection::{Facts, Selection};

use crate::records::stamp::Stamp;

/// The metadata of a path at the time of the walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walked {
    File(Stamp),
    /// The metadata could not be read.
    Unreadable(DocumentState),
}

/// A remembered path. The methods may be slow, so the plan calls them only if the answer matters.
pub(crate) trait Remembered {
    /// A stored result of the method of this sync.
    type Stored;
    /// The stamp under which everything else is remembered.
    fn stamp(&self) -> Stamp;
    /// True if a refinement chose the document, or one inside of it, by an earlier result.
    fn is_chosen(&self) -> bool;
    /// The result of the method of this sync, if it is stored completely.
    fn stored(&self) -> Option<Self::Stored>;
}

/// The rules by which documents are read.
pub(crate) struct ReadRules<'a> {
    pub(crate) selection: &'a Selection,
    /// If set, the sync is only about documents that a refinement chose and that have not changed since.
    pub(crate) refines: bool,
}

/// The first step for a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step<S> {
    /// Read the document.
    Read,
    /// Use the stored result, without reading.
    Reuse(S),
    /// Report the document as unreadable.
    Report(DocumentState),
    /// Skip the document: it is not selected.
    NotSelected,
    /// Skip the document: it is not what the refinement chose.
    Outdated,
}

impl ReadRules<'_> {
    /// The first step for a path.
    pub(crate) fn step<R: Remembered>(
        &self,
        path: &DocumentPath,
        remembered: Option<&R>,
        walked: Walked,
    ) -> Step<R::Stored> {
        let stamp = match walked {
            Walked::File(stamp) => stamp,
            Walked::Unreadable(DocumentState::Vanished) if self.refines => return Step::Outdated,
            Walked::Unreadable(state) => return Step::Report(state),
        };
        let remembered = remembered.filter(|remembered| remembered.stamp() == stamp);
        if self.refines && !remembered.is_some_and(R::is_chosen) {
            return Step::Outdated;
        }
        match remembered.and_then(R::stored) {
            // The reader selects again, by the open file.
            None => Step::Read,
            Some(_) if !self.selection.selects(&stamp.facts(path)) => Step::NotSelected,
            Some(stored) => Step::Reuse(stored),
        }
    }

    /// True if a document that was read is no longer what the refinement chose.
    pub(crate) fn is_outdated(&self, remembered: Option<Stamp>, read: Stamp, changing: bool) -> bool {
        self.refines && (changing || remembered != Some(read))
    }
}

/// The sending of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendStep {
    /// The coordinator has this row.
    Keep,
    /// Send the row. The coordinator has its content, or it has none.
    Row,
    /// Send the content, then the row.
    ContentAndRow,
}

/// The sending of a row, by the row that was sent before.
pub(crate) fn send_step(sent: Option<IndexedDocument>, row: &IndexedDocument, is_content_sent: bool) -> SendStep {
    match (sent, row.content) {
        (Some(sent), _) if sent == *row => SendStep::Keep,
        (_, Some(_)) if !is_content_sent => SendStep::ContentAndRow,
        _ => SendStep::Row,
    }
}

/// The rules by which documents are removed after a complete walk.
pub(crate) struct RemovalRules<'a> {
    pub(crate) selection: &'a Selection,
    /// If set, paths may be inside of documents.
    pub(crate) is_text: bool,
    /// Files and folders that could not be read: everything below them is unknown.
    pub(crate) unreadable: &'a HashSet<DocumentPath>,
}

impl RemovalRules<'_> {
    /// True if the row of a document stays in the index although the document is not selected now: it was not selected
    /// either as it was sent, by a sync with another selection. A version that was selected is gone and is removed.
    ///
    /// Under a text view no row stays. A row has the size of a text and not of its file, so the coordinator could not
    /// leave it out of the scan.
    pub(crate) fn keeps_unselected(&self, path: &DocumentPath, sent_size_bytes: Option<u64>) -> bool {
        let sent = Facts { path: path.as_bytes(), size_bytes: sent_size_bytes };
        !self.is_text && !self.selection.selects(&sent)
    }

    /// True if a document that was sent and that the walk did not see is gone. A document that is not selected, or below
    /// an unreadable folder, may still exist.
    pub(crate) fn is_removed(&self, path: &DocumentPath) -> bool {
        let bytes = path.as_bytes();
        let may_end =
            |place: &usize| bytes[*place..].starts_with(b"/") || bytes[*place..].starts_with(INSIDE.as_bytes());
        let is_below_unreadable = || {
            let mut above =
                (1..bytes.len()).filter(may_end).filter_map(|place| DocumentPath::new(&bytes[..place]).ok());
            above.any(|above| self.unreadable.contains(&above))
        };
        let file = if self.is_text { path.file() } else { path.as_bytes() };
        self.selection.selects(&Facts::of_path(file)) && (self.unreadable.is_empty() || !is_below_unreadable())
    }
}

/// Number of files that may always be removed, as long as the root is the same folder.
const REMOVALS_FREE: u64 = 20;

/// A root after a complete walk, beside the last sync.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootChange {
    /// Number of documents that the last sync counted.
    pub(crate) documents_before: u64,
    /// Number of entries that the walk found, whether they were selected or not.
    pub(crate) entries: u64,
    /// Number of files of the index that are gone.
    pub(crate) gone: u64,
    /// Number of files of the index that are there now.
    pub(crate) there: u64,
    /// The path leads to another folder than at the last sync, by its device and inode.
    pub(crate) is_other_folder: bool,
}

/// The reason to leave an index as it is until somebody has looked at the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RootDoubt {
    /// It is empty.
    Empty,
    /// More files are gone than are there.
    Shrunk,
}

impl RootChange {
    /// A share that is not mounted looks like one whose documents were all deleted: the folder below the mount point is empty
    /// or holds other files. So it is asked about if nothing is left, and if more is gone than is there.
    pub(crate) fn doubt(&self) -> Option<RootDoubt> {
        if self.documents_before > 0 && self.entries == 0 {
            return Some(RootDoubt::Empty);
        }
        let free = if self.is_other_folder { 0 } else { REMOVALS_FREE };
        (self.gone > self.there && self.gone > free).then_some(RootDoubt::Shrunk)
    }
}

#[cfg(test)]
mod tests;
