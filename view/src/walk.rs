//! The parts of a document: the documents inside it, each before the one that contains it, and itself.

mod forward;
mod sink;

use std::cell::Cell;
#[cfg(unix)]
use std::fs::File;
use std::io::{self, Cursor, Read, SeekFrom, Write};
use std::rc::Rc;

use crate::archive::{self, MemberContent, Names};
use crate::budget::{Budget, reason};
use crate::format;
use crate::frames::PartsWriter;
use crate::kind::Kind;
use crate::limits::Limits;
use crate::outcome::{Outcome, Reason};
#[cfg(unix)]
use crate::source::FileSource;
use crate::source::Source;
use forward::ForwardSource;
use sink::{Pages, Sink};

/// Bytes at the beginning of a member that decide how it is read.
const HEAD_BYTES: u64 = 64 * 1024;
/// The name of a compressed file without a name.
const NAMELESS: &str = "content";

/// Reads a document in this process and writes the stream of its parts. A [`Pool`](crate::Pool) does the same in a child, so
/// that a hostile document cannot harm the worker.
///
/// The hint is the name of the member of a document that is compressed alone, or empty; without one, the document stays
/// closed if it is an archive.
///
/// # Errors
/// If the stream cannot be written. A document that cannot be read is no error.
#[cfg(unix)]
pub fn walk(file: File, hint: Option<&str>, limits: &Limits, out: &mut dyn Write) -> io::Result<()> {
    match FileSource::new(file) {
        Ok(mut source) => walk_source(&mut source, hint, limits, out),
        Err(error) => {
            let mut parts = PartsWriter::new(out)?;
            parts.begin("", Kind::Other)?;
            parts.end(Outcome::Unextractable(reason(&error)), None)?;
            parts.finish().map(drop)
        }
    }
}

/// As [`walk`], for bytes from anywhere. In a browser there is no pool: the page runs this in a worker that it can end.
///
/// # Errors
/// If the stream cannot be written.
pub fn walk_source(
    source: &mut dyn Source,
    hint: Option<&str>,
    limits: &Limits,
    out: &mut dyn Write,
) -> io::Result<()> {
    let parts = PartsWriter::new(out)?;
    let budget = Budget::new(limits, source.length_bytes());
    let mut walker = Walker { budget, parts, names: Names::default(), broken: None };
    let is_closed = hint.is_none();
    let hint = hint.filter(|hint| !hint.is_empty()).map(str::to_owned);
    let document = Document { name: "", hint, depth: 0, stream: None };
    match Kind::detect(source) {
        Ok(kind) if is_closed && kind.is_archive() => {
            walker.begin("", kind);
            walker.end(Ok(Outcome::Container), None);
        }
        _ => walker.document(source, &document),
    }
    walker.broken.map_or(Ok(()), Err)?;
    walker.parts.finish().map(drop)
}

/// The facts about a document next to its bytes.
struct Document<'d> {
    /// Its name as a part.
    name: &'d str,
    /// The name of its content if it is compressed.
    hint: Option<String>,
    /// Number of documents that contain it.
    depth: u32,
    /// The reason why its stream broke off, if it did.
    stream: Option<Rc<Cell<Option<Reason>>>>,
}

/// The outcome of a document that was read to its end and has these pages.
fn outcome_of(kind: Kind, pages: Pages) -> Outcome {
    match pages {
        Pages { pictures: 0, .. } if kind.is_picture() => Outcome::NoText,
        Pages { pictures, others } if pictures > others => Outcome::Pictures,
        _ => Outcome::Text,
    }
}

/// True if the text that was read of a document before its reading failed is text that a reader sees of it.
fn is_of_use(kind: Kind, reason: Reason) -> bool {
    reason == Reason::Damaged || (reason == Reason::Unsupported && kind == Kind::Pdf)
}

struct Walker<'o> {
    budget: Rc<Budget>,
    parts: PartsWriter<&'o mut dyn Write>,
    names: Names,
    /// The error by which the output failed.
    broken: Option<io::Error>,
}

impl Walker<'_> {
    /// Writes the members of a document, and the document.
    fn document(&mut self, source: &mut dyn Source, document: &Document<'_>) {
        match Kind::detect(source) {
            Ok(kind) => self.document_of(kind, source, document),
            Err(error) => self.closed(document.name, Kind::Other, reason(&error)),
        }
    }

    fn document_of(&mut self, kind: Kind, source: &mut dyn Source, document: &Document<'_>) {
        if kind.is_archive() {
            let opened = self.budget.may_open(document.depth).and_then(|()| self.open(kind, source, document));
            let opened = self.with_limits(opened, document);
            self.begin(document.name, kind);
            self.end(opened.map(|()| Outcome::Container), None);
            return;
        }
        let message_id_hash = format::message_id_hash(kind, source);
        let visited = match kind {
            Kind::Other => Ok(()),
            _ => format::members(kind, source, &mut |name, member| self.embedded(document, name, member)),
        };
        self.begin(document.name, kind);
        let mut pages = Pages::default();
        let read = match kind {
            Kind::Other => Ok(Outcome::NoText),
            // They have no text besides that of their messages.
            Kind::Mbox | Kind::OutlookStore => Ok(Outcome::Container),
            _ => self.text(kind, source, &mut pages).map(|()| outcome_of(kind, pages)),
        };
        let read = self.with_limits(read.and_then(|outcome| visited.map(|()| outcome)), document);
        let read = match read {
            Err(reason) if is_of_use(kind, reason) && self.parts.text_bytes() > 0 => Ok(Outcome::InPart(reason)),
            other => other,
        };
        self.end_with_pages(read, message_id_hash, pages.pictures);
    }

    /// The outcome of a document, or the limit or the broken stream that overrides it.
    fn with_limits<T>(&self, read: Result<T, Reason>, document: &Document<'_>) -> Result<T, Reason> {
        let stream = document.stream.as_ref().and_then(|failed| failed.get());
        self.budget.stopped().or(stream).map_or(read, Err)
    }

    /// Visits the members of an archive.
    fn open(&mut self, kind: Kind, source: &mut dyn Source, document: &Document<'_>) -> Result<(), Reason> {
        source.seek(SeekFrom::Start(0)).map_err(|error| reason(&error))?;
        let budget = Rc::clone(&self.budget);
        let each = &mut |name: &str, content: MemberContent<'_>| self.member(document, name, content).and(self.go_on());
        match kind {
            Kind::Zip => archive::zip(source, &budget, each),
            #[cfg(unix)]
            Kind::SevenZip => archive::seven_zip(source, &budget, each),
            #[cfg(not(unix))]
            Kind::SevenZip => Err(Reason::Unsupported),
            Kind::Tar => archive::tar(&mut &mut *source, &budget, each),
            _ => self.compressed(kind, source, document),
        }
    }

    /// Visits the content of a compressed file: one file, or the members of a tar archive.
    fn compressed(&mut self, kind: Kind, source: &mut dyn Source, document: &Document<'_>) -> Result<(), Reason> {
        let failed = |error: io::Error| reason(&error);
        let mut head = Vec::new();
        (&mut *source).take(1024).read_to_end(&mut head).map_err(failed)?;
        source.seek(SeekFrom::Start(0)).map_err(failed)?;
        let name = document.hint.clone().or_else(|| archive::own_name(&head)).unwrap_or_else(|| NAMELESS.to_owned());
        let budget = Rc::clone(&self.budget);
        let mut source = source;
        let mut stream = archive::decoder(kind, &mut source, &budget).ok_or(Reason::Unsupported)?;
        let mut head = Vec::new();
        // An error of the stream comes again at the next read.
        let _ = (&mut stream).take(HEAD_BYTES).read_to_end(&mut head);
        let is_tar = matches!(Kind::detect(&mut Cursor::new(head.as_slice())), Ok(Kind::Tar));
        let mut complete = head.as_slice().chain(&mut stream);
        if is_tar {
            let each =
                &mut |name: &str, content: MemberContent<'_>| self.member(document, name, content).and(self.go_on());
            archive::tar(&mut complete, &budget, each)?;
        } else {
            self.member(document, &name, MemberContent::Bytes(&mut complete, None))?;
        }
        // Read to the end, where the checksums are.
        io::copy(&mut complete, &mut io::sink()).map(drop).map_err(failed)
    }

    /// Writes a member and its members.
    fn member(&mut self, of: &Document<'_>, name: &str, content: MemberContent<'_>) -> Result<(), Reason> {
        self.budget.member()?;
        let hint = archive::without_ending(name);
        let name = self.names.within(of.name, name);
        let document = Document { name: &name, hint, depth: of.depth + 1, stream: None };
        match content {
            MemberContent::Bytes(stream, size) => self.unpack(stream, size, document),
            MemberContent::Closed(reason) => self.closed(&name, Kind::Other, reason),
        }
        Ok(())
    }

    /// Reads a member: into memory, or as a stream where it needs no more.
    fn unpack(&mut self, stream: &mut dyn Read, size: Option<u64>, mut document: Document<'_>) {
        let mut bytes = Vec::new();
        let mut limit = HEAD_BYTES;
        let mut read = (&mut *stream).take(limit).read_to_end(&mut bytes);
        let mut kind = Kind::detect(&mut Cursor::new(bytes.as_slice())).unwrap_or(Kind::Other);
        let more = |bytes: &[u8], limit: u64| bytes.len() as u64 == limit;
        // Of a JPEG or PNG the first bytes decide, unless its text is recognised.
        let is_counted = matches!(kind, Kind::Jpeg | Kind::Png) && self.budget.picture_pages_max() == 0;
        if read.is_ok() && more(&bytes, limit) && !kind.is_stream() && kind != Kind::Other && !is_counted {
            limit = self.budget.may_hold();
            read = (&mut *stream).take(limit - HEAD_BYTES).read_to_end(&mut bytes);
            kind = Kind::detect(&mut Cursor::new(bytes.as_slice())).unwrap_or(Kind::Other);
        }
        // What comes before damage is read as if the member ended there.
        let damage = match read.map_err(|error| reason(&error)) {
            Err(Reason::Damaged) if !bytes.is_empty() && kind != Kind::Other => Some(Reason::Damaged),
            Err(reason) => return self.closed(document.name, kind, reason),
            Ok(_) => None,
        };
        let held = self.budget.hold(bytes.len() as u64);
        if damage.is_some() {
            document.stream = Some(Rc::new(Cell::new(damage)));
        }
        if !more(&bytes, limit) || is_counted || damage.is_some() {
            self.document_of(kind, &mut Cursor::new(bytes), &document);
        } else if kind.is_stream() || matches!(kind, Kind::Text | Kind::Html | Kind::Mbox) {
            let mut source = ForwardSource::new(bytes, held, stream, size);
            document.stream = Some(source.failed());
            self.document_of(kind, &mut source, &document);
        } else if kind == Kind::Other {
            self.begin(document.name, kind);
            self.end(Ok(Outcome::NoText), None);
        } else {
            self.closed(document.name, kind, Reason::TooLarge);
        }
    }

    /// Writes the parts of a document inside another that is no archive.
    fn embedded(&mut self, of: &Document<'_>, name: &str, source: &mut dyn Source) -> Result<(), Reason> {
        self.budget.may_open(of.depth)?;
        self.budget.member()?;
        self.budget.expand(source.length_bytes())?;
        let hint = archive::without_ending(name);
        let name = self.names.within(of.name, name);
        self.document(source, &Document { name: &name, hint, depth: of.depth + 1, stream: None });
        self.go_on()
    }

    /// Writes the text of the open part, and counts its pages.
    fn text(&mut self, kind: Kind, source: &mut dyn Source, pages: &mut Pages) -> Result<(), Reason> {
        source.seek(SeekFrom::Start(0)).map_err(|error| reason(&error))?;
        let mut sink = Sink::new(&mut self.parts, &self.budget);
        let read = format::extract(kind, source, &mut sink);
        // What was read before damage is of use.
        let finished = sink.finish();
        let read = read.and(finished);
        *pages = sink.pages();
        if let Some(error) = sink.broken() {
            self.broken.get_or_insert(error);
        }
        read
    }

    fn closed(&mut self, name: &str, kind: Kind, reason: Reason) {
        self.begin(name, kind);
        self.end(Err(reason), None);
    }

    fn begin(&mut self, name: &str, kind: Kind) {
        let written = self.parts.begin(name, kind);
        self.note(written);
    }

    fn end(&mut self, read: Result<Outcome, Reason>, message_id_hash: Option<[u8; 16]>) {
        self.end_with_pages(read, message_id_hash, 0);
    }

    fn end_with_pages(&mut self, read: Result<Outcome, Reason>, message_id_hash: Option<[u8; 16]>, pictures: u32) {
        let outcome = read.unwrap_or_else(Outcome::Unextractable);
        let written = self.parts.end_with_pages(outcome, message_id_hash, pictures);
        self.note(written);
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.broken.get_or_insert(error);
        }
    }

    /// Fails if no further member is of use.
    fn go_on(&self) -> Result<(), Reason> {
        let broken = self.broken.as_ref().map(|_| Reason::Crashed);
        self.budget.stopped().or(broken).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
