//! Reads every document of a plan again, with the method of the scan and this site's key.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cognate_fingerprint::{Fingerprinter, Key, LineReader, Method, View, exact_shared_bytes};
use cognate_proto::path::{DocumentPath, INSIDE, printable};
use serde::Serialize;

use super::own::OwnPlaces;
use super::{CheckArgs, CheckFormat};
use crate::document_reader::DocumentReader;
use crate::exit::{Exit, usage};
use crate::output::check_replaced;
use crate::worker::setup::{self, Setup};
use cognate_export::human::{bytes, count};
use cognate_export::plan::file::{Going, PlanFile, Set, StayingCopy, VersionOf};
use cognate_export::plan::script::{path_of, script, staying_path};

/// Most bytes of a plan.
const PLAN_BYTES_MAX: u64 = 4 << 30;

/// Result of checking a plan.
#[derive(Serialize, Default, Debug)]
pub(super) struct Checked {
    schema: &'static str,
    site: String,
    scan: String,
    /// Documents that were read and match the plan.
    unchanged: u64,
    /// Sets with documents that still go, the number of these documents, and their bytes.
    sets: u64,
    go: u64,
    go_bytes: u64,
    /// Of the documents that go, those that are versions of one that stays.
    versions: u64,
    /// Bytes that would be lost: of each version the exact count, or the scan's figure where nothing could be counted.
    lost_bytes: u64,
    /// Versions whose loss was counted exactly, byte by byte, since both documents are at this site.
    exact: u64,
    /// Refused documents, and the reasons.
    pub(super) refused: Vec<Refused>,
}

impl Checked {
    /// Nothing was checked yet.
    pub(super) fn of(plan: &PlanFile) -> Checked {
        Checked {
            schema: "cognate.plan-check/1",
            site: plan.site.clone(),
            scan: plan.scan.clone(),
            ..Checked::default()
        }
    }

    /// Counts a set that holds.
    fn add(&mut self, holding: &Holding) {
        let set = &holding.set;
        self.sets += 1;
        self.go += set.go.len() as u64;
        self.go_bytes += set.go.len() as u64 * set.size_bytes;
        if let Some(version_of) = &set.version_of {
            self.versions += set.go.len() as u64;
            self.lost_bytes += holding.exact_lost_bytes.unwrap_or(version_of.lost_bytes);
            self.exact += u64::from(holding.exact_lost_bytes.is_some());
        }
    }
}

/// A document that is not as the plan describes it.
#[derive(Clone, Serialize, Debug)]
pub(super) struct Refused {
    set: String,
    /// `go` or `keep`, as planned.
    planned: &'static str,
    pub(super) repository: String,
    pub(super) path: String,
    pub(super) reason: String,
}

/// A set of which documents still go.
pub(super) struct Holding {
    /// The set, with the documents that still go.
    pub(super) set: Set,
    /// Each of them as it was when it was read.
    pub(super) seen: Vec<Seen>,
    /// Of a version: the bytes of it that are in no run of 32 bytes or more of the document that stays, if both are here.
    pub(super) exact_lost_bytes: Option<u64>,
}

/// A file as it was when it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// The file, whatever its names.
    identity: (u64, u64),
    size_bytes: u64,
    /// The times of its last change: of the content, and of anything. Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Seen {
    pub(super) fn of(found: &std::fs::Metadata) -> Seen {
        Seen {
            identity: (found.dev(), found.ino()),
            size_bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// True if both are the same file with the same content. Moving a file changes only the time of its last change of
    /// anything.
    pub(super) fn is_moved(&self, other: &Seen) -> bool {
        Seen { changed: other.changed, ..*self } == *other
    }
}

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let plan = read(&args.file)?;
    let mut checker = Checker::of(&setup, &plan)?;
    let mut checked = Checked::of(&plan);
    let mut holding = PlanFile { sets: Vec::new(), totals: Default::default(), ..plan.clone() };
    for set in &plan.sets {
        if let Some(one) = checker.set(set, &plan, &mut checked) {
            holding.add(one.set);
        }
    }
    if let Some(path) = &args.output {
        check_replaced(path, args.force)?;
        std::fs::write(path, holding.json()?).with_context(|| format!("`{}` cannot be written", path.display()))?;
    }
    if let Some(path) = &args.script {
        check_replaced(path, args.force)?;
        let roots: Vec<(String, &Path)> =
            setup.repositories.iter().map(|(name, path)| (name.to_string(), path.as_path())).collect();
        std::fs::write(path, script(&holding, &roots)?)
            .with_context(|| format!("`{}` cannot be written", path.display()))?;
    }
    report(&checked, args.format)?;
    Ok(if checked.refused.is_empty() { Exit::Complete } else { Exit::Incomplete })
}

/// Reads a plan, which may be from anybody.
pub(super) fn read(path: &Path) -> anyhow::Result<PlanFile> {
    let context = || format!("`{}` cannot be read", path.display());
    let file = File::open(path).with_context(context)?;
    if file.metadata().with_context(context)?.len() > PLAN_BYTES_MAX {
        return Err(anyhow!("`{}` is too large for a plan", path.display()));
    }
    let plan: PlanFile = serde_json::from_reader(io::BufReader::new(file))
        .map_err(|error| usage(format!("`{}` is not a plan: {error}", path.display())))?;
    plan.check().map_err(|problem| usage(format!("`{}` is not a plan: {problem}", path.display())))?;
    Ok(plan)
}

fn report(checked: &Checked, format: CheckFormat) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if format == CheckFormat::Json {
        serde_json::to_writer_pretty(&mut out, checked)?;
        return Ok(writeln!(out)?);
    }
    for refused in &checked.refused {
        let path = printable(refused.path.as_bytes());
        writeln!(out, "refused ({}) {}: {path}: {}", refused.planned, refused.repository, refused.reason)?;
    }
    writeln!(
        out,
        "{} documents match the plan; {} may go, {}, of {} sets; {} are refused",
        count(checked.unchanged),
        count(checked.go),
        bytes(checked.go_bytes),
        count(checked.sets),
        count(checked.refused.len() as u64)
    )?;
    if checked.versions > 0 {
        writeln!(
            out,
            "{} of them are versions of documents that stay: {} would be lost; {} of {} are counted byte by byte",
            count(checked.versions),
            bytes(checked.lost_bytes),
            count(checked.exact),
            count(checked.versions)
        )?;
    }
    Ok(())
}

/// Reads documents again and compares them with a plan.
pub(super) struct Checker {
    roots: HashMap<String, PathBuf>,
    /// The places of the worker itself.
    own: OwnPlaces,
    /// By view and parameters.
    fingerprinters: HashMap<(String, u64, String), Fingerprinter>,
    method: String,
    key: Key,
    reader: DocumentReader,
}

/// Identifies a file that matches the plan, whatever its names.
type Identity = (u64, u64);

/// The content that a document should have, and how it is read.
struct Expected<'a> {
    digest: &'a str,
    size_bytes: u64,
    view: &'a str,
    chunk_bytes: u64,
    param: &'a str,
}

/// The greatest document whose loss is counted exactly, in bytes: the count takes 16 times as much memory.
const EXACT_BYTES_MAX: u64 = 32 << 20;

impl Checker {
    pub(super) fn of(setup: &Setup, plan: &PlanFile) -> anyhow::Result<Checker> {
        let key = setup.key()?;
        if key.is_keyed() != plan.keyed {
            let (is, had) = if plan.keyed { ("no key", "had one") } else { ("a key", "had none") };
            return Err(usage(format!(
                "this site has {is}, and its documents {had} in the scan: nothing can be compared"
            )));
        }
        check_site(setup, plan)?;
        let mut checker = Checker {
            roots: setup.repositories.iter().map(|(name, path)| (name.to_string(), path.clone())).collect(),
            own: OwnPlaces::of(setup),
            fingerprinters: HashMap::new(),
            method: plan.method.name.clone(),
            key,
            reader: DocumentReader::new(),
        };
        let of_versions =
            plan.sets.iter().filter_map(|set| set.version_of.as_ref()).map(|of| {
                (of.view.as_str(), of.chunk_bytes.unwrap_or_default(), of.param.as_deref().unwrap_or_default())
            });
        let of_copies = (
            plan.method.view.as_str(),
            plan.method.chunk_bytes.unwrap_or_default(),
            plan.method.param.as_deref().unwrap_or_default(),
        );
        for (view, chunk_bytes, param) in of_versions.chain([of_copies]) {
            let name = (view.to_owned(), chunk_bytes, param.to_owned());
            if !checker.fingerprinters.contains_key(&name) {
                let view: View = view.parse().map_err(|error| usage(format!("the plan: {error}")))?;
                let method = Method::restore(&checker.method, view, chunk_bytes, param)
                    .map_err(|error| usage(format!("the plan's method: {error}")))?;
                checker.fingerprinters.insert(name, method.fingerprinter(&checker.key));
            }
        }
        Ok(checker)
    }

    /// The folder of a repository.
    pub(super) fn root(&self, repository: &str) -> Option<&Path> {
        self.roots.get(repository).map(PathBuf::as_path)
    }

    /// The documents of a set that still go: none if a copy that should stay has changed and no other one stays.
    pub(super) fn set(&mut self, set: &Set, plan: &PlanFile, checked: &mut Checked) -> Option<Holding> {
        let going_as = expected(set, plan, false);
        let staying_as = expected(set, plan, true);
        let refuse = |planned, repository: &str, path: &str, reason: String| Refused {
            set: set.digest.clone(),
            planned,
            repository: repository.to_owned(),
            path: path.to_owned(),
            reason,
        };
        let mut identities: Vec<Identity> = Vec::new();
        let (mut kept, mut lost) = (Vec::new(), 0);
        for copy in &set.kept {
            if copy.site != plan.site {
                kept.push(copy.clone());
                continue;
            }
            if copy.path.contains(INSIDE) {
                let reason = "it is inside of another document, where a plan does not look".to_owned();
                checked.refused.push(refuse("keep", &copy.repository, &copy.path, reason));
                continue;
            }
            match self.look(&copy.repository, &staying_path(copy), &staying_as).map(|seen| seen.identity) {
                Ok(identity) if identities.contains(&identity) => {
                    let reason = "it is another name of a copy that stays as well".to_owned();
                    checked.refused.push(refuse("keep", &copy.repository, &copy.path, reason));
                    lost += 1;
                }
                Ok(identity) => {
                    identities.push(identity);
                    checked.unchanged += 1;
                    kept.push(copy.clone());
                }
                Err(reason) => {
                    checked.refused.push(refuse("keep", &copy.repository, &copy.path, reason));
                    lost += 1;
                }
            }
        }
        let (mut go, mut seen) = (Vec::new(), Vec::new());
        for going in &set.go {
            let found = if lost > 0 {
                Err("a copy that should stay has changed".to_owned())
            } else {
                self.look(&going.repository, &path_of(going), &going_as)
            };
            match found {
                Ok(found) if identities.contains(&found.identity) => {
                    let reason = "it is another name of a file that stays, or that goes already".to_owned();
                    checked.refused.push(refuse("go", &going.repository, &going.path, reason));
                }
                Ok(found) => {
                    identities.push(found.identity);
                    checked.unchanged += 1;
                    go.push(going.clone());
                    seen.push(found);
                }
                Err(reason) => checked.refused.push(refuse("go", &going.repository, &going.path, reason)),
            }
        }
        if go.is_empty() || kept.is_empty() {
            return None;
        }
        let mut exact_lost_bytes = None;
        if let Some(version_of) = &set.version_of {
            let here = kept.iter().find(|copy| copy.site == plan.site);
            let most = plan.lose_bytes_max.unwrap_or(0);
            let counted = match here {
                Some(copy) => self.lost(&go[0], copy, version_of),
                None => Ok(None),
            };
            let reason = match &counted {
                Ok(Some(lost)) if *lost > most => {
                    format!("counted byte by byte, {lost} bytes of it would be lost; the plan allows {most}")
                }
                Ok(None) if version_of.lost_bytes > most => format!(
                    "{} bytes of it would be lost by the figures of the scan; the plan allows {most}, and nothing can be counted here",
                    version_of.lost_bytes
                ),
                Ok(_) => String::new(),
                Err(error) => format!("what would be lost cannot be counted: {error:#}"),
            };
            if !reason.is_empty() {
                let all = go.iter().map(|going| refuse("go", &going.repository, &going.path, reason.clone()));
                checked.refused.extend(all);
                return None;
            }
            exact_lost_bytes = counted.unwrap_or_default();
        }
        let set = Set { kept, go, ..set.clone() };
        let holding = Holding { set, seen, exact_lost_bytes };
        checked.add(&holding);
        Some(holding)
    }

    /// The bytes of a version that are in no run of the document that stays, counted in the documents themselves; nothing if one
    /// of them is too large.
    fn lost(&mut self, going: &Going, copy: &StayingCopy, version_of: &VersionOf) -> anyhow::Result<Option<u64>> {
        let view: View = version_of.view.parse()?;
        let mut read = |repository: &str, path: &[u8]| -> anyhow::Result<Option<Vec<u8>>> {
            let root = self.roots.get(repository).ok_or_else(|| anyhow!("this site has no such repository"))?;
            let file = root.join(OsStr::from_bytes(path));
            if std::fs::symlink_metadata(&file)?.len() > EXACT_BYTES_MAX {
                return Ok(None);
            }
            self.reader.view(&file, None, view).map(Some)
        };
        let going = read(&going.repository, &path_of(going))?;
        let staying = read(&copy.repository, &staying_path(copy))?;
        Ok(going.zip(staying).map(|(going, staying)| {
            let [shared, _] = exact_shared_bytes(&going, &staying);
            going.len() as u64 - shared
        }))
    }

    /// Reads a document again.
    fn look(&mut self, repository: &str, path: &[u8], expected: &Expected<'_>) -> Result<Seen, String> {
        let root = self.roots.get(repository).ok_or("this site has no such repository")?;
        // A plan is untrusted: none of its paths may lead out of the repository.
        let path = DocumentPath::new(path).map_err(|error| error.to_string())?;
        let full = root.join(OsStr::from_bytes(path.as_bytes()));
        let within = || -> io::Result<bool> { Ok(full.canonicalize()?.starts_with(root.canonicalize()?)) };
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "it is not there any more".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        let found = std::fs::symlink_metadata(&full).map_err(gone)?;
        if !found.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        if self.own.has(&full) {
            return Err("it belongs to the worker itself".to_owned());
        }
        if !within().map_err(gone)? {
            return Err("it is reached through a link out of the repository".to_owned());
        }
        let name = (expected.view.to_owned(), expected.chunk_bytes, expected.param.to_owned());
        let fingerprinter = self.fingerprinters.get_mut(&name).ok_or("the plan names no method for it")?;
        let other_size = |size_bytes: u64| Err(format!("it has {size_bytes} bytes instead of {}", expected.size_bytes));
        let digest = if expected.view == "raw" {
            // Of a document whose lines end with CR LF, the plan has the size with LF.
            if !(expected.size_bytes..=expected.size_bytes.saturating_mul(2)).contains(&found.len()) {
                return other_size(found.len());
            }
            let mut lines = LineReader::new(File::open(&full).map_err(gone)?).map_err(gone)?;
            let read = fingerprinter.read(&mut lines, |_| Ok(())).map_err(gone)?;
            if read.size_bytes != expected.size_bytes {
                return other_size(read.size_bytes);
            }
            lines.finish(read).0.digest
        } else {
            let view: View = expected.view.parse().map_err(|_| "the plan names no view".to_owned())?;
            let text = self.reader.view(&full, None, view).map_err(|error| format!("{error:#}"))?;
            if text.len() as u64 != expected.size_bytes {
                return other_size(text.len() as u64);
            }
            fingerprinter.slice(&text, |_| ()).digest
        };
        let digest: String = digest.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let seen = Seen::of(&found);
        let after = std::fs::symlink_metadata(&full).map_err(gone)?;
        if digest != expected.digest || Seen::of(&after) != seen {
            return Err("its content has changed".to_owned());
        }
        Ok(seen)
    }
}

/// Fails if a plan is for another site. A worker that has joined no federation has no name to compare with.
fn check_site(setup: &Setup, plan: &PlanFile) -> anyhow::Result<()> {
    match setup.site()? {
        Some(own) if own != plan.site => Err(usage(format!(
            "the plan is for the site `{}`, and this is `{own}`: its documents stay elsewhere, and nothing here is checked against it",
            plan.site
        ))),
        Some(_) => Ok(()),
        None => {
            tell!(
                "cognate: this worker has joined no federation: that this is the site `{}` of the plan is up to you",
                plan.site
            );
            Ok(())
        }
    }
}

/// The content that the documents of a set should have: those that go, or those that stay.
fn expected<'a>(set: &'a Set, plan: &'a PlanFile, stays: bool) -> Expected<'a> {
    let method = &plan.method;
    match &set.version_of {
        None => Expected {
            digest: &set.digest,
            size_bytes: set.size_bytes,
            view: &method.view,
            chunk_bytes: method.chunk_bytes.unwrap_or_default(),
            param: method.param.as_deref().unwrap_or_default(),
        },
        Some(of) => Expected {
            digest: if stays { &of.digest } else { &set.digest },
            size_bytes: if stays { of.size_bytes } else { set.size_bytes },
            view: &of.view,
            chunk_bytes: of.chunk_bytes.unwrap_or_default(),
            param: of.param.as_deref().unwrap_or_default(),
        },
    }
}
