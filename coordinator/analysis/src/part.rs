//! The part of a file that a document is, and the choice of parts that a scan is about.
//!
//! Under a text view an index holds members of archives and of messages, `outer.zip!/inner/path`, and under `passages` the
//! paragraphs of documents, `essay.docx!/#12`. Patterns and sizes are said of files: whatever a file holds goes with it.

use std::collections::HashSet;

use cognate_fingerprint::View;
use cognate_proto::path::{DocumentPath, INSIDE};
use cognate_proto::selection::{Facts, Selection};

use cognate_storage::Index;

/// The part of a file that a document is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// All of it.
    File,
    /// A member of it.
    Member,
    /// A paragraph of it, or of a member.
    Passage,
}

impl Part {
    /// The part that a document of an index is, and the path of its file. A name before `!/` is a container only if the
    /// index holds it as well: a folder may have such a name.
    pub(crate) fn of<'p>(view: View, index: &Index, path: &'p DocumentPath) -> (Part, &'p [u8]) {
        let bytes = path.as_bytes();
        let is_known = |before: &[u8]| DocumentPath::new(before).is_ok_and(|before| index.documents.contains(&before));
        let ends = bytes.windows(INSIDE.len()).enumerate().filter(|(_, name)| *name == INSIDE.as_bytes());
        match ends.map(|(end, _)| &bytes[..end]).find(|before| is_known(before)) {
            None => (Part::File, bytes),
            Some(file) if view == View::Passages && path.passage().is_some_and(|(of, _)| is_known(of)) => {
                (Part::Passage, file)
            }
            Some(file) => (Part::Member, file),
        }
    }
}

/// The documents of an index that a scan is about.
pub(crate) struct Choice<'a> {
    view: View,
    selection: &'a Selection,
    /// The files that the layer of bytes is about, where sizes decide: text says nothing of the size of a file.
    files: Option<HashSet<(u16, &'a [u8])>>,
}

impl<'a> Choice<'a> {
    pub(crate) fn new(
        view: View,
        selection: &'a Selection,
        files: Option<impl Iterator<Item = (u16, &'a [u8])>>,
    ) -> Choice<'a> {
        let files = files.filter(|_| selection.needs_more_than_the_path()).map(Iterator::collect);
        Choice { view, selection, files }
    }

    /// True if the scan is about a document of a root's index.
    pub(crate) fn takes(&self, root: u16, index: &Index, path: &DocumentPath, size_bytes: Option<u64>) -> bool {
        if !self.view.is_text() {
            return self.selection.selects(&Facts { path: path.as_bytes(), size_bytes });
        }
        let (_, file) = Part::of(self.view, index, path);
        self.selection.selects(&Facts { path: file, size_bytes: None })
            && self.files.as_ref().is_none_or(|files| files.contains(&(root, file)))
    }

    /// The part of a file that a document is.
    pub(crate) fn part(&self, index: &Index, path: &DocumentPath) -> Part {
        if self.view.is_text() { Part::of(self.view, index, path).0 } else { Part::File }
    }
}

#[cfg(test)]
mod tests {
    use cognate_proto::batch::{Batch, BatchBuilder, DocumentRow, DocumentState};

    use super::*;

    fn path(path: &str) -> DocumentPath {
        DocumentPath::new(path.as_bytes()).unwrap()
    }

    #[test]
    fn the_part_that_a_document_is_follows_from_the_other_documents_of_the_index() {
        let mut builder = BatchBuilder::default();
        for known in ["a.zip", "a.zip!/b.docx", "c!/d.txt", "e.docx", "f!/#7"] {
            builder.document(DocumentRow::without_content(path(known), DocumentState::Container));
        }
        let mut index = Index::default();
        index.take_in(&Batch::decode(&builder.finish().0, 1000).unwrap(), |_, _| {});
        let check = |document: &str, part: Part, file: &str| {
            assert_eq!(Part::of(View::Passages, &index, &path(document)), (part, file.as_bytes()), "{document}");
        };
        check("a.zip", Part::File, "a.zip");
        check("a.zip!/b.docx", Part::Member, "a.zip");
        check("a.zip!/b.docx!/#3", Part::Passage, "a.zip");
        check("e.docx!/#12", Part::Passage, "e.docx");
        check("a.zip!/x!/#y", Part::Member, "a.zip");
        // Folders whose names end so.
        check("c!/d.txt", Part::File, "c!/d.txt");
        check("f!/#7", Part::File, "f!/#7");
        // If there are no passages, a member may have a name like one.
        let other = path("a.zip!/#3");
        assert_eq!(Part::of(View::Text, &index, &other), (Part::Member, &b"a.zip"[..]));
    }
}
