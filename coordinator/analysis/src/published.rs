//! Results as they were published: a file that has changed since is refused wherever a result is opened.
//!
//! The row of a scan has the digest of the file. The complete file is read once; while its stamp stays, it is believed.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cognate_proto::name::ScanId;

use crate::error::Error;

/// The files of results that were found unchanged, by their stamps.
#[derive(Default)]
pub struct IntactResults(Mutex<HashMap<ScanId, Stamp>>);

/// Device, inode, size, and times of the last change of content and of inode, in nanoseconds: nobody but the kernel sets
/// the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp(u64, u64, u64, i128, i128);

impl Stamp {
    fn of(found: &Metadata) -> Stamp {
        let time = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        let (modified, changed) = (time(found.mtime(), found.mtime_nsec()), time(found.ctime(), found.ctime_nsec()));
        Stamp(found.dev(), found.ino(), found.len(), modified, changed)
    }
}

impl IntactResults {
    /// Checks that a scan's result is the file with this digest. Reads the complete file the first time.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has changed since it was published.
    pub(crate) fn check(&self, scan: ScanId, path: &Path, digest: &[u8]) -> Result<(), Error> {
        let stamp = Stamp::of(&std::fs::metadata(path).map_err(Error::state(path))?);
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known().get(&scan) == Some(&stamp) {
            return Ok(());
        }
        // The lock is not held meanwhile: a large result takes seconds, and pages of others are asked for.
        if file_digest(path)? != digest {
            known().remove(&scan);
            tracing::error!(%scan, path = %path.display(), "a result has changed since it was published");
            return Err(Error::Altered { scan, path: path.to_owned() });
        }
        known().insert(scan, stamp);
        Ok(())
    }
}

/// The digest of a file's bytes, for the row of the scan.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn file_digest(path: &Path) -> Result<Vec<u8>, Error> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut hasher = blake3::Hasher::new();
        std::io::copy(&mut File::open(path)?, &mut hasher)?;
        Ok(hasher.finalize().as_bytes().to_vec())
    };
    read().map_err(Error::state(path))
}
