//! Text out of documents of many formats, as a reader sees it, and the documents inside of archives.
//!
//! **It promises** that all work on a document, which may be hostile, is within [`Limits`], in a child process that can do nothing else ([`Pool`]).
//!
//! **It must not know** sites or the wire.
//!
//! Read [`walk()`] first: a document becomes *parts*, those inside it before itself, each with a [`Kind`] that its bytes decide, an [`Outcome`] and
//! its text. Without an operating system (in a browser) [`walk_source`] reads what it is given.

mod archive;
mod budget;
mod charset;
#[cfg(unix)]
mod child;
mod format;
mod frames;
mod hint;
mod hyphen;
mod kind;
mod limits;
mod normalise;
mod outcome;
mod passages;
#[cfg(unix)]
mod pool;
#[cfg(unix)]
mod recognise;
#[cfg(unix)]
mod sandbox;
mod source;
mod stop;
mod text;
mod walk;

#[cfg(unix)]
pub use child::{CHILD_ARGUMENT, WalkFn, child_main, serve};
pub use format::{VisitEmbedded, extract, members, message_id_hash};
pub use frames::{PartEnd, PartHead, Parts, PartsWriter};
pub use hint::hint;
pub use kind::{Candidate, Kind};
pub use limits::Limits;
pub use normalise::Normaliser;
pub use outcome::{Outcome, Reason};
pub use passages::{JoinedLines, PASSAGE_BYTES_MAX, PASSAGE_BYTES_MIN, each_passage};
#[cfg(unix)]
pub use pool::{Extraction, Pool};
#[cfg(unix)]
pub use recognise::{RECOGNISER_ARGUMENT, Recogniser, Recognition, RecognitionError, recogniser_main};
#[cfg(unix)]
pub use sandbox::{Confinement, ProgramConfinement};
pub use source::Source;
pub use text::Text;
#[cfg(unix)]
pub use walk::walk;
pub use walk::walk_source;

/// The version of extraction and normalisation. Every change that can change a text increases it, and so changes the ids
/// of the methods that read text.
pub const TEXT_VERSION: u32 = 1;

/// Separates the name of a document from that of a document inside it: `mail.zip!/inner/letter.docx`.
pub const INSIDE: &str = "!/";
