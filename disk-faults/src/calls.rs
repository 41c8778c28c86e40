//! The calls to the disk, under the names that the C library has for them. The linker finds these first, so every call of the
//! standard library and of C code in the program comes here; each then makes the call of the system itself.
//!
//! `copy_file_range` and `sendfile` are not among them: files that [`std::fs::copy`] makes are not seen.

#![expect(unsafe_code, reason = "functions with the signatures of the C library, called by everything in the program")]

use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_long, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

use libc::{AT_FDCWD, iovec, mode_t, off_t, size_t, ssize_t};

use crate::fault::{HANG, SLOW};
use crate::observer::{self, Observer};
use crate::operation::Operation;
use crate::recorder::{Identity, Recorder};

/// The time that a slow call takes.
const SLOW_CALL: std::time::Duration = std::time::Duration::from_secs(5);

thread_local! {
    /// This thread is in a call already: what the observer itself does is not observed.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A call that concerns somebody. Others wait until it is over, so that calls are recorded in their order.
struct Observed {
    path: PathBuf,
    observer: Option<MutexGuard<'static, Observer>>,
}

impl Observed {
    fn of_path(path: impl FnOnce() -> Option<PathBuf>) -> Option<Observed> {
        if !observer::is_waiting() || IS_INSIDE.get() {
            return None;
        }
        IS_INSIDE.set(true);
        let errno = errno();
        let found = path().and_then(|path| {
            let observer = observer::lock();
            observer.concerns(&path).then_some(Observed { path, observer: Some(observer) })
        });
        set_errno(errno);
        if found.is_none() {
            IS_INSIDE.set(false);
        }
        found
    }

    fn of_file(file: c_int) -> Option<Observed> {
        Observed::of_path(|| std::fs::read_link(format!("/proc/self/fd/{file}")).ok().filter(|path| path.is_absolute()))
    }

    /// # Safety
    /// `path` ends with a zero.
    unsafe fn of_name(path: *const c_char) -> Option<Observed> {
        // SAFETY: as of this function.
        Observed::of_path(|| unsafe { full(path) })
    }

    /// The error of the call, if it is to fail.
    fn error(&mut self, operation: Operation) -> Option<i32> {
        let observer = self.observer.as_mut().expect("it is taken when this is dropped");
        observer.error_of(operation, &self.path)
    }

    fn record(&mut self, each: impl FnMut(&mut Recorder)) {
        let errno = errno();
        let observer = self.observer.as_mut().expect("it is taken when this is dropped");
        observer.each_recorder(&self.path, each);
        set_errno(errno);
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        let errno = errno();
        self.observer = None;
        IS_INSIDE.set(false);
        set_errno(errno);
    }
}

/// Waits where the call is to be slow or to hang; answers the error of a call that fails.
fn after_waiting(error: i32) -> Option<c_int> {
    match error {
        HANG => loop {
            std::thread::park();
        },
        SLOW => {
            std::thread::sleep(SLOW_CALL);
            None
        }
        error => Some(error),
    }
}

/// Writes a line to standard error, at the place where the process goes on writing, and without the lock of the standard library,
/// which another thread may hold while it waits for this one.
pub(crate) fn announce(line: &str) {
    // SAFETY: the pointer and the length are those of a text. A test that waits for the line fails without it.
    unsafe { libc::syscall(libc::SYS_write, 2, line.as_ptr(), line.len()) };
}

/// The path of a name, without links in its folder: as the kernel says it for an open file.
///
/// # Safety
/// `path` ends with a zero.
unsafe fn full(path: *const c_char) -> Option<PathBuf> {
    // SAFETY: as of this function.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let path = std::path::absolute(path).ok()?;
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

fn errno() -> c_int {
    // SAFETY: the place belongs to this thread.
    unsafe { *libc::__errno_location() }
}

fn set_errno(error: c_int) {
    // SAFETY: the place belongs to this thread.
    unsafe { *libc::__errno_location() = error }
}

/// The answer of a call that fails.
fn failed(error: c_int) -> c_int {
    set_errno(error);
    -1
}

fn narrow(answer: c_long) -> c_int {
    c_int::try_from(answer).unwrap_or(-1)
}

fn wide(answer: c_long) -> ssize_t {
    ssize_t::try_from(answer).unwrap_or(-1)
}

/// A call with a file that either is done or fails.
fn of_file(
    file: c_int,
    operation: Operation,
    call: impl FnOnce() -> c_int,
    mut record: impl FnMut(&mut Recorder),
) -> c_int {
    let Some(mut observed) = Observed::of_file(file) else { return call() };
    if let Some(error) = observed.error(operation) {
        drop(observed);
        return after_waiting(error).map_or_else(call, failed);
    }
    let answer = call();
    if answer == 0 {
        observed.record(&mut record);
    }
    answer
}

/// A write, with the place of its first byte once it is done.
///
/// # Safety
/// `parts` can be read.
unsafe fn written(
    file: c_int,
    parts: &[iovec],
    call: impl FnOnce() -> c_long,
    offset: impl Fn(u64) -> Option<u64>,
) -> ssize_t {
    let Some(mut observed) = Observed::of_file(file) else { return wide(call()) };
    if let Some(error) = observed.error(Operation::Write) {
        drop(observed);
        return wide(after_waiting(error).map_or_else(call, |error| failed(error).into()));
    }
    let answer = call();
    if let Ok(length @ 1..) = usize::try_from(answer)
        && let Some(offset) = offset(length as u64)
    {
        observed.record(|recorder| {
            let mut bytes = Vec::with_capacity(length);
            for part in parts {
                // SAFETY: as of this function.
                let part = unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) };
                bytes.extend_from_slice(&part[..part.len().min(length - bytes.len())]);
            }
            if let Some(identity) = Identity::of_file(file) {
                recorder.write(identity, offset, bytes);
            }
        });
    }
    wide(answer)
}

/// The place where a write at the position of a file began.
fn before(file: c_int, length: u64) -> Option<u64> {
    // SAFETY: it has no pointers.
    let at = unsafe { libc::syscall(libc::SYS_lseek, file, 0, libc::SEEK_CUR) };
    u64::try_from(at).ok()?.checked_sub(length)
}

/// A read. Nobody records one.
fn reading(file: c_int, call: impl FnOnce() -> c_long) -> ssize_t {
    let Some(mut observed) = Observed::of_file(file) else { return wide(call()) };
    let error = observed.error(Operation::Read);
    drop(observed);
    wide(error.and_then(after_waiting).map_or_else(call, |error| failed(error).into()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(file: c_int, bytes: *mut c_void, length: size_t) -> ssize_t {
    // SAFETY: as of `read`.
    reading(file, || unsafe { libc::syscall(libc::SYS_read, file, bytes, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(file: c_int, bytes: *mut c_void, length: size_t, offset: off_t) -> ssize_t {
    // SAFETY: as of `pread64`.
    reading(file, || unsafe { libc::syscall(libc::SYS_pread64, file, bytes, length, offset) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(file: c_int, bytes: *const c_void, length: size_t) -> ssize_t {
    let parts = [iovec { iov_base: bytes.cast_mut(), iov_len: length }];
    // SAFETY: as of `write`.
    unsafe {
        written(file, &parts, || libc::syscall(libc::SYS_write, file, bytes, length), |written| before(file, written))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(file: c_int, parts: *const iovec, number: c_int) -> ssize_t {
    // SAFETY: as of `writev`.
    let all = unsafe { std::slice::from_raw_parts(parts, usize::try_from(number).unwrap_or(0)) };
    // SAFETY: as of `writev`.
    unsafe {
        written(file, all, || libc::syscall(libc::SYS_writev, file, parts, number), |written| before(file, written))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(file: c_int, bytes: *const c_void, length: size_t, offset: off_t) -> ssize_t {
    let parts = [iovec { iov_base: bytes.cast_mut(), iov_len: length }];
    let call = || {
        // SAFETY: as of `pwrite64`.
        unsafe { libc::syscall(libc::SYS_pwrite64, file, bytes, length, offset) }
    };
    // SAFETY: as of `pwrite64`.
    unsafe { written(file, &parts, call, |_| u64::try_from(offset).ok()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(file: c_int, bytes: *const c_void, length: size_t, offset: off_t) -> ssize_t {
    // SAFETY: as of `pwrite`.
    unsafe { pwrite64(file, bytes, length, offset) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: it has no pointers.
    let call = || narrow(unsafe { libc::syscall(libc::SYS_fsync, file) });
    of_file(file, Operation::Sync, call, |recorder| recorder.sync(Identity::of_file(file)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: it has no pointers.
    let call = || narrow(unsafe { libc::syscall(libc::SYS_fdatasync, file) });
    of_file(file, Operation::Sync, call, |recorder| recorder.sync(Identity::of_file(file)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(file: c_int, length: off_t) -> c_int {
    // SAFETY: it has no pointers.
    let call = || narrow(unsafe { libc::syscall(libc::SYS_ftruncate, file, length) });
    of_file(file, Operation::Resize, call, |recorder| {
        recorder.resize(Identity::of_file(file), u64::try_from(length).unwrap_or(0));
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(file: c_int, length: off_t) -> c_int {
    // SAFETY: as of `ftruncate`.
    unsafe { ftruncate64(file, length) }
}

/// It has a variable number of arguments in C. On the systems that this is built for, those come where these are.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: as of `open`.
    let call = || narrow(unsafe { libc::syscall(libc::SYS_openat, AT_FDCWD, path, flags, mode) });
    if flags & (libc::O_CREAT | libc::O_TRUNC) == 0 {
        return call();
    }
    // SAFETY: as of `open`.
    let Some(mut observed) = (unsafe { Observed::of_name(path) }) else { return call() };
    let is_new = observed.path.symlink_metadata().is_err();
    let error = if flags & libc::O_CREAT != 0 { observed.error(Operation::Create) } else { None };
    if let Some(error) = error {
        drop(observed);
        return failed(error);
    }
    let file = call();
    if file >= 0 {
        let path = observed.path.clone();
        observed.record(|recorder| match Identity::of_file(file) {
            Some(identity) if is_new => recorder.create(&path, identity, false),
            identity if flags & libc::O_TRUNC != 0 => recorder.resize(identity, 0),
            _ => {}
        });
    }
    file
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: as of `open`.
    unsafe { open64(path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: as of `mkdir`.
    let call = || narrow(unsafe { libc::syscall(libc::SYS_mkdirat, AT_FDCWD, path, mode) });
    // SAFETY: as of `mkdir`.
    let Some(mut observed) = (unsafe { Observed::of_name(path) }) else { return call() };
    if let Some(error) = observed.error(Operation::Create) {
        drop(observed);
        return failed(error);
    }
    let answer = call();
    if answer == 0 {
        let path = observed.path.clone();
        observed.record(|recorder| {
            if let Some(identity) = Identity::of_path(&path) {
                recorder.create(&path, identity, true);
            }
        });
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: as of `unlink`.
    let call = || narrow(unsafe { libc::syscall(libc::SYS_unlinkat, AT_FDCWD, path, 0) });
    // SAFETY: as of `unlink`.
    let Some(mut observed) = (unsafe { Observed::of_name(path) }) else { return call() };
    if let Some(error) = observed.error(Operation::Remove) {
        drop(observed);
        return failed(error);
    }
    let answer = call();
    if answer == 0 {
        let path = observed.path.clone();
        observed.record(|recorder| recorder.remove(&path));
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: as of `rename`.
    let call = || narrow(unsafe { libc::syscall(libc::SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) });
    // SAFETY: as of `rename`. The new name says what is renamed: the old one is often a temporary one.
    let Some(mut observed) = (unsafe { Observed::of_name(to) }) else { return call() };
    if let Some(error) = observed.error(Operation::Rename) {
        drop(observed);
        return failed(error);
    }
    // SAFETY: as of `rename`.
    let old = unsafe { full(from) };
    let answer = call();
    if answer == 0 {
        let path = observed.path.clone();
        observed.record(|recorder| {
            if let Some(old) = &old {
                recorder.rename(old, &path);
            }
        });
    }
    answer
}
