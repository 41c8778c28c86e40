//! Names of things in a result.

use cognate_proto::batch::DocumentState;
use cognate_proto::v1::SkipReason;
use cognate_similarity::{Relation, Shape};

use super::decision::Elsewhere;
use crate::findings::Status;
use crate::folders::FolderRelation;
use crate::undecided::UndecidedReason;

/// The status of documents, and the relation of links, that rest on frames.
pub(super) const STANDARD_TEXT: &str = "standard_text";

pub(super) fn status_name(status: Status) -> &'static str {
    match status {
        Status::ExcludedEmpty => "excluded(empty)",
        Status::ExcludedTemplate => "excluded(template)",
        Status::ExcludedShort => "excluded(too short)",
        Status::ExcludedNoText => "excluded(no text)",
        Status::ExcludedContainer => "excluded(container)",
        Status::Identical => "identical",
        Status::Near => "near",
        Status::Contains => "contains",
        Status::Contained => "contained",
        Status::Shares => "shares",
        Status::StandardText => STANDARD_TEXT,
        Status::Undecided => "undecided",
        Status::Unique => "unique",
    }
}

pub(super) fn undecided_name(reason: UndecidedReason) -> &'static str {
    match reason {
        UndecidedReason::NotCompared => "not compared",
        UndecidedReason::TextNotRead => "text not read",
        UndecidedReason::NotMeasured => "not measured",
        UndecidedReason::SiteGaveNone => "no fine chunks",
        UndecidedReason::Incomplete => "incomplete",
        UndecidedReason::Cut => "beyond a bound",
        UndecidedReason::Close => "close to the threshold",
    }
}

pub(super) fn elsewhere_name(elsewhere: Elsewhere) -> &'static str {
    match elsewhere {
        Elsewhere::Yes => "yes",
        Elsewhere::StandardText => "standard text",
        Elsewhere::No => "no",
        Elsewhere::NotDecided => "not decided",
    }
}

pub(super) fn relation_name(relation: Relation) -> &'static str {
    match relation {
        Relation::Near => "near",
        Relation::Contains => "contains",
        Relation::Contained => "contained",
        Relation::Shares => "shares",
    }
}

pub(super) fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Pair => "pair",
        Shape::Archive => "archive",
        Shape::Group => "group",
    }
}

pub(super) fn folder_relation_name(relation: FolderRelation) -> &'static str {
    match relation {
        FolderRelation::Identical => "identical",
        FolderRelation::Contains => "contains",
        FolderRelation::Contained => "contained",
        FolderRelation::Overlaps => "overlaps",
    }
}

pub(super) fn unread_reason(state: DocumentState) -> &'static str {
    match state {
        DocumentState::PermissionDenied => "permission denied",
        DocumentState::Vanished => "vanished while it was looked at",
        DocumentState::NotAFile => "not a regular file any more",
        DocumentState::InputOutput => "input/output error",
        DocumentState::NameTooLong => "path too long for the system",
        DocumentState::LinkLoop => "a symbolic link leads back to a folder above it",
        DocumentState::NoAnswer => "its file system did not answer in time",
        DocumentState::LinkOutside => "a symbolic link leads out of the repository",
        DocumentState::Encrypted => "unextractable: encrypted",
        DocumentState::Damaged => "unextractable: damaged",
        DocumentState::Unsupported => "unextractable: unsupported",
        DocumentState::TooLarge => "unextractable: too large",
        DocumentState::CompressedTooStrongly => "unextractable: compressed too strongly",
        DocumentState::TooManyMembers => "unextractable: too many members",
        DocumentState::TooDeep => "unextractable: too deep",
        DocumentState::TimedOut => "unextractable: timed out",
        DocumentState::OutOfMemory => "unextractable: out of memory",
        DocumentState::Crashed => "unextractable: crashed",
        DocumentState::ReadInPart => "compared in part: the rest of its text could not be read",
        DocumentState::NoTextFound => "not compared by text: no text was found in it",
        DocumentState::PagesArePictures => "not compared by text: its pages are pictures",
        DocumentState::NotRecognised => "not compared by text: its pages could not be recognised",
        DocumentState::RecognitionTimedOut => "not compared by text: recognising its pages took too long",
        DocumentState::TooManyPages => "not compared by text: it has more pictures of pages than its site recognises",
        DocumentState::NotOpened => "not compared by text: it is of a kind that is not opened",
        DocumentState::TextKept => "not compared by text: the policy of its site does not allow it",
        _ => "cannot be read",
    }
}

pub(super) fn skip_reason(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::SystemFolder => "system folder",
        SkipReason::NotSelected => "not selected",
        SkipReason::Symlink => "symbolic link",
        SkipReason::Special => "special file",
        SkipReason::OtherFileSystem => "other file system",
        SkipReason::OwnFile => "file of the worker itself",
        SkipReason::Unspecified => "unspecified",
    }
}
