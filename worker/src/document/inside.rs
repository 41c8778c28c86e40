//! A document under a text view: its text, the documents inside of it, or its passages.
//!
//! Text comes from a child process, or from what an earlier extraction of the same bytes left in the site's [`Texts`].

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cognate_fingerprint::{Unfit, View};
use cognate_proto::batch::DocumentState;
use cognate_proto::path::{DocumentPath, INSIDE};
use cognate_proto::v1::FileClass;
use cognate_view::{Kind, OneLine, Outcome, Parts, Pool, Reason, each_passage};

use super::spool::Spool;
use super::{Finding, Fingerprinted, Reader, Reading};
use crate::cache::{Cache, Known};
use crate::census::Head;
use crate::file_hash::{FileHashes, Hashed};
use crate::pace::Paced;
use crate::root::state_of;
use crate::stamp::Stamp;
use crate::texts::{TextKey, TextsWriter};

/// How a reader comes by text.
pub(crate) struct Sight<'a> {
    pub(crate) pool: Pool,
    /// What was extracted before, and where what is extracted now is kept, if there is a next time.
    pub(crate) kept: Option<(&'a Cache, TextsWriter<'a>)>,
    /// Whether hashes of message ids may be told.
    pub(crate) message_id_hashes: bool,
}

/// What a stream of parts came to.
#[derive(Default)]
struct Findings {
    own: Option<Finding>,
    inside: Vec<(DocumentPath, Finding)>,
    spooled: Option<u64>,
    /// Something ended for a reason that may not hold the next time.
    by_chance: bool,
}

impl Reader<'_> {
    pub(super) fn read_inside(
        &mut self,
        path: &DocumentPath,
        file: &File,
        stamp: Stamp,
        earlier: Option<&Known>,
    ) -> io::Result<Reading> {
        let seen = match self.look(file, stamp, earlier) {
            Ok(seen) => seen,
            Err(error) => return Ok(Reading::Failed(state_of(&error))),
        };
        let name = Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
        let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // An archive's name may decide on the names of what is inside; nothing else asks for it.
        let hint = if seen.class == FileClass::Archive { name.as_str() } else { "" };
        let key = seen.digest.map(|digest| TextKey::new(digest, hint));
        let found = match self.findings_kept(path, key)? {
            Some(found) => found,
            None => match self.findings_extracted(path, file, &name, key)? {
                Some(found) => found,
                None => return Ok(Reading::Failed(DocumentState::Crashed)),
            },
        };
        Ok(Reading::Done(Box::new(Fingerprinted {
            own: found.own.expect("the last part is the document itself"),
            inside: found.inside,
            spooled: found.spooled,
            stamp,
            class: seen.class,
            bytes_digest: seen.digest,
            hashes: seen.hashes,
            changing: seen.changed,
            settled: !found.by_chance,
            read_bytes: seen.read_bytes,
        })))
    }

    /// Reads the bytes for their digest, where somebody will ask for it, or as many as tell what kind they are of.
    fn look(&self, file: &File, stamp: Stamp, earlier: Option<&Known>) -> io::Result<Seen> {
        let kept = self.sight.as_ref().is_some_and(|sight| sight.kept.is_some());
        let earlier = earlier.filter(|known| kept && known.hashes.kinds().contains_all(self.hashes));
        if let Some(Known { bytes_digest: Some(digest), class, hashes, .. }) = earlier {
            let hashes = hashes.clone();
            return Ok(Seen { digest: Some(*digest), class: *class, hashes, read_bytes: 0, changed: false });
        }
        let mut head = Head::new(Paced::new(file.take(stamp.length_bytes), self.pace, self.cancelled));
        if !kept {
            head.fill()?;
            let (class, hashes) = (head.class(), FileHashes::default());
            return Ok(Seen { digest: None, class, hashes, read_bytes: stamp.length_bytes, changed: false });
        }
        let mut hasher = blake3::Hasher::new();
        let mut hashed = Hashed::new(head, self.hashes);
        hasher.update_reader(&mut hashed)?;
        let (head, hashes) = hashed.finish();
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        let read_bytes = head.passed_bytes();
        let changed = read_bytes != stamp.length_bytes;
        Ok(Seen { digest: Some(digest), class: head.class(), hashes, read_bytes, changed })
    }

    /// What an earlier extraction of the same bytes left, where it can be read to its end.
    fn findings_kept(&mut self, path: &DocumentPath, key: Option<TextKey>) -> io::Result<Option<Findings>> {
        let Some((cache, texts)) = self.sight.as_ref().and_then(|sight| sight.kept.as_ref()) else { return Ok(None) };
        let Some(key) = key else { return Ok(None) };
        let Some(location) = cache.text(&key) else { return Ok(None) };
        let found = match texts.open(location) {
            Ok(stream) => self.findings(path, &mut Parts::new(stream), |_, _| {}),
            Err(error) => Err(Failure::Stream(error)),
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Failure::Own(error)) => Err(error),
            Err(Failure::Stream(error)) => {
                tracing::debug!(%error, "kept text cannot be read: it is extracted anew");
                Ok(None)
            }
        }
    }

    fn findings_extracted(
        &mut self,
        path: &DocumentPath,
        file: &File,
        name: &str,
        key: Option<TextKey>,
    ) -> io::Result<Option<Findings>> {
        let sight = self.sight.as_mut().expect("a text view has it");
        let started = |error| io::Error::other(format!("no process can be started that reads documents: {error}"));
        let extraction = sight.pool.extract(file, name).map_err(started)?;
        let recording = match (&mut sight.kept, key) {
            (Some((_, texts)), Some(_)) => texts.record(extraction),
            _ => crate::texts::Recording::none(extraction),
        };
        let mut parts = Parts::new(recording);
        // What is as quick to read again as to look up is not kept.
        let found = self.findings(path, &mut parts, |parts, kind| {
            if matches!(kind, Kind::Text | Kind::Other) {
                parts.get_mut().forget();
            }
        });
        let found = match found {
            Ok(found) => Some(found),
            Err(Failure::Own(error)) => return Err(error),
            // Somebody wants to stop, or the pipe to the child broke in a way that it has no word for.
            Err(Failure::Stream(error)) => {
                tracing::debug!(%path, %error, "text cannot be had");
                None
            }
        };
        let sight = self.sight.as_mut().expect("as above");
        if let (Some((cache, texts)), Some(key)) = (&mut sight.kept, key)
            && let Some(location) = texts.keep(parts.into_inner(), found.as_ref().is_some_and(|found| !found.by_chance))
        {
            cache.keep_text(&key, location);
        }
        Ok(found)
    }

    /// Fingerprints part by part. `alone` is told the kind of a document that holds no others.
    fn findings<R: Read>(
        &mut self,
        path: &DocumentPath,
        parts: &mut Parts<R>,
        alone: impl Fn(&mut Parts<R>, Kind),
    ) -> Result<Findings, Failure> {
        let mut names = Names::new(self.root, path);
        let mut spool = Spool::new(self.lists);
        let mut found = Findings::default();
        while let Some(part) = parts.next_part().map_err(Failure::Stream)? {
            let is_own = part.name.is_empty();
            if is_own && found.inside.is_empty() {
                alone(parts, part.kind);
            }
            let mut passages = Vec::new();
            let (mut content, mut unfit) = (None, None);
            match self.view {
                View::Passages => self.passages(parts, &mut spool, &mut passages)?,
                _ => match self.whole(parts, &mut spool)? {
                    Ok(whole) => content = Some(whole),
                    Err(state) => unfit = Some(state),
                },
            }
            let end = parts.outcome().map_err(Failure::Stream)?;
            let (state, is_text) = match (state_after(end.outcome), unfit) {
                // There is text, and it is nothing for the method.
                ((_, true), Some(state)) => (state, false),
                (after, _) => after,
            };
            found.by_chance |= is_by_chance(end.outcome);
            let own_state = if self.view == View::Passages && is_text { DocumentState::Container } else { state };
            let message_id_hash =
                end.message_id_hash.filter(|_| self.sight.as_ref().is_some_and(|it| it.message_id_hashes));
            let finding = Finding { state: own_state, content: content.filter(|_| is_text), message_id_hash };
            let passages = if is_text { passages } else { Vec::new() };
            for (number, passage) in (1u64..).zip(passages) {
                let name = match is_own {
                    true => format!("#{number}"),
                    false => format!("{}{INSIDE}#{number}", part.name),
                };
                found.inside.push((names.of(&name), passage));
            }
            if is_own {
                found.own = Some(finding);
            } else {
                found.inside.push((names.of(&part.name), finding));
            }
        }
        found.spooled = spool.finish().map_err(Failure::Own)?;
        Ok(found)
    }

    /// The text of a part as one content, its paragraphs on one line; or why the method cannot read such a text.
    fn whole<R: Read>(
        &mut self,
        parts: &mut Parts<R>,
        spool: &mut Spool<'_>,
    ) -> Result<Result<(cognate_fingerprint::Content, super::Chunks), DocumentState>, Failure> {
        let mut text = Paced::new(OneLine(parts), self.pace, self.cancelled);
        let content = match self.fingerprinter.read(&mut text, |chunk| spool.push(&chunk)) {
            Ok(content) => content,
            Err(error) if spool.failed => return Err(Failure::Own(error)),
            Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Unfit>()) => {
                // What is left of it stands before the next part.
                io::copy(&mut text, &mut io::sink()).map_err(Failure::Stream)?;
                return Ok(Err(state_of(&error)));
            }
            Err(error) => return Err(Failure::Stream(error)),
        };
        Ok(Ok((content, spool.end_list().map_err(Failure::Own)?)))
    }

    /// The text of a part, a content for each passage.
    fn passages<R: Read>(
        &mut self,
        parts: &mut Parts<R>,
        spool: &mut Spool<'_>,
        passages: &mut Vec<Finding>,
    ) -> Result<(), Failure> {
        let text = Paced::new(parts, self.pace, self.cancelled);
        each_passage(text, |passage| {
            let mut pushed = Ok(());
            let content = self.fingerprinter.slice(passage, |chunk| {
                if pushed.is_ok() {
                    pushed = spool.push(&chunk);
                }
            });
            pushed.map_err(Failure::Own)?;
            passages.push(Finding::read(content, spool.end_list().map_err(Failure::Own)?));
            Ok(())
        })
    }
}

/// What the bytes of a file say before they are extracted.
struct Seen {
    digest: Option<[u8; 16]>,
    class: FileClass,
    hashes: FileHashes,
    read_bytes: u64,
    changed: bool,
}

/// What keeps a stream of parts from being taken to its end.
enum Failure {
    /// The stream.
    Stream(io::Error),
    /// The site's own records.
    Own(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Stream(error)
    }
}

/// Finds a path for everything that is inside of a document.
struct Names {
    /// What stands before each name.
    prefix: Vec<u8>,
    taken: HashSet<DocumentPath>,
}

impl Names {
    fn new(root: &crate::root::Root, path: &DocumentPath) -> Names {
        let mut prefix = [path.as_bytes(), INSIDE.as_bytes()].concat();
        let is_there = |bytes: &[u8]| DocumentPath::new(bytes).is_ok_and(|path| root.stat(&path).is_ok());
        // A folder may have the very name that stands for the inside of this document.
        if is_there(&prefix[..prefix.len() - 1]) {
            prefix.push(b'~');
            while is_there(&prefix) {
                prefix.push(b'~');
            }
            prefix.push(b'/');
        }
        Names { prefix, taken: HashSet::new() }
    }

    fn of(&mut self, name: &str) -> DocumentPath {
        let path = DocumentPath::new(&[&self.prefix, name.as_bytes()].concat());
        if let Ok(path) = path
            && self.taken.insert(path.clone())
        {
            return path;
        }
        // Too long, or there twice: known by the digest of its name from here on.
        let digest = blake3::Hasher::new().update(&self.prefix).update(name.as_bytes()).finalize().to_hex();
        (1u32..)
            .filter_map(|number| {
                let name = format!("~{}~{number}", &digest.as_str()[..16]);
                let path = [&self.prefix, name.as_bytes()].concat();
                // A document whose own path leaves no room: the digest, which covers that path, stands alone.
                let path = DocumentPath::new(&path).or_else(|_| DocumentPath::new(name.as_bytes())).ok()?;
                self.taken.insert(path.clone()).then_some(path)
            })
            .next()
            .expect("numbers do not end")
    }
}

/// The state that an outcome stands for, and whether there is text.
fn state_after(outcome: Outcome) -> (DocumentState, bool) {
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

/// Whether the same document may end otherwise the next time.
fn is_by_chance(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Unextractable(Reason::TimedOut | Reason::OutOfMemory | Reason::Crashed))
}
