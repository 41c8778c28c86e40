//! Saving the state, also while a coordinator is at work, and bringing it back.
//!
//! A backup has only the records: journal, segments, results, and the coordinator's identity. The store and the runs
//! are rebuilt. Records only grow, so each is copied up to its last complete one: first the journal, then the segments,
//! then the results, so that what the journal speaks of is there. A state that is restored is an older one, and sites
//! send again what it lacks.
//!
//! A backup may lie where others can write. So its manifest has a code under the key of the certificate authority, which is kept
//! apart from backups; its files have names of a closed list; and no link in it is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cognate_durable::private::{PrivateFileError, read_private};
use cognate_durable::whole::{sync_folder, sync_folder_of};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::rebuild::{Rebuilt, rebuild, stamp};
use crate::clock::random_number;
use crate::error::Error;
use crate::journal::{self, Event, Journal, MemberName, What};
use crate::segment::{Next, RECORD_BYTES_MAX, SegmentReader};

const FORMAT: &str = "cognate.backup/1";
const MANIFEST: &str = "manifest.json";
/// The keyed BLAKE3 of the manifest, in hexadecimal digits.
const CODE: &str = "manifest.mac";
/// The longest manifest, in bytes: some millions of files.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;
/// The key of the certificate authority. The code of a manifest is made with a key that is derived from it.
const KEY: &str = "ca.key";
/// The folder of the answers to stored queries.
const CASES: &str = "cases";
/// What else belongs to the identity of the coordinator.
const CERTIFICATE: &str = "ca.crt";
/// The folder of the parts of the journal that a checkpoint has replaced.
const PAST: &str = "journal.past";
/// Name of the journal until it is complete: without one, what an interruption left is no state.
const RESTORING: &str = "journal.restoring";
/// Secrets that sign certificates: their holder is the coordinator.
const SECRETS: [&str; 2] = [KEY, "operator.toml"];
/// What may be in the folder before a state is restored into it: the lock of a coordinator that was there, and the key of the
/// authority, which is kept apart from backups.
const TOLERATED: [&str; 2] = ["lock", KEY];

/// Options of a backup.
#[derive(Clone, Copy, Debug)]
pub struct BackupOptions {
    /// The key of the certificate authority and the first administrator's credential too.
    pub include_ca: bool,
    /// When it is made. Two backups of one state that say the same time are copies of each other, see [`code_of`].
    pub made: SystemTime,
}

/// Contents of a backup.
#[derive(Clone, Default, Debug)]
pub struct Saved {
    /// Files, without the manifest.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
    /// Files that could not be saved completely, with the reason.
    pub damaged: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: String,
    made: String,
    software: String,
    includes_ca: bool,
    files: BTreeMap<String, Entry>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    bytes: u64,
    blake3: String,
}

/// Saves the state to a folder that is not there yet.
///
/// # Errors
/// Fails if the folder exists, something cannot be read or written, or the journal is damaged.
pub fn backup(state_dir: &Path, to: &Path, options: &BackupOptions) -> Result<Saved, Error> {
    if to.symlink_metadata().is_ok() {
        return Err(Error::Invalid(format!("`{}` is there already: name a folder that is not", to.display())));
    }
    let name = to.file_name().ok_or_else(|| Error::Invalid(format!("`{}` is no name", to.display())))?;
    let partial = to.with_file_name(format!(".{}.{:016x}.partial", name.to_string_lossy(), random_number()));
    let mut backup = Backup { state_dir, to: &partial, files: BTreeMap::new(), damaged: Vec::new() };
    let saved = backup.save(options).and_then(|saved| {
        std::fs::rename(&partial, to).map_err(Error::state(to))?;
        sync_folder_of(to).map_err(Error::state(to))?;
        Ok(saved)
    });
    if saved.is_err() {
        // The error matters more; the remaining folder has a name that shows that it is no backup.
        let _ = std::fs::remove_dir_all(&partial);
    }
    saved
}

/// A state that was brought back.
#[derive(Clone, Debug)]
pub struct Restored {
    /// Counts of its rows.
    pub rebuilt: Rebuilt,
    /// Names of members that were revoked.
    pub revoked: Vec<String>,
    /// Names to revoke that the backup does not know.
    pub unknown: Vec<String>,
}

/// Options of a restoration.
#[derive(Clone, Copy, Debug)]
pub struct RestoreOptions<'a> {
    /// Names of members to revoke.
    pub revoked: &'a [String],
    /// The key of the certificate authority; none: `ca.key` in the folder that is restored into.
    pub key: Option<&'a Path>,
    /// The clock for the journal.
    pub clock: fn() -> SystemTime,
}

/// Brings a saved state back into a folder that has nothing but the key of the authority and perhaps a lock, and makes the store from
/// it. The backup does not know what was revoked since: members of these names are, before there is a state that could be served.
/// Open invitations are void.
///
/// # Errors
/// Fails if the backup is incomplete or was changed, its key is not there, or the folder has other files; nothing is written then.
pub fn restore(from: &Path, state_dir: &Path, options: &RestoreOptions<'_>) -> Result<Restored, Error> {
    let RestoreOptions { revoked, clock, .. } = *options;
    let own = state_dir.join(KEY);
    let key = options.key.unwrap_or(&own);
    if !key.try_exists().map_err(Error::state(key))? && from.join(KEY).is_file() {
        // The key of a forged backup would prove the forgery.
        return Err(Error::Invalid(format!(
            "`{}` is missing, and whoever can write to the backup may have put another key there: put your own copy of the key in its \
             place, or, if nobody else could write to the backup, `{}`, with mode 600",
            key.display(),
            from.join(KEY).display()
        )));
    }
    let mut manifest = verify(from, key)?;
    if let Some(entry) = manifest.files.get(KEY)
        && own.try_exists().map_err(Error::state(&own))?
        && pour(File::open(&own).map_err(Error::state(&own))?, &mut io::sink()).map_err(Error::state(&own))? == *entry
    {
        manifest.files.remove(KEY);
    }
    match std::fs::read_dir(state_dir) {
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(Error::state(state_dir))?.file_name();
                let may_stay = TOLERATED.iter().any(|known| name == *known);
                if !may_stay || manifest.files.contains_key(&*name.to_string_lossy()) {
                    return Err(Error::Invalid(format!(
                        "`{}` is not empty, it has `{}`: move its files away, or name another `state_dir`; only {} may be there",
                        state_dir.display(),
                        cognate_proto::name::one_line(&name.to_string_lossy()),
                        TOLERATED.join(" and "),
                    )));
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_folder(state_dir)?,
        Err(error) => return Err(Error::state(state_dir)(error)),
    }
    // The journal is the last: without it, what was left by an interruption is no state.
    let (journal, others): (Vec<_>, Vec<_>) = manifest.files.iter().partition(|(path, _)| *path == "journal");
    for (path, entry) in others.into_iter().chain(journal) {
        let target = if path == "journal" { state_dir.join(RESTORING) } else { state_dir.join(path) };
        target.parent().map_or(Ok(()), make_folder)?;
        let copied = copy(open_in(from, path)?, &target, entry.bytes)?;
        if copied != *entry {
            return Err(changed(&from.join(path)));
        }
    }
    let (restoring, journal) = (state_dir.join(RESTORING), state_dir.join("journal"));
    let (revoked, unknown) = amend(&restoring, revoked, clock)?;
    std::fs::rename(&restoring, &journal).map_err(Error::state(&journal))?;
    sync_folder(state_dir).map_err(Error::state(state_dir))?;
    Ok(Restored { rebuilt: rebuild(state_dir, clock)?, revoked, unknown })
}

/// The code of a backup, if it was made with the key of this state's authority. Its files are not read: `restore` does that.
pub fn code_of(backup: &Path, state_dir: &Path) -> Option<String> {
    let found = blake3::Hash::from_hex(read_in(backup, CODE).ok()?).ok()?;
    let made = code(&state_dir.join(KEY), &read_in(backup, MANIFEST).ok()?).ok()?;
    (found == made).then(|| found.to_string())
}

/// Adds to a journal what the backup cannot know. Returns the names that were revoked, and those that it has no member of.
fn amend(path: &Path, revoked: &[String], clock: fn() -> SystemTime) -> Result<(Vec<String>, Vec<String>), Error> {
    journal::seal(path)?;
    let mut members = BTreeSet::new();
    let mut journal = Journal::open(path, true, |event, _| {
        match event.what {
            Some(What::Invited(invited)) => {
                members.insert((invited.membership.kind, invited.membership.name));
            }
            Some(What::Certified(certified)) => {
                members.insert((certified.name.kind, certified.name.name));
            }
            Some(What::MemberState(member)) => {
                members.insert((member.name.kind, member.name.name));
            }
            Some(What::Admitted(membership)) => {
                members.insert((membership.kind, membership.name));
            }
            Some(What::Forgotten(name)) => {
                members.remove(&(name.kind, name.name));
            }
            _ => {}
        }
        Ok(())
    })?;
    let time = jiff::Timestamp::try_from(clock()).unwrap_or(jiff::Timestamp::UNIX_EPOCH).as_second();
    let mut record = |what| journal.append(&Event { time, by: String::new(), what: Some(what) });
    record(What::Restored(journal::Restored {}))?;
    for (kind, name) in members.iter().filter(|(_, name)| revoked.contains(name)) {
        record(What::Revoked(MemberName { kind: *kind, name: name.clone() }))?;
    }
    let is_known = |name: &&String| members.iter().any(|(_, known)| known == *name);
    Ok(revoked.iter().cloned().partition(|name| is_known(&name)))
}

struct Backup<'a> {
    state_dir: &'a Path,
    to: &'a Path,
    files: BTreeMap<String, Entry>,
    damaged: Vec<String>,
}

impl Backup<'_> {
    fn save(&mut self, options: &BackupOptions) -> Result<Saved, Error> {
        make_folder(self.to)?;
        self.journal()?;
        self.segments()?;
        self.results()?;
        self.cases()?;
        for name in [CERTIFICATE].iter().chain(SECRETS.iter().filter(|_| options.include_ca)) {
            self.take_whole(name)?;
        }
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            made: stamp(options.made),
            software: env!("CARGO_PKG_VERSION").to_owned(),
            includes_ca: options.include_ca,
            files: self.files.clone(),
        };
        let text = serde_json::to_string_pretty(&manifest).expect("a manifest is plain text and numbers");
        let code = code(&self.state_dir.join(KEY), text.as_bytes())?.to_hex();
        for (name, text) in [(MANIFEST, text.as_bytes()), (CODE, code.as_bytes())] {
            let path = self.to.join(name);
            let written = create(&path).and_then(|mut file| {
                file.write_all(text)?;
                file.sync_all()
            });
            written.map_err(Error::state(&path))?;
        }
        for folder in ["indexes", "scans", CASES, PAST, "."] {
            let folder = self.to.join(folder);
            if folder.is_dir() {
                sync_folder(&folder).map_err(Error::state(&folder))?;
            }
        }
        let bytes = self.files.values().map(|entry| entry.bytes).sum();
        Ok(Saved { files: self.files.len(), bytes, damaged: std::mem::take(&mut self.damaged) })
    }

    /// Takes the journal and the parts that are kept of it. It may be compacted meanwhile: repeated until the copy is what was
    /// read.
    fn journal(&mut self) -> Result<(), Error> {
        let journal = self.state_dir.join("journal");
        loop {
            let read = journal::read(&journal, |_, _| Ok(()))?;
            self.take("journal", read.file_bytes())?;
            let copied = self.to.join("journal");
            if journal::ends_at(&copied, read.at())? {
                break;
            }
            std::fs::remove_file(&copied).map_err(Error::state(&copied))?;
        }
        for kept in journal::kept_parts(&journal)? {
            let length = std::fs::metadata(&kept.path).map_err(Error::state(&kept.path))?.len();
            let name = kept.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.take(&format!("{PAST}/{name}"), length)?;
        }
        Ok(())
    }

    /// Meanwhile, a segment may be compacted under another name, and the old one removed: repeated until no file is
    /// new.
    fn segments(&mut self) -> Result<(), Error> {
        let mut taken = std::collections::BTreeSet::new();
        loop {
            let mut new = 0;
            for path in entries(&self.state_dir.join("indexes"))? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if !is_of_a_backup(&format!("indexes/{name}")) || !taken.insert(path.clone()) {
                    continue;
                }
                new += 1;
                self.segment(&path)?;
            }
            if new == 0 {
                return Ok(());
            }
        }
    }

    fn segment(&mut self, path: &Path) -> Result<(), Error> {
        let end = match whole_bytes(path) {
            Ok((end, length)) => {
                if length - end.min(length) > RECORD_BYTES_MAX {
                    self.damaged
                        .push(format!("`{}`: a record does not match its checksum at byte {end}", path.display()));
                }
                end
            }
            Err(Error::Corrupt { path, detail }) => {
                if path.try_exists().map_err(Error::state(&path))? {
                    self.damaged.push(format!("`{}`: {detail}", path.display()));
                }
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let name = format!("indexes/{}", path.file_name().unwrap_or_default().to_string_lossy());
        match self.take(&name, end) {
            // It was replaced in this moment: what replaced it is in the next list.
            Err(Error::State { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(()),
            taken => taken,
        }
    }

    fn results(&mut self) -> Result<(), Error> {
        for folder in entries(&self.state_dir.join("scans"))? {
            let scan = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.take_whole(&format!("scans/{scan}/result.sqlite"))?;
        }
        Ok(())
    }

    fn cases(&mut self) -> Result<(), Error> {
        for folder in entries(&self.state_dir.join(CASES))? {
            for path in entries(&folder)? {
                let names = [&folder, &path].map(|path| path.file_name().unwrap_or_default().to_string_lossy());
                self.take_whole(&format!("{CASES}/{}", names.join("/")))?;
            }
        }
        Ok(())
    }

    /// Takes a file, if it is there and is one that a backup has.
    fn take_whole(&mut self, name: &str) -> Result<(), Error> {
        let path = self.state_dir.join(name);
        let length = match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() && is_of_a_backup(name) => metadata.len(),
            Ok(_) => return Ok(()),
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(Error::state(&path)(error)),
        };
        match self.take(name, length) {
            Err(Error::State { source, .. }) if is_absent(&source) => Ok(()),
            taken => taken,
        }
    }

    /// Takes the first bytes of a file.
    fn take(&mut self, name: &str, bytes: u64) -> Result<(), Error> {
        let target = self.to.join(name);
        target.parent().map_or(Ok(()), make_folder)?;
        let from = self.state_dir.join(name);
        let entry = copy(File::open(&from).map_err(Error::state(&from))?, &target, bytes)?;
        self.files.insert(name.to_owned(), entry);
        Ok(())
    }
}

/// End of the last complete record of a segment, and the length of the file before the search.
fn whole_bytes(path: &Path) -> Result<(u64, u64), Error> {
    let length = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::Corrupt { path: path.to_owned(), detail: "it is gone".to_owned() });
        }
        metadata => metadata.map_err(Error::state(path))?.len(),
    };
    let mut reader = SegmentReader::open(path)?;
    while let Next::Record(_) = reader.next()? {}
    Ok((reader.at(), length))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// True for the names of files that a backup may have.
fn is_of_a_backup(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |part: &&str| !matches!(*part, "" | "." | "..") && !part.contains(['\\', '\0']);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let ends = |part: &str, end: &str| part.strip_suffix(end).is_some_and(is_number);
    parts.iter().all(is_plain)
        && match parts[..] {
            [name] => name == "journal" || name == CERTIFICATE || SECRETS.contains(&name),
            [PAST, _] => true,
            ["indexes", segment] => ends(segment, ".seg"),
            ["scans", scan, "result.sqlite"] => is_number(scan),
            [CASES, _, answer] => ends(answer, ".json"),
            _ => false,
        }
}

/// The code of a manifest under the key of an authority.
fn code(key: &Path, manifest: &[u8]) -> Result<blake3::Hash, Error> {
    let secret = match read_private(key) {
        Err(PrivateFileError::File { source, .. }) if is_absent(&source) => {
            return Err(Error::Invalid(format!(
                "`{}` is missing: put the key of the federation's authority there first; it shows that a backup was not changed",
                key.display()
            )));
        }
        read => read.map_err(|error| Error::Invalid(error.to_string()))?,
    };
    let derived = Zeroizing::new(blake3::derive_key("cognate backup v1", secret.as_bytes()));
    Ok(blake3::keyed_hash(&derived, manifest))
}

/// Opens a file of a backup. No link is followed.
fn open_in(from: &Path, name: &str) -> Result<File, Error> {
    let open = || -> rustix::io::Result<File> {
        let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut opened = rustix::fs::open(from, folder, Mode::empty())?;
        let mut parts = name.split('/').peekable();
        while let Some(part) = parts.next() {
            let flags = if parts.peek().is_some() { folder | OFlags::NOFOLLOW } else { file };
            opened = rustix::fs::openat(&opened, part, flags, Mode::empty())?;
        }
        Ok(File::from(opened))
    };
    let path = from.join(name);
    let file = open().map_err(|errno| match errno {
        Errno::LOOP | Errno::NOTDIR => {
            Error::Corrupt { path: path.clone(), detail: "a link is in its place or above it".to_owned() }
        }
        Errno::NOENT => Error::Corrupt { path: path.clone(), detail: "it is gone".to_owned() },
        other => Error::state(&path)(other.into()),
    })?;
    match file.metadata().map_err(Error::state(&path))?.is_file() {
        true => Ok(file),
        false => Err(Error::Corrupt { path, detail: "it is not a file".to_owned() }),
    }
}

/// Reads a short file of a backup.
fn read_in(from: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = open_in(from, name)?.take(MANIFEST_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(Error::state(from.join(name)))?;
    Ok(bytes)
}

/// Holds the manifest of a backup against its code, and every file of it against the manifest.
fn verify(from: &Path, key: &Path) -> Result<Manifest, Error> {
    let path = from.join(MANIFEST);
    if path.symlink_metadata().is_err_and(|error| is_absent(&error)) {
        return Err(Error::Invalid(format!("`{}` is no backup: it has no {MANIFEST}", from.display())));
    }
    if from.join(CODE).symlink_metadata().is_err_and(|error| is_absent(&error)) {
        let detail = format!("`{CODE}` is missing beside it: an earlier version made it, or somebody took that away");
        return Err(Error::Corrupt { path, detail });
    }
    let text = read_in(from, MANIFEST)?;
    let found = blake3::Hash::from_hex(&read_in(from, CODE)?);
    // The comparison takes the same time wherever the two differ.
    if found.ok() != Some(code(key, &text)?) {
        let key = key.display();
        let detail = format!("it is not what was saved: it was changed, or is of another federation than `{key}`");
        return Err(Error::Corrupt { path, detail });
    }
    let manifest: Manifest = serde_json::from_slice(&text)
        .map_err(|error| Error::Corrupt { path: path.clone(), detail: error.to_string() })?;
    if manifest.format != FORMAT {
        let format = cognate_proto::name::one_line(&manifest.format);
        return Err(Error::Invalid(format!(
            "`{}` is of format `{format}`, this version reads `{FORMAT}`",
            path.display()
        )));
    }
    for (name, entry) in &manifest.files {
        if !is_of_a_backup(name) {
            let name = cognate_proto::name::one_line(name);
            return Err(Error::Corrupt { path, detail: format!("it names `{name}`, which no backup has") });
        }
        let path = from.join(name);
        if pour(open_in(from, name)?, &mut io::sink()).map_err(Error::state(&path))? != *entry {
            return Err(changed(&path));
        }
    }
    Ok(manifest)
}

fn changed(path: &Path) -> Error {
    Error::Corrupt { path: path.to_owned(), detail: "it is not what the manifest says".to_owned() }
}

fn copy(source: File, to: &Path, bytes: u64) -> Result<Entry, Error> {
    let copied = create(to).and_then(|mut target| {
        let entry = pour(source.take(bytes), &mut target)?;
        target.sync_all()?;
        Ok(entry)
    });
    copied.map_err(Error::state(to))
}

fn pour(mut from: impl io::Read, to: &mut impl io::Write) -> io::Result<Entry> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Ok(Entry { bytes, blake3: hasher.finalize().to_hex().to_string() });
        }
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        bytes += read as u64;
    }
}

fn create(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::state(path))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::state(folder)(error)),
        Ok(entries) => entries.map(|entry| Ok(entry.map_err(Error::state(folder))?.path())).collect(),
    }
}
