//! Reading a document as text: its own text, the documents inside of it, or its passages.
//!
//! Text comes from a process that extracts it, or from an earlier extraction of the same bytes in the site's [`Texts`].
//!
//! [`Texts`]: crate::records::texts::Texts

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cognate_fingerprint::View;
use cognate_proto::batch::DocumentState;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1::FileClass;
use cognate_view::{Candidate, Kind, Parts};

use super::extraction::{ReaderProcesses, RecognitionInForce, cannot_start};
use super::file_class::HeadReader;
use super::hashing::HashingReader;
use super::holes::HoleReader;
use super::open_files::Open;
use super::outcome::{Fingerprinted, ReadOutcome};
use super::parts::{PartOptions, PartOutcomes, PartReader, StreamError};
use super::states::state_of;
use super::tools::Tools;
use crate::pace::Paced;
use crate::records::cache::Cache;
use crate::records::cache::known::KnownDocument;
use crate::records::file_hashes::FileHashes;
use crate::records::stamp::Stamp;
use crate::records::text_key::TextKey;
use crate::records::texts::{Recording, TextsWriter};

/// Reads documents as text.
pub(crate) struct TextReader<'a> {
    pub(crate) view: View,
    pub(crate) processes: &'a ReaderProcesses,
    /// The recognition of text that is in force.
    pub(crate) recognition: RecognitionInForce,
    /// The stored texts; `None` if nothing is remembered.
    pub(crate) stored: Option<StoredTexts<'a>>,
    /// If set, hashes of message ids are sent.
    pub(crate) message_id_hashes: bool,
    /// Only which files are office files is found out: the policy keeps their text.
    pub(crate) keeps_text: bool,
}

/// The texts that were extracted before, and the writer for those that are extracted now.
pub(crate) struct StoredTexts<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) texts: TextsWriter<'a>,
}

/// Facts about the bytes of a document, before its text is read.
struct Inspected {
    digest: Option<[u8; 16]>,
    class: FileClass,
    candidate: Candidate,
    hashes: FileHashes,
    read_bytes: u64,
    changed: bool,
}

impl<'a> TextReader<'a> {
    /// Reads the text of an open document. `known` is what is remembered of it under this stamp.
    pub(super) fn read(
        &mut self,
        tools: &mut Tools<'a>,
        path: &DocumentPath,
        file: &File,
        stamp: Stamp,
        known: Option<&KnownDocument>,
    ) -> io::Result<ReadOutcome> {
        let inspected = match self.inspect(tools, file, stamp, known) {
            Ok(inspected) => inspected,
            Err(error) => return Ok(ReadOutcome::Failed(state_of(&error))),
        };
        if self.view == View::Office && inspected.candidate < self.recognition.least {
            let has_pictures = inspected.candidate == Candidate::Picture;
            let parts = PartOutcomes { has_pictures, ..PartOutcomes::outside() };
            return Ok(ReadOutcome::Fingerprinted(fingerprinted(inspected, parts, stamp)));
        }
        let name = file_name(path);
        // The name of an archive can decide on the names inside of it; no other extraction depends on the name.
        let hint = if inspected.class == FileClass::Archive { name.as_str() } else { "" };
        let key = inspected.digest.map(|digest| TextKey::new(digest, hint, self.recognition.id));
        let parts = match self.read_stored(tools, path, key)? {
            Some(parts) => parts,
            None => match self.extract(tools, path, file, &name, key)? {
                Some(parts) => parts,
                None => return Ok(ReadOutcome::Failed(DocumentState::Crashed)),
            },
        };
        let parts = if self.keeps_text { parts.without_text() } else { parts };
        Ok(ReadOutcome::Fingerprinted(fingerprinted(inspected, parts, stamp)))
    }

    /// Reads the bytes for their digest, if it will be used, or only the first bytes, for the class of the file.
    fn inspect(
        &self,
        tools: &Tools<'_>,
        file: &File,
        stamp: Stamp,
        known: Option<&KnownDocument>,
    ) -> io::Result<Inspected> {
        let known = known.filter(|known| self.stored.is_some() && known.hashes.kinds().contains_all(tools.hashes));
        if let Some(KnownDocument { bytes_digest: Some(digest), class, candidate, hashes, .. }) = known {
            let (class, candidate, hashes) = (*class, *candidate, hashes.clone());
            return Ok(Inspected { digest: Some(*digest), class, candidate, hashes, read_bytes: 0, changed: false });
        }
        let head = || {
            let paced = Paced::new(HoleReader::new(file, stamp.length_bytes, tools.calls), tools.pace, tools.cancelled);
            HeadReader::new(Open::new(paced, stamp.length_bytes, tools.open_files))
        };
        if self.stored.is_none() || self.view == View::Office {
            let mut head = head();
            head.fill()?;
            let (class, candidate) = head.class();
            let is_outside = self.view == View::Office && candidate < self.recognition.least;
            if self.stored.is_none() || is_outside {
                let hashes = known.map(|known| known.hashes.clone()).unwrap_or_default();
                let read_bytes = if is_outside { head.read_bytes() } else { stamp.length_bytes };
                return Ok(Inspected { digest: None, class, candidate, hashes, read_bytes, changed: false });
            }
        }
        let mut hasher = blake3::Hasher::new();
        let mut hashing = HashingReader::new(head(), tools.hashes);
        hasher.update_reader(&mut hashing)?;
        let (head, hashes) = hashing.finish();
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        let read_bytes = head.read_bytes();
        let changed = read_bytes != stamp.length_bytes;
        let (class, candidate) = head.class();
        Ok(Inspected { digest: Some(digest), class, candidate, hashes, read_bytes, changed })
    }

    fn options(&self) -> PartOptions {
        PartOptions { view: self.view, message_id_hashes: self.message_id_hashes }
    }

    /// Reads an earlier extraction of the same bytes; `None` if there is none that can be read to its end.
    fn read_stored(
        &self,
        tools: &mut Tools<'a>,
        path: &DocumentPath,
        key: Option<TextKey>,
    ) -> io::Result<Option<PartOutcomes>> {
        let (Some(stored), Some(key)) = (&self.stored, key) else { return Ok(None) };
        let Some(location) = stored.cache.text(&key) else { return Ok(None) };
        let read = match stored.texts.open(location) {
            Ok(stream) => PartReader::new(tools, self.options()).read(path, &mut Parts::new(stream), |_, _| {}),
            Err(error) => Err(StreamError::Stream(error)),
        };
        match read {
            Ok(parts) => Ok(Some(parts)),
            Err(StreamError::Records(error)) => Err(error),
            Err(StreamError::Stream(error)) => {
                tracing::debug!(%error, "a stored text cannot be read and is extracted again");
                Ok(None)
            }
        }
    }

    /// Extracts the text and stores it; `None` if the extraction ends early.
    fn extract(
        &mut self,
        tools: &mut Tools<'a>,
        path: &DocumentPath,
        file: &File,
        name: &str,
        key: Option<TextKey>,
    ) -> io::Result<Option<PartOutcomes>> {
        let options = self.options();
        let pool = self.processes.pool(self.keeps_text).map_err(cannot_start)?;
        let extraction = match self.view {
            View::Office => pool.extract_unless_archive(file),
            _ => pool.extract(file, name),
        };
        let extraction = extraction.map_err(cannot_start)?;
        let recording = match (&mut self.stored, key) {
            (Some(stored), Some(_)) => stored.texts.record(extraction),
            _ => Recording::none(extraction),
        };
        let mut parts = Parts::new(recording);
        // Reading plain text again is as fast as a lookup, so it is not stored.
        let read = PartReader::new(tools, options).read(path, &mut parts, |parts, kind| {
            // An archive that stayed closed would look like one that holds nothing.
            let is_office = kind.is_office() || kind.is_picture();
            if matches!(kind, Kind::Text | Kind::Other) || (options.view == View::Office && !is_office) {
                parts.get_mut().discard();
            }
        });
        let outcomes = match read {
            Ok(outcomes) => Some(outcomes),
            Err(StreamError::Records(error)) => return Err(error),
            // The sync was cancelled, or the pipe to the process broke.
            Err(StreamError::Stream(error)) => {
                tracing::debug!(%path, %error, "the extraction of text ended early");
                None
            }
        };
        let is_wanted = outcomes.as_ref().is_some_and(|outcomes| !outcomes.may_differ);
        if let (Some(stored), Some(key)) = (&mut self.stored, key)
            && let Some(location) = stored.texts.finish(parts.into_inner(), is_wanted)
        {
            stored.cache.remember_text(&key, location);
        }
        Ok(outcomes)
    }
}

fn file_name(path: &DocumentPath) -> String {
    let path = Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn fingerprinted(inspected: Inspected, parts: PartOutcomes, stamp: Stamp) -> Fingerprinted {
    Fingerprinted {
        own: parts.own.expect("the last part of a complete stream is the document itself"),
        inside: parts.inside,
        spool_file: parts.spool_file,
        stamp,
        class: inspected.class,
        candidate: inspected.candidate,
        has_pictures: parts.has_pictures,
        bytes_digest: inspected.digest,
        hashes: inspected.hashes,
        changing: inspected.changed,
        settled: !parts.may_differ,
        read_bytes: inspected.read_bytes,
    }
}
