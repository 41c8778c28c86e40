//! The stream of parts: from a child to the worker, and from the worker to its cache and back.
//!
//! It begins with [`MAGIC`]; then come frames of a kind (one byte), a length (four bytes, little-endian) and that many
//! bytes, at most [`FRAME_BYTES_MAX`]. A part is a frame that begins it, frames of its text, and a frame that ends it
//! with its outcome, the length of its text and a checksum over all of it. The part with the empty name is the document
//! itself, and the last one. Between a child and its parent, pictures of pages whose text is to be recognised come among
//! the frames of text, at their place: frames of a picture, and one that ends it. The writer is not trusted: names,
//! lengths, order and UTF-8 are checked, and the reader allocates no more than it received.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind, Read, Write};

use crate::kind::Kind;
use crate::outcome::{Outcome, Reason};

/// Begins every stream; its last byte is the version.
pub(crate) const MAGIC: [u8; 8] = *b"cogview\x02";
/// Bytes of a frame at most.
pub(crate) const FRAME_BYTES_MAX: usize = 64 * 1024;
/// The longest name of a part.
pub(crate) const NAME_BYTES_MAX: usize = 4000;
/// The most parts of one stream.
pub(crate) const PARTS_MAX: u32 = 1 << 20;

/// Length of the digest by which the same message is known again (EDRM).
pub(crate) const MESSAGE_ID_HASH_BYTES: usize = 16;

const BEGIN: u8 = 1;
const TEXT: u8 = 2;
const END: u8 = 3;
const PICTURE: u8 = 4;
const PICTURE_END: u8 = 5;
const END_BYTES: usize = 3 + MESSAGE_ID_HASH_BYTES + 8 + 4 + 4;
const HEAD_BYTES: usize = 5;

/// The facts about a part before its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartHead {
    /// Its place in the document, such as `mail.zip!/inner/letter.docx`; empty for the document itself.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
}

/// The facts about a part after its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartEnd {
    /// Its outcome.
    pub outcome: Outcome,
    /// Of a message: the digest of its id (EDRM).
    pub message_id_hash: Option<[u8; MESSAGE_ID_HASH_BYTES]>,
    /// Bytes of its text.
    pub text_bytes: u64,
    /// Pages that are pictures, whether their text was recognised or not.
    pub picture_pages: u32,
}

/// True if a name can be that of a member: names with `/` between them, none of them empty, `.` or `..`, no NUL.
pub(crate) fn valid_name(name: &str) -> bool {
    let plain = |component: &str| !matches!(component, "" | "." | "..");
    name.len() <= NAME_BYTES_MAX && !name.contains('\0') && name.split('/').all(plain)
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("a stream of parts is damaged: {what}"))
}

/// Writes a stream of parts.
#[derive(Debug)]
pub struct PartsWriter<W> {
    out: W,
    text: Vec<u8>,
    text_bytes: u64,
    sum: crc32fast::Hasher,
}

impl<W: Write> PartsWriter<W> {
    /// Begins a stream.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut out: W) -> io::Result<PartsWriter<W>> {
        out.write_all(&MAGIC)?;
        Ok(PartsWriter::with(out))
    }

    fn with(out: W) -> PartsWriter<W> {
        PartsWriter { out, text: Vec::new(), text_bytes: 0, sum: crc32fast::Hasher::new() }
    }

    /// Begins a part. The part before it has ended.
    ///
    /// # Errors
    /// If it cannot be written, or the name is not that of a part.
    pub fn begin(&mut self, name: &str, kind: Kind) -> io::Result<()> {
        if !name.is_empty() && !valid_name(name) {
            return Err(damaged("an invalid name"));
        }
        let mut payload = Vec::with_capacity(1 + name.len());
        payload.push(kind as u8);
        payload.extend_from_slice(name.as_bytes());
        self.sum = crc32fast::Hasher::new();
        self.text_bytes = 0;
        self.frame(BEGIN, &payload)
    }

    /// More of the text of the part that is open.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let space = FRAME_BYTES_MAX - self.text.len();
            let (now, later) = rest.split_at(rest.floor_char_boundary(space));
            self.text.extend_from_slice(now.as_bytes());
            rest = later;
            // The rest of the frame may be too short for the next character.
            if !rest.is_empty() {
                self.flush_text()?;
            }
        }
        Ok(())
    }

    /// Bytes of text that the open part has so far.
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes + self.text.len() as u64
    }

    /// A picture of a page, for the parent to have its text recognised: the bytes of a file, and its dots per inch (0:
    /// unknown).
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn picture(&mut self, file: &[u8], dots_per_inch: u32) -> io::Result<()> {
        self.flush_text()?;
        file.chunks(FRAME_BYTES_MAX).try_for_each(|bytes| self.frame(PICTURE, bytes))?;
        self.frame(PICTURE_END, &dots_per_inch.to_le_bytes())
    }

    /// Ends the part that is open.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(&mut self, outcome: Outcome, message_id_hash: Option<[u8; MESSAGE_ID_HASH_BYTES]>) -> io::Result<()> {
        self.end_with_pages(outcome, message_id_hash, 0)
    }

    /// Ends the part that is open, of which so many pages are pictures.
    pub(crate) fn end_with_pages(
        &mut self,
        outcome: Outcome,
        message_id_hash: Option<[u8; MESSAGE_ID_HASH_BYTES]>,
        picture_pages: u32,
    ) -> io::Result<()> {
        self.flush_text()?;
        let (tag, reason) = match outcome {
            Outcome::Text => (1, 0),
            Outcome::NoText => (2, 0),
            Outcome::Container => (3, 0),
            Outcome::Unextractable(reason) => (4, reason as u8),
            Outcome::Pictures => (5, 0),
            Outcome::Recognised => (6, 0),
            Outcome::InPart(reason) => (7, reason as u8),
        };
        let mut payload = Vec::with_capacity(END_BYTES);
        payload.extend([tag, reason, u8::from(message_id_hash.is_some())]);
        payload.extend(message_id_hash.unwrap_or_default());
        payload.extend(self.text_bytes.to_le_bytes());
        payload.extend(picture_pages.to_le_bytes());
        self.sum.update(&payload);
        payload.extend(std::mem::take(&mut self.sum).finalize().to_le_bytes());
        write_frame(&mut self.out, END, &payload)
    }

    /// The output.
    pub(crate) fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Ends the stream; the last part was the document itself.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn flush_text(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.text_bytes += self.text.len() as u64;
        self.sum.update(&self.text);
        write_frame(&mut self.out, TEXT, &self.text)?;
        self.text.clear();
        Ok(())
    }

    fn frame(&mut self, tag: u8, payload: &[u8]) -> io::Result<()> {
        self.sum.update(payload);
        write_frame(&mut self.out, tag, payload)
    }
}

fn write_frame(out: &mut impl Write, tag: u8, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(|_| damaged("a frame that is too long"))?;
    let mut head = [tag; HEAD_BYTES];
    head[1..].copy_from_slice(&length.to_le_bytes());
    out.write_all(&head)?;
    out.write_all(payload)
}

impl PartsWriter<Vec<u8>> {
    /// Begins a stream in memory.
    pub(crate) fn in_memory() -> PartsWriter<Vec<u8>> {
        PartsWriter::with(MAGIC.to_vec())
    }
}

/// A frame that was checked.
#[derive(Debug)]
pub(crate) enum Frame {
    Begin(PartHead),
    Text,
    /// Bytes of a picture.
    Picture,
    /// A picture ends; it has so many dots per inch (0: unknown).
    PictureEnd(u32),
    End(PartEnd),
}

/// Reads frame by frame and checks everything.
#[derive(Debug)]
pub(crate) struct Frames<R> {
    stream: R,
    begun: bool,
    /// Nothing is read after an error.
    broken: bool,
    /// The text of the last frame of text.
    text: String,
    /// The bytes of the last frame of a picture.
    picture: Vec<u8>,
    /// The name of the part that is open.
    open: Option<String>,
    done: bool,
    parts: u32,
    names: HashSet<u64>,
    hasher: RandomState,
    text_bytes: u64,
    sum: crc32fast::Hasher,
}

impl<R: Read> Frames<R> {
    pub(crate) fn new(stream: R) -> Frames<R> {
        Frames {
            stream,
            begun: false,
            broken: false,
            text: String::new(),
            picture: Vec::new(),
            open: None,
            done: false,
            parts: 0,
            names: HashSet::new(),
            hasher: RandomState::new(),
            text_bytes: 0,
            sum: crc32fast::Hasher::new(),
        }
    }

    /// The next frame; `None` after the end of the document itself.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        if self.done {
            return Ok(None);
        }
        if std::mem::replace(&mut self.broken, true) {
            return Err(damaged("an earlier frame was"));
        }
        let frame = self.read()?;
        self.broken = false;
        Ok(Some(frame))
    }

    fn read(&mut self) -> io::Result<Frame> {
        if !self.begun {
            let mut magic = [0; MAGIC.len()];
            self.stream.read_exact(&mut magic)?;
            if magic != MAGIC {
                return Err(damaged("it is no such stream, or of another version"));
            }
            self.begun = true;
        }
        let mut head = [0; HEAD_BYTES];
        self.stream.read_exact(&mut head)?;
        let [tag, length @ ..] = head;
        let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| damaged("a length"))?;
        match tag {
            BEGIN if self.open.is_none() && (1..=1 + NAME_BYTES_MAX).contains(&length) => self.begin(length),
            TEXT if self.open.is_some() && (1..=FRAME_BYTES_MAX).contains(&length) => self.text(length),
            PICTURE if self.open.is_some() && (1..=FRAME_BYTES_MAX).contains(&length) => self.picture(length),
            PICTURE_END if self.open.is_some() && length == 4 => self.picture_end(),
            END if self.open.is_some() && length == END_BYTES => self.end(),
            _ => Err(damaged("a frame out of order")),
        }
    }

    /// The text of the last frame of text.
    pub(crate) fn last_text(&self) -> &str {
        &self.text
    }

    /// The bytes of the last frame of a picture.
    pub(crate) fn last_picture(&self) -> &[u8] {
        &self.picture
    }

    /// The stream from which frames are read.
    pub(crate) fn stream(&mut self) -> &mut R {
        &mut self.stream
    }

    /// The stream from which frames were read.
    pub(crate) fn into_stream(self) -> R {
        self.stream
    }

    fn begin(&mut self, length: usize) -> io::Result<Frame> {
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        self.sum = crc32fast::Hasher::new();
        self.sum.update(&payload);
        self.text_bytes = 0;
        let (&kind, name) = payload.split_first().ok_or_else(|| damaged("a part without a kind"))?;
        let kind = kind_of(kind).ok_or_else(|| damaged("an unknown kind"))?;
        let name = str::from_utf8(name).map_err(|_| damaged("a name that is not UTF-8"))?.to_owned();
        if !name.is_empty() && !valid_name(&name) {
            return Err(damaged("an invalid name"));
        }
        self.parts += 1;
        if self.parts > PARTS_MAX || !self.names.insert(self.hasher.hash_one(&name)) {
            return Err(damaged("too many parts, or two of one name"));
        }
        self.open = Some(name.clone());
        Ok(Frame::Begin(PartHead { name, kind }))
    }

    fn text(&mut self, length: usize) -> io::Result<Frame> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.resize(length, 0);
        self.stream.read_exact(&mut bytes)?;
        self.sum.update(&bytes);
        self.text = String::from_utf8(bytes).map_err(|_| damaged("text that is not UTF-8"))?;
        self.text_bytes += self.text.len() as u64;
        Ok(Frame::Text)
    }

    fn picture(&mut self, length: usize) -> io::Result<Frame> {
        self.picture.resize(length, 0);
        self.stream.read_exact(&mut self.picture)?;
        self.sum.update(&self.picture);
        Ok(Frame::Picture)
    }

    fn picture_end(&mut self) -> io::Result<Frame> {
        let mut dots_per_inch = [0; 4];
        self.stream.read_exact(&mut dots_per_inch)?;
        self.sum.update(&dots_per_inch);
        Ok(Frame::PictureEnd(u32::from_le_bytes(dots_per_inch)))
    }

    fn end(&mut self) -> io::Result<Frame> {
        let mut payload = [0; END_BYTES];
        self.stream.read_exact(&mut payload)?;
        let (fields, sum) = payload.split_at(END_BYTES - 4);
        self.sum.update(fields);
        if std::mem::take(&mut self.sum).finalize().to_le_bytes() != sum {
            return Err(damaged("a checksum does not match"));
        }
        let outcome = outcome_of(fields[0], fields[1]).ok_or_else(|| damaged("an unknown outcome"))?;
        let (hash, numbers) = fields[3..].split_at(MESSAGE_ID_HASH_BYTES);
        let (text_bytes, picture_pages) = numbers.split_at(8);
        let picture_pages = picture_pages.try_into().map_or(0, u32::from_le_bytes);
        let message_id_hash = match fields[2] {
            0 => None,
            1 => hash.try_into().ok(),
            _ => return Err(damaged("an invalid message id")),
        };
        if text_bytes != self.text_bytes.to_le_bytes() {
            return Err(damaged("text is missing"));
        }
        self.done = self.open.take().is_none_or(|name| name.is_empty());
        Ok(Frame::End(PartEnd { outcome, message_id_hash, text_bytes: self.text_bytes, picture_pages }))
    }
}

/// Reads a stream of parts: a part, its text, how it ended, the next.
///
/// The last part is the document itself, under the empty name: a stream that ends before is an error.
#[derive(Debug)]
pub struct Parts<R> {
    frames: Frames<R>,
    /// Bytes of the last frame of text that were taken.
    taken: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Between,
    Open,
    Ended(PartEnd),
}

impl<R: Read> Parts<R> {
    /// Reads the parts of a stream.
    pub fn new(stream: R) -> Parts<R> {
        Parts { frames: Frames::new(stream), taken: 0, state: State::Between }
    }

    /// The next part; unread text of the previous part is skipped. `None` after the document itself.
    ///
    /// # Errors
    /// If the stream cannot be read, ends early or is damaged.
    pub fn next_part(&mut self) -> io::Result<Option<PartHead>> {
        if matches!(self.state, State::Open) {
            self.outcome()?;
        }
        self.state = State::Between;
        match self.frames.next()? {
            None => Ok(None),
            Some(Frame::Begin(head)) => {
                self.state = State::Open;
                self.taken = 0;
                self.frames.text.clear();
                Ok(Some(head))
            }
            Some(_) => Err(damaged("a frame out of order")),
        }
    }

    /// The end of the present part; unread text is skipped.
    ///
    /// # Errors
    /// If the stream cannot be read, ends early or is damaged, or if no part is open.
    pub fn outcome(&mut self) -> io::Result<PartEnd> {
        loop {
            if let State::Ended(end) = self.state {
                return Ok(end);
            }
            self.more()?;
        }
    }

    /// The stream from which the parts were read.
    pub fn into_inner(self) -> R {
        self.frames.into_stream()
    }

    /// The stream from which the parts are read.
    pub fn get_mut(&mut self) -> &mut R {
        self.frames.stream()
    }

    /// Reads one frame of the open part.
    fn more(&mut self) -> io::Result<()> {
        let State::Open = self.state else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "no part is open before the first or after the last"));
        };
        match self.frames.next()? {
            Some(Frame::Text) => self.taken = 0,
            Some(Frame::End(end)) => {
                self.frames.text.clear();
                self.taken = 0;
                self.state = State::Ended(end);
            }
            _ => return Err(damaged("a frame out of order")),
        }
        Ok(())
    }
}

impl<R: Read> Read for Parts<R> {
    /// Reads the text of the present part, to its end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // After an error the frame of text that was taken is gone.
        while self.taken >= self.frames.last_text().len() {
            if !matches!(self.state, State::Open) {
                return Ok(0);
            }
            self.more()?;
        }
        let left = &self.frames.last_text().as_bytes()[self.taken..];
        let now = left.len().min(buffer.len());
        buffer[..now].copy_from_slice(&left[..now]);
        self.taken += now;
        Ok(now)
    }
}

fn kind_of(byte: u8) -> Option<Kind> {
    Some(match byte {
        1 => Kind::Text,
        2 => Kind::Html,
        3 => Kind::Docx,
        4 => Kind::Xlsx,
        5 => Kind::Pptx,
        6 => Kind::OpenDocument,
        7 => Kind::Pdf,
        8 => Kind::Rtf,
        9 => Kind::Mail,
        10 => Kind::Mbox,
        11 => Kind::Msg,
        12 => Kind::OldOffice,
        13 => Kind::Doc,
        14 => Kind::Xls,
        15 => Kind::Ppt,
        16 => Kind::Tnef,
        17 => Kind::OutlookStore,
        20 => Kind::Zip,
        21 => Kind::Tar,
        22 => Kind::Gzip,
        23 => Kind::Xz,
        24 => Kind::Zstd,
        25 => Kind::Bzip2,
        26 => Kind::SevenZip,
        30 => Kind::Tiff,
        31 => Kind::Jpeg,
        32 => Kind::Png,
        40 => Kind::Rar,
        43 => Kind::OneNote,
        44 => Kind::Chm,
        45 => Kind::Djvu,
        46 => Kind::Cab,
        47 => Kind::Wim,
        48 => Kind::Access,
        49 => Kind::WordPerfect,
        50 => Kind::Hwp,
        51 => Kind::Ebook,
        52 => Kind::NotesDatabase,
        53 => Kind::Layout,
        54 => Kind::DiskImage,
        55 => Kind::OtherArchive,
        56 => Kind::EncryptedFile,
        255 => Kind::Other,
        _ => return None,
    })
}

fn outcome_of(tag: u8, reason: u8) -> Option<Outcome> {
    Some(match (tag, reason) {
        (1, 0) => Outcome::Text,
        (2, 0) => Outcome::NoText,
        (3, 0) => Outcome::Container,
        (4, reason) => Outcome::Unextractable(reason_of(reason)?),
        (5, 0) => Outcome::Pictures,
        (6, 0) => Outcome::Recognised,
        (7, reason) => Outcome::InPart(reason_of(reason)?),
        _ => return None,
    })
}

fn reason_of(byte: u8) -> Option<Reason> {
    Some(match byte {
        1 => Reason::Encrypted,
        2 => Reason::Damaged,
        3 => Reason::Unsupported,
        4 => Reason::TooLarge,
        5 => Reason::Ratio,
        6 => Reason::TooMany,
        7 => Reason::TooDeep,
        8 => Reason::TimedOut,
        9 => Reason::OutOfMemory,
        10 => Reason::Crashed,
        11 => Reason::NotRecognised,
        12 => Reason::RecognitionTimedOut,
        13 => Reason::TooManyPages,
        14 => Reason::NotOpened,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
