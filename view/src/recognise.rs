//! Recognition of text in pictures of pages, by the program `tesseract` where a site has it.
//!
//! The program is run once for each picture, which it gets through a socket; it answers with the text. It is not trusted: it
//! is confined as far as a program of its own can be (see [`sandbox`](crate::sandbox)), killed at its limits, and its answer
//! is taken as the bytes of a stranger. A failure is the outcome of the document.

mod layout;
mod program;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::outcome::Reason;
use crate::sandbox::ProgramConfinement;
use program::{Failure, Run};

pub use program::{RECOGNISER_ARGUMENT, recogniser_main};

/// Bytes of text that are remembered, so that one picture is not recognised twice by one process.
const REMEMBERED_BYTES_MAX: usize = 32 << 20;
/// Letters and digits below which a picture has no text: what is seen in a photograph or in dust is shorter.
const LETTERS_MIN: usize = 32;
/// Time in which the program must name its version.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// Memory of the program: a page of A3 at 600 dots per inch takes 330 MB.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// Settings of the recognition of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recognition {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// The folder of its languages; `None`: where the program itself looks.
    pub data: Option<PathBuf>,
    /// The languages of the documents, as the program names them: `eng`, `deu`.
    pub languages: Vec<String>,
    /// Pictures of pages that are recognised in one document; one with more is left alone.
    pub pages_max: u32,
    /// Time for one picture.
    pub page_time_max: Duration,
    /// Time for all pictures of one document.
    pub document_time_max: Duration,
}

impl Recognition {
    /// Languages, and the limits that apply where nothing else is configured.
    pub fn of_languages(languages: Vec<String>) -> Recognition {
        Recognition {
            program: "tesseract".into(),
            data: None,
            languages,
            pages_max: 200,
            page_time_max: Duration::from_secs(60),
            document_time_max: Duration::from_secs(30 * 60),
        }
    }
}

/// The reason why no text can be recognised.
#[derive(Debug)]
pub enum RecognitionError {
    /// There is no such program.
    NoProgram(PathBuf),
    /// It does not answer as `tesseract` does.
    NoAnswer(PathBuf, String),
    /// It does not have a language.
    NoLanguage(String, Vec<String>),
    /// Something that is no name of a language.
    BadLanguage(String),
}

impl std::fmt::Display for RecognitionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RecognitionError::NoProgram(program) => {
                write!(f, "the program `{}` that recognises text is not installed", program.display())
            }
            RecognitionError::NoAnswer(program, why) => {
                write!(f, "`{}` does not answer as `tesseract` does: {why}", program.display())
            }
            RecognitionError::NoLanguage(language, known) => {
                write!(f, "the program that recognises text has no language `{language}`, but {}", known.join(", "))
            }
            RecognitionError::BadLanguage(language) => write!(f, "`{language}` is not the name of a language"),
        }
    }
}

impl std::error::Error for RecognitionError {}

/// A program that recognises text, as it was found.
#[derive(Debug)]
pub struct Recogniser {
    /// The program that confines itself and becomes the other.
    launcher: PathBuf,
    program: PathBuf,
    settings: Recognition,
    version: String,
    /// How the program finds text on a page: with the direction of the text, where it has the data for that.
    segmentation: &'static str,
    remembered: Mutex<Remembered>,
}

/// Texts by digests of pictures.
#[derive(Debug, Default)]
struct Remembered {
    hashers: [RandomState; 2],
    texts: HashMap<[u64; 2], Arc<str>>,
    bytes: usize,
}

impl Recogniser {
    /// Finds the program, and asks for its version and its languages. `launcher` must call [`recogniser_main`] before
    /// anything else; the worker passes its own program.
    ///
    /// # Errors
    /// If there is no such program, or it does not have the languages.
    pub fn open(launcher: impl Into<PathBuf>, settings: Recognition) -> Result<Recogniser, RecognitionError> {
        if let Some(bad) = settings.languages.iter().find(|language| !is_language(language)) {
            return Err(RecognitionError::BadLanguage(bad.clone()));
        }
        let program = find(&settings.program, std::env::var_os("PATH").as_deref())
            .ok_or_else(|| RecognitionError::NoProgram(settings.program.clone()))?;
        let mut recogniser = Recogniser {
            launcher: launcher.into(),
            program,
            settings,
            version: String::new(),
            segmentation: "3",
            remembered: Mutex::default(),
        };
        let version = recogniser.ask("--version")?;
        let first = version.lines().next().unwrap_or_default();
        recogniser.version = match first.strip_prefix("tesseract ") {
            Some(number) => number.trim_start_matches('v').chars().filter(char::is_ascii_graphic).take(32).collect(),
            None => return Err(recogniser.no_answer(format!("its version is `{}`", first.escape_debug()))),
        };
        let languages = recogniser.ask("--list-langs")?;
        let known: Vec<String> = languages.lines().skip(1).map(|line| line.trim().to_owned()).collect();
        if let Some(missing) = recogniser.settings.languages.iter().find(|language| !known.contains(language)) {
            return Err(RecognitionError::NoLanguage(missing.clone(), known));
        }
        if known.iter().any(|language| language == "osd") {
            recogniser.segmentation = "1";
        }
        Ok(recogniser)
    }

    /// The version of the program.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The rights that the program has.
    pub fn confinement(&self) -> ProgramConfinement {
        let bits = self.run(&[], &[], ANSWER_TIME_MAX).ok().and_then(|answer| answer.first().copied());
        ProgramConfinement::from_bits(bits.unwrap_or(0))
    }

    /// The settings with which it was opened.
    pub fn settings(&self) -> &Recognition {
        &self.settings
    }

    /// Everything on which a recognised text depends besides the picture.
    pub fn recipe(&self) -> String {
        let Recogniser { version, segmentation, settings, .. } = self;
        let Recognition { languages, pages_max, page_time_max, document_time_max, .. } = settings;
        let limits = format!("{pages_max} {} {}", page_time_max.as_secs(), document_time_max.as_secs());
        format!("tesseract {version} {} {segmentation} {limits}", languages.join("+"))
    }

    /// Recognises the text of a picture: paragraphs are lines. It is empty if there is none.
    ///
    /// # Errors
    /// The reason why the program failed, after at most `time_max`.
    pub(crate) fn recognise(&self, picture: &[u8], dots: u32, time_max: Duration) -> Result<Arc<str>, Reason> {
        let key = self.remembered().key(picture, dots);
        if let Some(text) = self.remembered().texts.get(&key) {
            return Ok(Arc::clone(text));
        }
        let mut arguments: Vec<OsString> = ["stdin", "stdout", "-l"].map(OsString::from).to_vec();
        arguments.push(self.settings.languages.join("+").into());
        arguments.extend(["--psm", self.segmentation].map(OsString::from));
        if dots > 0 {
            arguments.extend(["--dpi".into(), OsString::from(dots.to_string())]);
        }
        let answer = self.run(&arguments, picture, self.settings.page_time_max.min(time_max));
        let answer = answer.map_err(|failure| match failure {
            Failure::TimedOut => Reason::RecognitionTimedOut,
            Failure::Failed(_) => Reason::NotRecognised,
        })?;
        let text = layout::text(&String::from_utf8_lossy(&answer));
        let letters = text.chars().filter(|character| character.is_alphanumeric()).count();
        let text: Arc<str> = if letters < LETTERS_MIN { "".into() } else { text.into() };
        self.remembered().add(key, &text);
        Ok(text)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, question: &str) -> Result<String, RecognitionError> {
        let answer = self.run(&[question.into()], &[], ANSWER_TIME_MAX);
        let answer = answer.map_err(|failure| self.no_answer(failure.to_string()))?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn no_answer(&self, why: String) -> RecognitionError {
        RecognitionError::NoAnswer(self.program.clone(), why)
    }

    fn run(&self, arguments: &[OsString], input: &[u8], time_max: Duration) -> Result<Vec<u8>, Failure> {
        let Recogniser { launcher, program, settings, .. } = self;
        let data = settings.data.as_deref();
        program::run(&Run { launcher, program, data, arguments, memory_bytes_max: MEMORY_BYTES_MAX, time_max }, input)
    }
}

impl Remembered {
    /// A digest with a secret of this process: no document can have the digest of another.
    fn key(&self, picture: &[u8], dots: u32) -> [u64; 2] {
        [0, 1].map(|number: usize| self.hashers[number].hash_one((picture, dots)))
    }

    fn add(&mut self, key: [u64; 2], text: &Arc<str>) {
        if self.bytes + text.len() > REMEMBERED_BYTES_MAX {
            self.texts.clear();
            self.bytes = 0;
        }
        self.bytes += text.len();
        self.texts.insert(key, Arc::clone(text));
    }
}

/// True for the name of a language, or of a script in a folder.
fn is_language(name: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '/');
    !name.is_empty()
        && name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(is_plain)
}

/// The path of a program that is named by a path, or by a name to look up.
fn find(program: &Path, folders: Option<&OsStr>) -> Option<PathBuf> {
    let is_there = |path: &PathBuf| path.is_file();
    if program.components().count() > 1 {
        return Some(std::path::absolute(program).ok()?).filter(is_there);
    }
    std::env::split_paths(folders?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(is_there)
}

impl From<RecognitionError> for io::Error {
    fn from(error: RecognitionError) -> io::Error {
        io::Error::other(error)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Finds a program that every system has.
    pub(crate) fn program(name: &str) -> PathBuf {
        find(Path::new(name), std::env::var_os("PATH").as_deref()).expect("a program of every system")
    }

    /// A recogniser that runs another program in place of its own: `echo` answers with the arguments.
    pub(crate) fn recogniser(launcher: &str, document_time_max: Duration) -> Recogniser {
        let settings = Recognition::of_languages(["eng", "deu"].map(str::to_owned).to_vec());
        Recogniser {
            launcher: program(launcher),
            program: "/nowhere/tesseract".into(),
            settings: Recognition { document_time_max, ..settings },
            version: "1".to_owned(),
            segmentation: "3",
            remembered: Mutex::default(),
        }
    }

    #[test]
    fn a_picture_is_recognised_once_for_each_number_of_dots() {
        let recogniser = recogniser("echo", Duration::MAX);
        let text = |picture: &[u8], dots| recogniser.recognise(picture, dots, Duration::from_secs(60)).unwrap();
        let first = text(b"one", 0);
        assert!(first.ends_with("/nowhere/tesseract stdin stdout -l eng+deu --psm 3"), "{first}");
        assert!(Arc::ptr_eq(&first, &text(b"one", 0)));
        let finer = text(b"one", 300);
        assert!(finer.ends_with("--psm 3 --dpi 300"), "{finer}");
        assert!(!Arc::ptr_eq(&first, &text(b"two", 0)));
        assert_eq!(recogniser.remembered().texts.len(), 3);
    }

    #[test]
    fn a_failure_is_a_reason_and_is_not_remembered() {
        let failing = recogniser("false", Duration::MAX);
        assert_eq!(failing.recognise(b"x", 0, Duration::from_secs(60)), Err(Reason::NotRecognised));
        assert_eq!(failing.recognise(b"x", 0, Duration::ZERO), Err(Reason::RecognitionTimedOut));
        assert!(failing.remembered().texts.is_empty());
    }

    #[test]
    fn every_error_of_opening_names_what_is_missing() {
        let program = PathBuf::from("/nowhere/tesseract");
        let settings = |program: &str, languages: &[&str]| Recognition {
            program: program.into(),
            ..Recognition::of_languages(languages.iter().map(|language| (*language).to_owned()).collect())
        };
        let refused = |launcher: &str, settings| match Recogniser::open(self::program(launcher), settings) {
            Err(error) => io::Error::from(error).to_string(),
            Ok(found) => panic!("{found:?}"),
        };
        assert!(refused("true", settings("/nowhere/tesseract", &["eng"])).contains("`/nowhere/tesseract`"));
        assert!(refused("true", settings("true", &["eng", "-x"])).contains("`-x` is not the name"));
        assert!(refused("true", settings("true", &["eng"])).contains("its version is ``"));
        assert!(refused("false", settings("true", &["eng"])).contains("it said nothing"));
        assert!(refused("echo", settings("true", &["eng"])).contains("its version is `__view-recogniser"));
        let unknown = RecognitionError::NoLanguage("xyz".into(), vec!["deu".into(), "eng".into()]);
        assert_eq!(unknown.to_string(), "the program that recognises text has no language `xyz`, but deu, eng");
        assert!(RecognitionError::NoProgram(program).to_string().contains("is not installed"));
    }

    #[test]
    fn a_language_has_a_plain_name() {
        for name in ["eng", "chi_sim", "script/Latin", "deu-frak"] {
            assert!(is_language(name), "{name}");
        }
        for name in ["", "-l", "eng+deu", "../x", "e g", &"x".repeat(65)] {
            assert!(!is_language(name), "{name}");
        }
    }

    #[test]
    fn a_program_is_looked_up_by_its_name_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tesseract");
        std::fs::write(&path, "").unwrap();
        let folders = std::env::join_paths([Path::new("relative"), folder.path()]).unwrap();
        assert_eq!(find(Path::new("tesseract"), Some(&folders)), Some(path.clone()));
        assert_eq!(find(Path::new("other"), Some(&folders)), None);
        assert_eq!(find(Path::new("tesseract"), None), None);
        assert_eq!(find(&path, None), Some(path.clone()));
        assert_eq!(find(&folder.path().join("other"), Some(&folders)), None);
    }

    #[test]
    fn remembered_texts_are_bounded() {
        let mut remembered = Remembered::default();
        let text: Arc<str> = "x".repeat(REMEMBERED_BYTES_MAX / 2).into();
        for number in 0..3 {
            let key = remembered.key(&[number], 0);
            assert_ne!(key, remembered.key(&[number], 300));
            remembered.add(key, &text);
            assert!(remembered.texts.contains_key(&key) && remembered.bytes <= REMEMBERED_BYTES_MAX);
        }
        assert_eq!(remembered.texts.len(), 1);
    }
}
