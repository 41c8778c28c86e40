//! The same in a browser: what the page's worker calls (`coordinator/web/static/fingerprint.js`).
//!
//! The worker writes a [`Request`] at the address that [`request`] returns and calls [`fingerprint`], which reads the file through
//! `read_at` of the worker, piece by piece: no file is in memory as a whole, and nothing leaves the browser. The answer is the
//! lines of the documents, and a line with `unread` for each that has none.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cognate_fingerprint::{Key, Method, UnsupportedDocument, View};
use cognate_view::{Limits, Parts, Source, hint, walk_source};
use serde::{Deserialize, Serialize};

use crate::inside::{Found, documents_inside};
use crate::line::{Under, write_line};
use crate::machine::{Became, Machine};

/// Bytes of a file that are asked for at once.
const PIECE_BYTES: usize = 1 << 20;

#[link(wasm_import_module = "file")]
#[expect(unsafe_code, reason = "the one import: the worker writes no more bytes than it is asked for")]
unsafe extern "C" {
    /// Reads bytes of the file at an offset, and returns how many; more than `length` is a failure.
    safe fn read_at(into: *mut u8, length: usize, offset: f64) -> usize;
}

/// What to fingerprint, and how.
#[derive(Deserialize)]
struct Request {
    name: String,
    size_bytes: u64,
    method: String,
    view: String,
    chunk_bytes: u64,
    param: String,
    fine_max: usize,
}

/// A document that has no fingerprint.
#[derive(Serialize)]
struct Unread<'a> {
    path: &'a str,
    unread: String,
}

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes space for a request of so many bytes, and returns its address.
#[expect(unsafe_code, reason = "the name of an export")]
#[unsafe(no_mangle)]
pub extern "C" fn request(length: usize) -> *mut u8 {
    let mut request = lock(&REQUEST);
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr()
}

/// Carries out the request, and returns the length of the answer.
#[expect(unsafe_code, reason = "the name of an export")]
#[unsafe(no_mangle)]
pub extern "C" fn fingerprint() -> usize {
    let mut answer = Vec::new();
    let request: Result<Request, _> = serde_json::from_slice(&lock(&REQUEST));
    let (name, done) = match request {
        Ok(request) => (request.name.clone(), answer_to(&request, &mut answer)),
        Err(error) => (String::new(), Err(error.to_string())),
    };
    if let Err(reason) = done {
        answer.clear();
        unread(&mut answer, &name, reason);
    }
    *lock(&ANSWER) = answer;
    lock(&ANSWER).len()
}

/// The address of the answer.
#[expect(unsafe_code, reason = "the name of an export")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    lock(&ANSWER).as_ptr()
}

fn unread(answer: &mut Vec<u8>, path: &str, reason: String) {
    // A list of bytes takes everything.
    let _ = serde_json::to_writer(&mut *answer, &Unread { path, unread: reason });
    answer.push(b'\n');
}

fn answer_to(request: &Request, answer: &mut Vec<u8>) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let view: View = request.view.parse().map_err(|error| told(&error))?;
    let method = Method::restore(&request.method, view, request.chunk_bytes, &request.param);
    let method = method.map_err(|error| told(&error))?;
    let key = Key::none();
    let under = Under::new(&method, &key);
    let mut machine = Machine::new(&method, &key, request.fine_max);
    let mut file = PageFile::new(request.size_bytes);
    let mut found: Vec<Found<Became>> = Vec::new();
    let path = request.name.as_bytes();
    if view.is_text() {
        let mut stream = Vec::new();
        // Under the office view archives stay closed: they are documents of their own.
        let hint = (view != View::Office).then(|| hint(&request.name));
        walk_source(&mut file, hint.as_deref(), &Limits::default(), &mut stream).map_err(|error| told(&error))?;
        let parts = Parts::new(stream.as_slice());
        let read = |mut text: &mut dyn Read| machine.read(&mut text, true);
        documents_inside(parts, view, path, read, &mut found).map_err(|error| told(&error))?;
    } else {
        found.push((path.to_vec(), machine.read(&mut file, true)));
    }
    for (path, became) in found {
        let path = String::from_utf8_lossy(&path);
        match became {
            Ok(became) => write_line(answer, (&path, false), under, &became).map_err(|error| told(&error))?,
            Err(error) if error.get_ref().is_some_and(|source| source.is::<UnsupportedDocument>()) => {
                unread(answer, &path, format!("cannot be used with `{}`: {error}", method.name()));
            }
            Err(error) => unread(answer, &path, error.to_string()),
        }
    }
    Ok(())
}

/// The file of the page, read at places.
struct PageFile {
    length_bytes: u64,
    at: u64,
    /// The bytes read last, and their place.
    piece: Vec<u8>,
    piece_at: u64,
}

impl PageFile {
    fn new(length_bytes: u64) -> PageFile {
        PageFile { length_bytes, at: 0, piece: Vec::new(), piece_at: 0 }
    }

    fn ready(&self) -> &[u8] {
        let offset = self.at.checked_sub(self.piece_at).and_then(|offset| usize::try_from(offset).ok());
        offset.and_then(|offset| self.piece.get(offset..)).unwrap_or_default()
    }
}

impl Read for PageFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ready().is_empty() && self.at < self.length_bytes && !buffer.is_empty() {
            let left = usize::try_from(self.length_bytes - self.at).unwrap_or(usize::MAX);
            self.piece.resize(left.min(PIECE_BYTES), 0);
            #[expect(clippy::cast_precision_loss, reason = "no file of a browser has 2^53 bytes")]
            let offset = self.at as f64;
            let read = read_at(self.piece.as_mut_ptr(), self.piece.len(), offset);
            if read > self.piece.len() {
                self.piece.clear();
                return Err(io::Error::other("the browser cannot read it: it may have changed since it was chosen"));
            }
            self.piece.truncate(read);
            self.piece_at = self.at;
        }
        let read = self.ready().len().min(buffer.len());
        buffer[..read].copy_from_slice(&self.ready()[..read]);
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for PageFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length_bytes.checked_add_signed(by),
        };
        self.at = at.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Source for PageFile {
    fn length_bytes(&self) -> u64 {
        self.length_bytes
    }
}
