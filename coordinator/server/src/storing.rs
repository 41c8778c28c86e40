//! The last outcome of storing a batch: a failure is a reason not to be ready, until another batch is stored.

use std::sync::Mutex;

use crate::error::Error;
use cognate_storage::ErrorKind;

/// The last outcome of storing, over all sites.
#[derive(Default)]
pub(crate) struct Storing {
    failure: Mutex<Option<String>>,
}

#[cfg(test)]
impl Storing {
    /// As long as this is held, every commit waits, as for a disk that does not answer.
    pub(crate) fn stuck(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.failure.lock().unwrap()
    }
}

impl Storing {
    /// A commit is on the disk.
    pub(crate) fn worked(&self) {
        *self.failure.lock().expect("nothing panics while it is held") = None;
    }

    /// Something was not stored. An error that is a site's own, as a full quota, says nothing of the disk.
    pub(crate) fn failed(&self, error: &Error) {
        if error.kind() == ErrorKind::InputOutput {
            *self.failure.lock().expect("nothing panics while it is held") = Some(error.to_string());
        }
    }

    /// The reason for which nothing was stored the last time.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().expect("nothing panics while it is held").clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fails_is_remembered_until_it_works_and_a_full_quota_is_not() {
        let storing = Storing::default();
        let quota = Error::Full("the quota of `a` is full".to_owned());
        storing.failed(&quota);
        assert_eq!(storing.failure(), None);
        storing.failed(&cognate_storage::Error::state("segments")(std::io::ErrorKind::PermissionDenied.into()).into());
        storing.failed(&quota);
        assert!(storing.failure().unwrap().contains("segments"));
        storing.worked();
        assert_eq!(storing.failure(), None);
    }
}
