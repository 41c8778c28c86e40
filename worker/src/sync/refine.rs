//! A refinement: the documents of this site that have the contents which an assignment chose.
//!
//! Only contents that this site has sent can be chosen: the sent state of the index under the earlier method lists them
//! with their documents. A document that has changed since is left out, and counted.

use cognate_fingerprint::MethodId;
use cognate_proto::path::DocumentPath;
use cognate_proto::scope::{Scope, ScopeAnnouncement};
use cognate_proto::selection::{Facts, Selection};
use cognate_proto::v1::RefinedSummary;

use super::job::Job;
use crate::error::SyncError;
use crate::records::cache::known::{KnownDocument, MethodResult, StoredPart};
use crate::records::sent_state::SentState;
use crate::records::store::Records;

/// The documents that a refinement chose.
pub(crate) struct ChosenDocuments {
    scope: Scope,
    /// Ascending.
    documents: Vec<DocumentPath>,
    unknown_contents: u64,
}

impl ChosenDocuments {
    /// Looks up the documents that had the contents of a scope when they were last sent.
    pub(crate) fn look_up(records: &Records, job: &Job, scope: Scope) -> Result<ChosenDocuments, SyncError> {
        let sent = records.read_sent_state(&job.repository, scope.of())?;
        let sent = sent.ok_or_else(|| never_sent(job, scope.of()))?;
        let known = scope.contents().iter().filter(|content| sent.has_content(content)).count();
        let unknown_contents = (scope.contents().len() - known) as u64;
        if unknown_contents > 0 {
            tracing::warn!(
                repository = %job.repository,
                unknown_contents,
                "the refinement chooses contents that this site never sent; they are ignored"
            );
        }
        Ok(ChosenDocuments { documents: chosen_files(&sent, &scope), scope, unknown_contents })
    }

    /// The selected documents, ascending.
    pub(crate) fn documents<'a>(&'a self, selection: &'a Selection) -> impl Iterator<Item = &'a DocumentPath> {
        self.documents.iter().filter(|path| selection.selects(&Facts::of_path(path.as_bytes())))
    }

    /// True if a remembered document, or one inside of it, has a chosen content under the earlier method. `has` tells if a result has
    /// a document inside for which its argument is true.
    pub(crate) fn contains(
        &self,
        known: &KnownDocument,
        has: impl Fn(&MethodResult, &dyn Fn(&StoredPart) -> bool) -> bool,
    ) -> bool {
        let is_chosen =
            |part: &StoredPart| part.list.as_ref().is_some_and(|(content, _)| self.scope.holds(&content.digest));
        known.result(self.scope.of()).is_some_and(|result| is_chosen(&result.own) || has(result, &is_chosen))
    }

    /// The summary of the refinement; `changed` documents were left out.
    pub(crate) fn summary(&self, changed: u64) -> RefinedSummary {
        RefinedSummary { documents: self.documents.len() as u64, changed, unknown_contents: self.unknown_contents }
    }
}

/// The files that hold chosen contents. A document inside of another is read with the outer document.
fn chosen_files(sent: &SentState, scope: &Scope) -> Vec<DocumentPath> {
    let file_of = |path: &DocumentPath| match DocumentPath::new(path.file()) {
        Ok(file) if sent.contains(&file) => file,
        _ => path.clone(),
    };
    let chosen = sent.documents_with_content().filter(|(_, content)| scope.holds(content));
    let mut documents: Vec<DocumentPath> = chosen.map(|(path, _)| file_of(&path)).collect();
    documents.sort_unstable();
    documents.dedup();
    documents
}

/// Checks that this site can carry out a refinement: it has sent the earlier index, under another method.
pub(crate) fn check_refinement(records: &Records, job: &Job, refinement: &ScopeAnnouncement) -> Result<(), SyncError> {
    if refinement.of == job.method_id {
        return Err(SyncError::Assignment("it refines a method by the same method".to_owned()));
    }
    let was_sent = records.was_sent(&job.repository, refinement.of, None);
    if was_sent && records.remember() { Ok(()) } else { Err(never_sent(job, refinement.of)) }
}

fn never_sent(job: &Job, of: MethodId) -> SyncError {
    SyncError::Assignment(format!("nothing was ever sent of `{}` under method {of}", job.repository))
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::{Content, ContentDigest, WindowSample};
    use cognate_proto::batch::{DocumentRow, DocumentState};
    use cognate_proto::v1::FileClass;

    use super::*;
    use crate::records::file_hashes::FileHashes;
    use crate::records::lists::Location;
    use crate::records::sent_state::IndexUpload;
    use crate::records::stamp::Stamp;

    const OF: MethodId = MethodId([1; 16]);

    fn digest(number: u8) -> ContentDigest {
        ContentDigest([number; 16])
    }

    fn part(content: Option<u8>) -> StoredPart {
        let content = content.map(|number| Content {
            size_bytes: 5,
            chunk_count: 1,
            digest: digest(number),
            sample: WindowSample::NONE,
        });
        let state = if content.is_some() { DocumentState::Read } else { DocumentState::Container };
        StoredPart { state, list: content.map(|content| (content, Location::default())), message_id_hash: None }
    }

    fn known(method: MethodId, own: Option<u8>) -> KnownDocument {
        KnownDocument {
            stamp: Stamp { length_bytes: 5, modified_ns: 1, changed_ns: 1, inode: 1 },
            class: FileClass::Plain,
            candidate: cognate_view::Candidate::No,
            bytes_digest: None,
            hashes: FileHashes::default(),
            results: vec![MethodResult { method_id: method, own: part(own), inside: 1, recognition: None }],
        }
    }

    #[test]
    fn a_document_is_chosen_by_its_own_content_or_by_one_inside_of_it() {
        let scope = Scope::new(OF, vec![digest(3)]).unwrap();
        let chosen = ChosenDocuments { scope, documents: vec![], unknown_contents: 0 };
        let check = |known: KnownDocument, inside: Option<u8>, expected: bool| {
            let has = |_: &MethodResult, is_chosen: &dyn Fn(&StoredPart) -> bool| is_chosen(&part(inside));
            assert_eq!(chosen.contains(&known, has), expected, "{known:?}");
        };
        check(known(OF, Some(3)), None, true);
        check(known(OF, Some(4)), None, false);
        check(known(OF, None), Some(3), true);
        check(known(OF, None), Some(4), false);
        check(known(MethodId([2; 16]), Some(3)), Some(3), false);
    }

    #[test]
    fn the_outer_file_of_a_chosen_document_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut sent = SentState::open(&folder.path().join("log"), IndexUpload { epoch: 7, samples: false }).unwrap();
        for (path, number) in
            [("a.zip", None), ("a.zip!/x", Some(3)), ("a.zip!/y", Some(3)), ("b", Some(3)), ("c", Some(4))]
        {
            let path = DocumentPath::new(path.as_bytes()).unwrap();
            let row = DocumentRow::without_content(path, DocumentState::Container);
            sent.add_document(&DocumentRow { content: number.map(digest), ..row });
        }
        let scope = Scope::new(OF, vec![digest(3)]).unwrap();
        let files: Vec<String> = chosen_files(&sent, &scope).iter().map(ToString::to_string).collect();
        assert_eq!(files, ["a.zip", "b"]);
    }
}
