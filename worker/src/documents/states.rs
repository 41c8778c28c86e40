//! The state of a document: from an error of the file system, or from the outcome of an extraction.

use std::io;

use cognate_fingerprint::UnsupportedDocument;
use cognate_proto::batch::DocumentState;
use cognate_view::{Kind, Outcome, Reason};
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

/// The state after an extraction that found so many bytes of text, and true if there is text to compare.
pub(super) fn state_after(kind: Kind, outcome: Outcome, text_bytes: u64) -> (DocumentState, bool) {
    match outcome {
        Outcome::Text => state_of_text(kind, text_bytes),
        Outcome::NoText => (DocumentState::NoText, false),
        Outcome::Container => (DocumentState::Container, false),
        Outcome::Pictures => (DocumentState::PagesArePictures, false),
        Outcome::Recognised => (DocumentState::Recognised, true),
        Outcome::InPart(_) => (DocumentState::ReadInPart, true),
        Outcome::Unextractable(reason) => (state_for(reason), false),
    }
}

/// Text speaks for a document whose bytes a program has packed or marked up. Where an office file or a PDF has none, it is
/// not compared as text: its pages may be pictures.
fn state_of_text(kind: Kind, text_bytes: u64) -> (DocumentState, bool) {
    match kind {
        Kind::Docx | Kind::Xlsx | Kind::Pptx | Kind::OpenDocument | Kind::Pdf | Kind::Rtf | Kind::Tiff => {
            match text_bytes {
                0 => (DocumentState::NoTextFound, false),
                _ => (DocumentState::ReadAsText, true),
            }
        }
        Kind::Html | Kind::Mail if text_bytes > 0 => (DocumentState::ReadAsText, true),
        _ => (DocumentState::Read, true),
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
        Reason::NotRecognised => DocumentState::NotRecognised,
        Reason::RecognitionTimedOut => DocumentState::RecognitionTimedOut,
        Reason::TooManyPages => DocumentState::TooManyPages,
        Reason::NotOpened => DocumentState::NotOpened,
    }
}

/// True if the next extraction of the same document may have another outcome.
pub(super) fn may_differ_next_time(outcome: Outcome) -> bool {
    use Reason::{Crashed, OutOfMemory, RecognitionTimedOut, TimedOut};
    matches!(outcome, Outcome::Unextractable(TimedOut | OutOfMemory | Crashed | RecognitionTimedOut))
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
    fn only_text_has_text_and_only_four_reasons_may_differ_next_time() {
        assert_eq!(state_after(Kind::Text, Outcome::Text, 5), (DocumentState::Read, true));
        assert_eq!(state_after(Kind::Other, Outcome::NoText, 0), (DocumentState::NoText, false));
        assert_eq!(state_after(Kind::Zip, Outcome::Container, 0), (DocumentState::Container, false));
        assert_eq!(state_after(Kind::Pdf, Outcome::InPart(Reason::Damaged), 5), (DocumentState::ReadInPart, true));
        let check = |reason, state, differs| {
            let outcome = Outcome::Unextractable(reason);
            assert_eq!((state_after(Kind::Docx, outcome, 5), may_differ_next_time(outcome)), ((state, false), differs));
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
        check(Reason::NotRecognised, DocumentState::NotRecognised, false);
        check(Reason::RecognitionTimedOut, DocumentState::RecognitionTimedOut, true);
        check(Reason::TooManyPages, DocumentState::TooManyPages, false);
        check(Reason::NotOpened, DocumentState::NotOpened, false);
    }

    #[test]
    fn pages_that_are_pictures_have_text_only_if_it_was_recognised() {
        for kind in [Kind::Pdf, Kind::Tiff, Kind::Jpeg] {
            assert_eq!(state_after(kind, Outcome::Pictures, 5), (DocumentState::PagesArePictures, false));
            assert_eq!(state_after(kind, Outcome::Recognised, 5), (DocumentState::Recognised, true));
        }
        assert_eq!(state_after(Kind::Tiff, Outcome::Text, 0), (DocumentState::NoTextFound, false));
        assert_eq!(state_after(Kind::Jpeg, Outcome::NoText, 0), (DocumentState::NoText, false));
    }

    #[test]
    fn text_speaks_for_office_files_mail_and_html_and_an_office_file_without_text_is_not_compared() {
        let check = |kind, bytes, state| assert_eq!(state_after(kind, Outcome::Text, bytes).0, state, "{kind:?}");
        for kind in [Kind::Docx, Kind::Xlsx, Kind::Pptx, Kind::OpenDocument, Kind::Pdf, Kind::Rtf] {
            check(kind, 9, DocumentState::ReadAsText);
            check(kind, 0, DocumentState::NoTextFound);
        }
        for kind in [Kind::Html, Kind::Mail] {
            check(kind, 9, DocumentState::ReadAsText);
            check(kind, 0, DocumentState::Read);
        }
        check(Kind::Text, 9, DocumentState::Read);
    }
}
