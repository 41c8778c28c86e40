//! `cognate text`: the text of files, and of the documents inside them.

mod json;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use cognate_proto::path::{INSIDE, printable};
use cognate_view::{Extraction, Kind, Outcome, PartEnd, Parts, Pool, Reason};

use crate::exit::Exit;
use crate::extraction::{self, OcrArgs};

/// Prints the text that a reader sees in files, and in the documents inside archives and messages.
///
/// A separate, confined process reads the documents, within limits; see docs/views.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate text report.docx
  cognate text --list mail.zip
  cognate text --ocr=eng+deu scan.pdf   # where the program `tesseract` is installed
  cognate text --format ndjson -- archive/*.pdf | jq -r 'select(.outcome == \"unextractable\") | .path'")]
pub(crate) struct TextArgs {
    /// Files to read
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TextFormat,
    /// List the documents without their text
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    ocr: OcrArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum TextFormat {
    /// The text, with a heading for each document if there are several
    Text,
    /// One object, schema cognate.text/1
    Json,
    /// One object per document, each on one line
    Ndjson,
}

/// Runs the command.
pub(crate) fn run(args: &TextArgs) -> anyhow::Result<Exit> {
    let pool = extraction::recognising_pool(NonZeroUsize::MIN, args.ocr.recogniser()?)?;
    if !pool.confinement().is_full() {
        tell!("cognate: the process that reads documents is confined {}", pool.confinement());
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut writer = Writer { out: &mut out, args, first: true, incomplete: false };
    match writer.all(&pool).and_then(|unread| out.flush().map(|()| unread)) {
        Ok(Unread::Nothing) => Ok(Exit::Complete),
        Ok(Unread::Something) => Ok(Exit::Incomplete),
        Ok(Unread::Everything) => Ok(Exit::Failed),
        // The reader closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Complete),
        Err(error) => Err(error.into()),
    }
}

/// Amount of unreadable input.
enum Unread {
    Nothing,
    Something,
    Everything,
}

struct Writer<'a, W> {
    out: &'a mut W,
    args: &'a TextArgs,
    /// Nothing was written yet.
    first: bool,
    /// Something could not be read.
    incomplete: bool,
}

impl<W: Write> Writer<'_, W> {
    fn all(&mut self, pool: &Pool) -> io::Result<Unread> {
        if self.args.format == TextFormat::Json {
            self.out.write_all(br#"{"schema":"cognate.text/1","documents":["#)?;
        }
        let mut failed = 0;
        for path in &self.args.files {
            match open(path).and_then(|file| pool.extract(&file, &file_name(path))) {
                Ok(extraction) => self.file(path, extraction.parts())?,
                Err(error) => {
                    failed += 1;
                    self.complain(&bytes_of(path), &format!("cannot be read: {error}"));
                }
            }
        }
        if self.args.format == TextFormat::Json {
            self.out.write_all(b"]}\n")?;
        }
        Ok(match self.incomplete {
            false => Unread::Nothing,
            true if failed == self.args.files.len() => Unread::Everything,
            true => Unread::Something,
        })
    }

    /// Writes a document and the documents inside it.
    fn file(&mut self, path: &Path, mut parts: Parts<Extraction>) -> io::Result<()> {
        while let Some(part) = parts.next_part()? {
            let name = match part.name.as_str() {
                "" => bytes_of(path),
                inside => [&bytes_of(path), INSIDE.as_bytes(), inside.as_bytes()].concat(),
            };
            let alone = part.name.is_empty() && self.first && self.args.files.len() == 1;
            let end = match self.args.format {
                TextFormat::Text if self.args.list => self.listed(&name, part.kind, &mut parts)?,
                TextFormat::Text => self.plain(&name, part.kind, &mut parts, alone)?,
                TextFormat::Json | TextFormat::Ndjson => {
                    if self.args.format == TextFormat::Json && !self.first {
                        self.out.write_all(b",")?;
                    }
                    let end = json::write(self.out, &name, part.kind, &mut parts, !self.args.list)?;
                    if self.args.format == TextFormat::Ndjson {
                        self.out.write_all(b"\n")?;
                    }
                    end
                }
            };
            self.first = false;
            match end.outcome {
                Outcome::Unextractable(reason) => self.complain(&name, &format!("has no readable text: {reason}")),
                Outcome::InPart(reason) => self.complain(&name, &format!("was read in part: {reason}")),
                Outcome::Pictures => self.complain(&name, "has no readable text: its pages are pictures (see --ocr)"),
                _ => {}
            }
        }
        Ok(())
    }

    fn listed(&mut self, name: &[u8], kind: Kind, parts: &mut Parts<Extraction>) -> io::Result<PartEnd> {
        let end = parts.outcome()?;
        let (outcome, reason) = outcome_name(end.outcome);
        let outcome = reason.map_or_else(|| outcome.to_owned(), |reason| format!("{outcome}({reason})"));
        let bytes = end.text_bytes;
        writeln!(self.out, "{:<13} {outcome:<28} {bytes:>12}  {}", kind_name(kind), printable(name))?;
        Ok(end)
    }

    fn plain(&mut self, name: &[u8], kind: Kind, parts: &mut Parts<Extraction>, alone: bool) -> io::Result<PartEnd> {
        if !alone {
            let above = if self.first { "" } else { "\n" };
            writeln!(self.out, "{above}== {} ({})", printable(name), kind_name(kind))?;
        }
        let bytes = io::copy(parts, self.out)?;
        if bytes > 0 {
            writeln!(self.out)?;
        }
        parts.outcome()
    }

    /// Reports a missing part on standard error, after the output before it.
    fn complain(&mut self, name: &[u8], what: &str) {
        self.incomplete = true;
        tell!("cognate: `{}` {what}", printable(name));
    }
}

/// Opens a regular file; does not wait for pipes.
fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Html => "html",
        Kind::Docx => "docx",
        Kind::Xlsx => "xlsx",
        Kind::Pptx => "pptx",
        Kind::OpenDocument => "opendocument",
        Kind::Pdf => "pdf",
        Kind::Rtf => "rtf",
        Kind::Mail => "mail",
        Kind::Mbox => "mbox",
        Kind::Msg => "msg",
        Kind::OldOffice => "old_office",
        Kind::Doc => "doc",
        Kind::Xls => "xls",
        Kind::Ppt => "ppt",
        Kind::Zip => "zip",
        Kind::Tar => "tar",
        Kind::Gzip => "gzip",
        Kind::Xz => "xz",
        Kind::Zstd => "zstd",
        Kind::Bzip2 => "bzip2",
        Kind::SevenZip => "7z",
        Kind::Tiff => "tiff",
        Kind::Jpeg => "jpeg",
        Kind::Png => "png",
        Kind::Rar => "rar",
        Kind::OutlookStore => "outlook_store",
        Kind::Tnef => "tnef",
        Kind::OneNote => "onenote",
        Kind::Chm => "chm",
        Kind::Djvu => "djvu",
        Kind::Cab => "cab",
        Kind::Wim => "wim",
        Kind::Access => "access",
        Kind::WordPerfect => "wordperfect",
        Kind::Hwp => "hwp",
        Kind::Ebook => "ebook",
        Kind::NotesDatabase => "notes_database",
        Kind::Layout => "layout",
        Kind::DiskImage => "disk_image",
        Kind::OtherArchive => "other_archive",
        Kind::EncryptedFile => "encrypted_file",
        Kind::Other => "other",
    }
}

/// An outcome, with its reason if there is one.
fn outcome_name(outcome: Outcome) -> (&'static str, Option<&'static str>) {
    match outcome {
        Outcome::Text => ("text", None),
        Outcome::NoText => ("no_text", None),
        Outcome::Container => ("container", None),
        Outcome::Pictures => ("pictures", None),
        Outcome::Recognised => ("recognised", None),
        Outcome::InPart(reason) => ("in_part", Some(reason_name(reason))),
        Outcome::Unextractable(reason) => ("unextractable", Some(reason_name(reason))),
    }
}

fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::Encrypted => "encrypted",
        Reason::Damaged => "damaged",
        Reason::Unsupported => "unsupported",
        Reason::TooLarge => "too_large",
        Reason::Ratio => "ratio",
        Reason::TooMany => "too_many",
        Reason::TooDeep => "too_deep",
        Reason::TimedOut => "timed_out",
        Reason::OutOfMemory => "out_of_memory",
        Reason::Crashed => "crashed",
        Reason::NotRecognised => "not_recognised",
        Reason::RecognitionTimedOut => "recognition_timed_out",
        Reason::TooManyPages => "too_many_pages",
        Reason::NotOpened => "not_opened",
    }
}
