//! Files with secrets: only their owner can read them, and a file that others can read is refused.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::whole::{PRIVATE, write_whole};

/// No private file is larger.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// An error of reading or writing a private file.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    /// The file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Others can read the file.
    #[error("`{}` can be read by others (mode {mode:o}): its key may be known to others; `chmod 600` it, or get a new certificate", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file has another content than its owner expects.
    #[error("`{}`: {detail}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The problem.
        detail: String,
    },
}

/// Reads a text that only its owner may read; refuses one that others can read.
///
/// # Errors
/// If it cannot be read, is too large or is no text, or others can read it.
pub fn read_private(path: &Path) -> Result<Zeroizing<String>, PrivateFileError> {
    let file_error = |source| PrivateFileError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(file_error)?;
    let metadata = file.metadata().map_err(file_error)?;
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(PrivateFileError::Open { path: path.to_owned(), mode });
    }
    let content = |detail: &str| PrivateFileError::Content { path: path.to_owned(), detail: detail.to_owned() };
    if metadata.len() > FILE_BYTES_MAX {
        return Err(content("it is larger than 64 KiB"));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1));
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(file_error)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| content("it is not text"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Writes a file that only its owner may read; after a crash it has the old or the new content.
///
/// # Errors
/// If it cannot be written. The earlier file then stays.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), PrivateFileError> {
    write_whole(path, bytes, PRIVATE).map_err(|source| PrivateFileError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_can_read_is_refused_with_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        write_private(&path, b"secret").unwrap();
        for (mode, refused) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o660, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match read_private(&path) {
                Ok(text) => assert!(!refused && *text == "secret", "{mode:o}"),
                Err(error) => assert!(refused && error.to_string().contains(&format!("{mode:o}")), "{error}"),
            }
        }
    }

    #[test]
    fn a_file_that_is_too_large_or_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for (bytes, reason) in [(vec![b'a'; 65_537], "larger than 64 KiB"), (vec![0xff], "not text")] {
            write_private(&path, &bytes).unwrap();
            assert!(read_private(&path).unwrap_err().to_string().contains(reason));
        }
        write_private(&path, &[b'a'; 65_536]).unwrap();
        assert_eq!(read_private(&path).unwrap().len(), 65_536);
    }

    #[test]
    fn a_file_is_written_for_its_owner_alone_whatever_a_crash_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(folder.path().join("secret.tmp"), "left by a crash").unwrap();
        write_private(&path, b"secret").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
