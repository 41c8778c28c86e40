//! Builds the worker from its configuration, and maps its errors to exit codes.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::num::{NonZeroU64, NonZeroUsize};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cognate_fingerprint::{Key, View};
use cognate_proto::dial::DialError;
use cognate_proto::name::RepositoryName;
use cognate_view::{Recogniser, Recognition};
use cognate_worker::SiteError;
use cognate_worker::enrolment::{EnrolmentError, Identity};
use cognate_worker::policy::Policy;
use tonic::Code;

use crate::args::threads;
use crate::config::{self, OcrEntry, PolicyEntry, WorkerFile};
use crate::exit::{Exit, coded, usage};
use crate::extraction;
use crate::worker::ConfigArgs;

/// A configuration, checked.
pub(super) struct Setup {
    pub(super) state_dir: PathBuf,
    pub(super) repositories: Vec<(RepositoryName, PathBuf)>,
    pub(super) schedule: Vec<(RepositoryName, Duration)>,
    pub(super) key_file: Option<PathBuf>,
    pub(super) sentinels: HashMap<RepositoryName, PathBuf>,
    /// The site's own files, which are never documents.
    pub(super) own_files: Vec<PathBuf>,
    pub(super) threads: NonZeroUsize,
    pub(super) file_wait_max: Duration,
    pub(super) drain: Duration,
    pub(super) texts_bytes_max: u64,
    pub(super) policy: Policy,
    /// The recognition of text, if it is configured.
    pub(super) recognition: Option<Recognition>,
}

impl Setup {
    /// The program that recognises text, if it is configured. Without the program the site does not start: it would send
    /// indexes without the text of the pages that it promises.
    pub(super) fn recogniser(&self) -> anyhow::Result<Option<Arc<Recogniser>>> {
        let found = self.recognition.clone().map(extraction::recogniser).transpose();
        found.map_err(|problem| usage(format!("policy.ocr: {problem}")))
    }

    /// The name of this site in its federation; nothing if it has not joined one.
    pub(super) fn site(&self) -> anyhow::Result<Option<String>> {
        match Identity::open(&self.state_dir) {
            Ok(identity) => identity.site().map(Some).ok_or_else(|| {
                let state = self.state_dir.display();
                coded(
                    Exit::InputOutput,
                    format!("the certificate in `{state}` names no site: `cognate worker enrol` again"),
                )
            }),
            Err(EnrolmentError::NotEnrolled) => Ok(None),
            Err(error) => Err(enrolment_error(error)),
        }
    }

    /// The reason for which no scan could have anything from this site, if that follows from its configuration alone.
    pub(super) fn is_of_no_use(&self) -> Option<&'static str> {
        let is_open = self.key_file.is_some() || self.policy.one_party || self.policy.unkeyed_across_parties;
        (!is_open).then_some(
            "no scan will have anything from this site: its configuration names no key (`key`), and does not say that all \
             sites of the federation belong to one party (`one_party = true`)",
        )
    }
}

/// Prints the values in force.
pub(super) fn print(args: &ConfigArgs) -> anyhow::Result<Exit> {
    let shown = config::load::<WorkerFile>(&args.config)?.print()?;
    std::io::stdout().write_all(shown.as_bytes())?;
    Ok(Exit::Complete)
}

/// Reads and checks the configuration.
pub(super) fn load(args: &ConfigArgs) -> anyhow::Result<Setup> {
    let file = config::load::<WorkerFile>(&args.config)?.values;
    let wrong = |key: &str, problem: String| usage(format!("`{}`, key `{key}`: {problem}", args.config.display()));
    if file.repository.is_empty() {
        return Err(wrong("repository", "there is none: name at least one folder as [[repository]]".to_owned()));
    }
    let (mut repositories, mut schedule) = (Vec::new(), Vec::new());
    let (mut repository_views, mut sentinels) = (HashMap::new(), HashMap::new());
    for entry in &file.repository {
        let name: RepositoryName = entry.name.parse().map_err(|error| wrong("repository.name", format!("{error}")))?;
        if repositories.iter().any(|(earlier, _)| *earlier == name) {
            return Err(wrong("repository.name", format!("`{name}` is listed twice")));
        }
        if !entry.path.is_absolute() {
            let path = entry.path.display();
            return Err(wrong("repository.path", format!("`{path}` must be a path from the root: it begins with /")));
        }
        if let Some(every) = &entry.sync_every {
            let every = duration(every).map_err(|problem| wrong("repository.sync_every", problem))?;
            schedule.push((name.clone(), every));
        }
        if let Some(views) = &entry.views {
            repository_views
                .insert(name.clone(), checked_views(views).map_err(|problem| wrong("repository.views", problem))?);
        }
        if let Some(sentinel) = &entry.sentinel {
            let is_below = sentinel.components().all(|part| matches!(part, Component::Normal(_)));
            if sentinel.as_os_str().is_empty() || !is_below {
                let problem = format!("`{}` is not a path below the folder of `{name}`", sentinel.display());
                return Err(wrong("repository.sentinel", problem));
            }
            sentinels.insert(name.clone(), sentinel.clone());
        }
        repositories.push((name, entry.path.clone()));
    }
    let mut policy = policy(&file.policy).map_err(|(key, problem)| wrong(&format!("policy.{key}"), problem))?;
    policy.one_party = file.one_party;
    policy.repository_views = repository_views;
    let key_file = Some(file.key).filter(|key| !key.as_os_str().is_empty());
    Ok(Setup {
        repositories,
        sentinels,
        schedule,
        own_files: key_file.iter().chain([&file.state_dir, &args.config]).cloned().collect(),
        key_file,
        threads: threads(NonZeroUsize::new(file.threads)),
        file_wait_max: duration(&file.file_wait).map_err(|problem| wrong("file_wait", problem))?,
        drain: duration(&file.drain).map_err(|problem| wrong("drain", problem))?,
        texts_bytes_max: size(&file.texts_bytes_max).map_err(|problem| wrong("texts_bytes_max", problem))?,
        policy,
        recognition: recognition(&file.policy.ocr)
            .map_err(|(key, problem)| wrong(&format!("policy.ocr.{key}"), problem))?,
        state_dir: file.state_dir,
    })
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| format!("`{text}`: {error}"))?;
    if duration.is_zero() { Err(format!("`{text}` is zero")) } else { Ok(duration) }
}

fn size(text: &str) -> Result<u64, String> {
    let size = bytesize::ByteSize::from_str(text);
    size.map(|size| size.as_u64()).map_err(|_| format!("`{text}` is not a size: 500, 4KB, 64MiB"))
}

fn checked_views(views: &[String]) -> Result<Vec<String>, String> {
    let checked = views.iter().map(|view| view.parse::<View>().map(|view| view.to_string()));
    checked.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// The recognition of text; none without a language.
fn recognition(entry: &OcrEntry) -> Result<Option<Recognition>, (&'static str, String)> {
    let at = |key: &'static str| move |problem: String| (key, problem);
    if entry.pages_max == 0 {
        return Err(("pages_max", "0 pages are none: leave `languages` empty".to_owned()));
    }
    let recognition = Recognition {
        program: entry.program.clone(),
        data: Some(entry.data.clone()).filter(|data| !data.as_os_str().is_empty()),
        languages: entry.languages.clone(),
        pages_max: entry.pages_max,
        page_time_max: duration(&entry.page_time_max).map_err(at("page_time_max"))?,
        document_time_max: duration(&entry.document_time_max).map_err(at("document_time_max"))?,
    };
    Ok(Some(recognition).filter(|recognition| !recognition.languages.is_empty()))
}

fn policy(entry: &PolicyEntry) -> Result<Policy, (&'static str, String)> {
    let at = |key: &'static str| move |problem: String| (key, problem);
    if !(entry.share_of_time > 0.0 && entry.share_of_time <= 1.0) {
        return Err(("share_of_time", format!("`{}` is not above 0 and at most 1", entry.share_of_time)));
    }
    if !(entry.fine_share_per_day > 0.0 && entry.fine_share_per_day <= 1.0) {
        let problem =
            format!("`{}` is not above 0 and at most 1; `fine = \"never\"` gives none", entry.fine_share_per_day);
        return Err(("fine_share_per_day", problem));
    }
    let speed = Some(&entry.read_bytes_per_second).filter(|text| !text.is_empty());
    let speed = speed.map(|text| size(text)).transpose().map_err(at("read_bytes_per_second"))?;
    if speed == Some(0) {
        return Err((
            "read_bytes_per_second",
            "at 0 bytes a second nothing is ever read; `pause` does that".to_owned(),
        ));
    }
    let hours = Some(&entry.hours).filter(|text| !text.is_empty());
    Ok(Policy {
        methods: entry.methods.clone(),
        views: checked_views(&entry.views).map_err(at("views"))?,
        repository_views: HashMap::new(),
        chunk_bytes_min: size(&entry.chunk_bytes_min).map_err(at("chunk_bytes_min"))?,
        chunk_bytes_min_unkeyed_across: size(&entry.chunk_bytes_min_unkeyed_across)
            .map_err(at("chunk_bytes_min_unkeyed_across"))?,
        chunk_bytes_min_unkeyed_across_text: size(&entry.chunk_bytes_min_unkeyed_across_text)
            .map_err(at("chunk_bytes_min_unkeyed_across_text"))?,
        window_bytes_min: size(&entry.window_bytes_min).map_err(at("window_bytes_min"))?,
        window_bytes_min_unkeyed_across: size(&entry.window_bytes_min_unkeyed_across)
            .map_err(at("window_bytes_min_unkeyed_across"))?,
        signature_features_max: entry.signature_features_max,
        plain_indexes: entry.plain_indexes,
        term_vectors: entry.term_vectors,
        message_id_hashes: entry.message_id_hashes,
        pad_messages: entry.pad_messages,
        file_hashes: entry
            .file_hashes
            .iter()
            .map(|kind| kind.parse())
            .collect::<Result<_, _>>()
            .map_err(at("file_hashes"))?,
        fine: entry.fine.parse().map_err(|error| ("fine", format!("{error}")))?,
        fine_share_per_day: entry.fine_share_per_day,
        one_party: false,
        samples: true,
        unkeyed_across_parties: entry.unkeyed_across_parties,
        refine: entry.refine,
        follow_symlinks: entry.follow_symlinks,
        mass_removals: entry.mass_removals,
        times: entry.times.parse().map_err(|error| ("times", format!("{error}")))?,
        hours: hours.map(|text| text.parse()).transpose().map_err(|error| ("hours", format!("{error}")))?,
        read_bytes_per_second: speed.and_then(NonZeroU64::new),
        share_of_time: entry.share_of_time,
    })
}

impl Setup {
    /// The federation key, or none if none is configured.
    pub(super) fn key(&self) -> anyhow::Result<Key> {
        let Some(path) = &self.key_file else { return Ok(Key::none()) };
        read_key(path)
    }
}

/// Reads a key from a file that only its owner can read.
pub(super) fn read_key(path: &Path) -> anyhow::Result<Key> {
    let shown = path.display();
    let failed = |error: std::io::Error| coded(Exit::InputOutput, format!("the key file `{shown}`: {error}"));
    let file = std::fs::File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        let message = format!("the key file `{shown}` can be read by others (mode {mode:o}): `chmod 600 {shown}`");
        return Err(usage(message));
    }
    let mut bytes = zeroize::Zeroizing::new(Vec::with_capacity(128));
    file.take(128).read_to_end(&mut bytes).map_err(failed)?;
    Key::parse(&bytes).map_err(|error| usage(format!("the key file `{shown}`: {error}")))
}

/// An error of the worker, with its exit code.
pub(super) fn site_error(error: SiteError) -> anyhow::Error {
    let exit = match &error {
        SiteError::Locked { .. } => Exit::Locked,
        SiteError::OtherVersion { .. } => Exit::StateTooNew,
        SiteError::State { .. } | SiteError::Unusable { .. } | SiteError::Ledger(_) => Exit::InputOutput,
        SiteError::Violation(_) => Exit::Protocol,
        SiteError::Dial(error) => dial_exit(error),
        SiteError::Session(status) => match DialError::of(status) {
            Some(error) => dial_exit(&error),
            None => code_exit(status.code()),
        },
        SiteError::Silent { .. } => Exit::Failed,
    };
    with_causes(exit, &error)
}

/// An error of enrolling, with its exit code.
pub(super) fn enrolment_error(error: EnrolmentError) -> anyhow::Error {
    let exit = match &error {
        EnrolmentError::NotEnrolled => Exit::NotEnrolled,
        EnrolmentError::Expired(_) => Exit::Authentication,
        EnrolmentError::NotForSites(_) | EnrolmentError::OtherSite { .. } => Exit::Usage,
        EnrolmentError::Dial(error) => dial_exit(error),
        EnrolmentError::Refused(status) => match code_exit(status.code()) {
            Exit::Failed if !is_passing(status.code()) => Exit::Authentication,
            exit => exit,
        },
        EnrolmentError::Answer(_) => Exit::Protocol,
        EnrolmentError::Files(_) | EnrolmentError::State { .. } | EnrolmentError::Ledger(_) => Exit::InputOutput,
        EnrolmentError::Key(_) => Exit::Internal,
    };
    with_causes(exit, &error)
}

fn dial_exit(error: &DialError) -> Exit {
    match error {
        DialError::Refused { .. } | DialError::NotTrusted { .. } => Exit::Authentication,
        DialError::Setup(_) => Exit::Usage,
        DialError::Unreachable { .. } => Exit::Failed,
    }
}

fn code_exit(code: Code) -> Exit {
    match code {
        Code::PermissionDenied | Code::Unauthenticated => Exit::Authentication,
        Code::FailedPrecondition | Code::Unimplemented => Exit::Protocol,
        _ => Exit::Failed,
    }
}

fn is_passing(code: Code) -> bool {
    matches!(code, Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown | Code::Internal)
}

/// The error and its causes, as one line with a code.
fn with_causes(exit: Exit, error: &dyn std::error::Error) -> anyhow::Error {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !message.contains(&said) {
            message = format!("{message}: {said}");
        }
        source = cause.source();
    }
    coded(exit, message)
}

/// The clock of this process.
#[expect(clippy::disallowed_methods, reason = "this is a composition root: the clock is read here and handed down")]
pub(super) fn clock() -> SystemTime {
    SystemTime::now()
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    let now = clock().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

/// A time for people, in UTC.
pub(super) fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_else(|_| seconds.to_string())
}

/// A runtime for a daemon or a command.
pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    crate::watch_tasks(&mut builder);
    let runtime = builder.worker_threads(2).enable_all().build();
    runtime.map_err(|error| coded(Exit::InputOutput, format!("the runtime cannot be started: {error}")))
}
