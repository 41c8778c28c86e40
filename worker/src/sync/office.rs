//! The files that may be office files, as a sync of bytes finds them: the sync of their text that follows reads these, and
//! does not walk the repository again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cognate_fingerprint::View;
use cognate_proto::batch::DocumentState;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::DocumentPath;
use cognate_proto::selection::Selection;

use super::job::Job;
use crate::documents::walk::Entry;

/// Number of files that a list may have. With more, the repository is walked again.
const FILES_MAX: usize = 100_000;
/// The age at which a list is no longer used.
const AGE_MAX: Duration = Duration::from_mins(10);

/// The lists of the last syncs of bytes, one per repository.
#[derive(Default)]
pub(crate) struct OfficeLists(Mutex<HashMap<RepositoryName, OfficeList>>);

/// The files of one walk that may be office files, and all that could not be read.
pub(super) struct OfficeList {
    selection: Arc<Selection>,
    follow_symlinks: bool,
    made: Instant,
    /// `None`: there were too many.
    entries: Option<Vec<Entry>>,
}

impl OfficeList {
    /// The list that a job fills: none if it does not walk the bytes of a complete repository.
    pub(super) fn of(job: &Job) -> Option<OfficeList> {
        (job.method.view() == View::Raw && job.refinement.is_none()).then(|| OfficeList {
            selection: Arc::clone(&job.selection),
            follow_symlinks: job.follow_symlinks,
            made: Instant::now(),
            entries: Some(Vec::new()),
        })
    }

    /// Adds a file that may be an office file.
    pub(super) fn add(&mut self, path: &DocumentPath) {
        self.push(|| Entry::Document(path.clone()));
    }

    /// Adds a file or folder that could not be read.
    pub(super) fn add_unreadable(&mut self, path: &DocumentPath, state: DocumentState) {
        self.push(|| Entry::Unreadable(path.clone(), state));
    }

    fn push(&mut self, entry: impl FnOnce() -> Entry) {
        match &mut self.entries {
            Some(entries) if entries.len() < FILES_MAX => entries.push(entry()),
            full => *full = None,
        }
    }
}

impl OfficeLists {
    /// Keeps the list of a sync that has succeeded.
    pub(super) fn keep(&self, repository: &RepositoryName, mut list: OfficeList) {
        list.made = Instant::now();
        self.0.lock().expect("nothing panics while it is held").insert(repository.clone(), list);
    }

    /// The list for a job; `None` if the job must walk.
    pub(super) fn list_for(&self, job: &Job) -> Option<Vec<Entry>> {
        if job.method.view() != View::Office || job.refinement.is_some() {
            return None;
        }
        let lists = self.0.lock().expect("nothing panics while it is held");
        let list = lists.get(&job.repository)?;
        let is_same = list.selection.rule() == job.selection.rule() && list.follow_symlinks == job.follow_symlinks;
        list.entries.clone().filter(|_| is_same && list.made.elapsed() < AGE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use cognate_fingerprint::{Key, Method};

    use super::*;

    fn job(view: View, selection: Selection) -> Job {
        let method = Method::tttd(view, 1000).unwrap();
        Job {
            assignment: 1,
            repository: RepositoryName::main(),
            path: PathBuf::from("/nowhere"),
            method,
            method_id: method.id(&Key::none()),
            selection: Arc::new(selection),
            follow_symlinks: false,
            own_files: Arc::default(),
            sentinel: None,
            accepts_removals: false,
            keeps_text: false,
            refinement: None,
        }
    }

    fn path(number: usize) -> DocumentPath {
        DocumentPath::new(number.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_list_is_used_by_the_sync_of_text_with_the_same_selection() {
        let lists = OfficeLists::default();
        let mut list = OfficeList::of(&job(View::Raw, Selection::all())).unwrap();
        list.add(&path(1));
        lists.keep(&RepositoryName::main(), list);
        assert!(lists.list_for(&job(View::Text, Selection::all())).is_none());
        let listed = lists.list_for(&job(View::Office, Selection::all())).unwrap();
        assert_eq!(listed, [Entry::Document(path(1))]);
        let rule = cognate_proto::selection::SelectionRule { size_max_bytes: Some(5), ..Default::default() };
        assert!(lists.list_for(&job(View::Office, Selection::new(rule).unwrap())).is_none());
    }

    #[test]
    fn a_list_with_too_many_files_is_not_used() {
        let lists = OfficeLists::default();
        let mut list = OfficeList::of(&job(View::Raw, Selection::all())).unwrap();
        (0..=FILES_MAX).for_each(|number| list.add(&path(number)));
        lists.keep(&RepositoryName::main(), list);
        assert!(lists.list_for(&job(View::Office, Selection::all())).is_none());
    }
}
