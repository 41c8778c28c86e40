//! The state of a document: from an error of the file system, or from the outcome of an extraction.

use std::io;

use cognate_fingerprint::UnsupportedDocument;
use cognate_proto::batch::DocumentState;
use cognate_view::{Outcome, Reason};
use rustix::io::Errno;

/// The state of a document that cannot be read because of an error.
pub(crate) fn state_of(error: &io::Error) -> DocumentState {
    if let Some(unfit) = error.get_ref().and_then(|inner| inner.downcast_ref::<UnsupportedDocument>()) {
        return match unfit {
            UnsupportedDocument::Binary { .. } => DocumentState::NoText,
            UnsupportedDocument::TooLarge { .. } => DocumentState::TooLarge,
        };
    }
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS | Errno::PERM) => DocumentState::PermissionDenied,
        Some(Errno::NOENT) => DocumentState::Vanished,
        // The path is now a link, a folder, a socket or a device without a driver.
        Some(Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO | Errno::NODEV | Errno::XDEV) => {
            DocumentState::NotAFile
        }
        Some(Errno::IO) => DocumentState::InputOutput,
        Some(Errno::NAMETOOLONG) => DocumentState::NameTooLong,
        _ => DocumentState::Unreadable,
    }
}

/// The state after an extraction, and true if there is text.
pub(super) fn state_after(outcome: Outcome) -> (DocumentState, bool) {
    match outcome {
        Outcome::Text => (DocumentState::Read, true),
        Outcome::NoText => (DocumentState::NoText, false),
        Outcome::Container => (DocumentState::Container, false),
        Outcome::Unextractable(reason) => (state_for(reason), false),
    }
}

fn state_for(reason: Reason) -> DocumentState {
    match reason {
        Reason::Encrypted => DocumentState::Encrypted,
        Reason::Damaged => DocumentState::Damaged,
        Reason::Unsupported => DocumentState::Unsupported,
        Reason::TooLarge => DocumentState::TooLarge,
        Reason::Ratio => DocumentState::CompressedTooStrongly,
        Reason::TooMany => DocumentState::TooManyMembers,
        Reason::TooDeep => DocumentState::TooDeep,
        Reason::TimedOut => DocumentState::TimedOut,
        Reason::OutOfMemory => DocumentState::OutOfMemory,
        Reason::Crashed => DocumentState::Crashed,
    }
}

/// True if the next extraction of the same document may have another outcome.
pub(super) fn may_differ_next_time(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Unextractable(Reason::TimedOut | Reason::OutOfMemory | Reason::Crashed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_file_system_become_states() {
        let check = |errno: Errno, state| assert_eq!(state_of(&errno.into()), state, "{errno}");
        check(Errno::ACCESS, DocumentState::PermissionDenied);
        check(Errno::PERM, DocumentState::PermissionDenied);
        check(Errno::NOENT, DocumentState::Vanished);
        check(Errno::LOOP, DocumentState::NotAFile);
        check(Errno::ISDIR, DocumentState::NotAFile);
        check(Errno::IO, DocumentState::InputOutput);
        check(Errno::NAMETOOLONG, DocumentState::NameTooLong);
        check(Errno::NOMEM, DocumentState::Unreadable);
        assert_eq!(state_of(&io::Error::other("stopped")), DocumentState::Unreadable);
    }

    #[test]
    fn only_text_has_text_and_only_three_reasons_may_differ_next_time() {
        assert_eq!(state_after(Outcome::Text), (DocumentState::Read, true));
        assert_eq!(state_after(Outcome::NoText), (DocumentState::NoText, false));
        assert_eq!(state_after(Outcome::Container), (DocumentState::Container, false));
        let check = |reason, state, differs| {
            let outcome = Outcome::Unextractable(reason);
            assert_eq!((state_after(outcome), may_differ_next_time(outcome)), ((state, false), differs));
        };
        check(Reason::Encrypted, DocumentState::Encrypted, false);
        check(Reason::Damaged, DocumentState::Damaged, false);
        check(Reason::Unsupported, DocumentState::Unsupported, false);
        check(Reason::TooLarge, DocumentState::TooLarge, false);
        check(Reason::Ratio, DocumentState::CompressedTooStrongly, false);
        check(Reason::TooMany, DocumentState::TooManyMembers, false);
        check(Reason::TooDeep, DocumentState::TooDeep, false);
        check(Reason::TimedOut, DocumentState::TimedOut, true);
        check(Reason::OutOfMemory, DocumentState::OutOfMemory, true);
        check(Reason::Crashed, DocumentState::Crashed, true);
    }
}
