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

    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        write_private(&path, b"secret").unwrap();
        for (mode, refused) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o660, true)] {
            set_mode(&path, mode);
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

    #[test]
    fn what_cannot_be_read_or_written_is_named_with_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        set_mode(folder.path(), 0o700);
        let errors = [
            (&missing, read_private(&missing).unwrap_err(), io::ErrorKind::NotFound),
            (&missing.join("x"), write_private(&missing.join("x"), b"").unwrap_err(), io::ErrorKind::NotFound),
            (&folder.path().to_owned(), read_private(folder.path()).unwrap_err(), io::ErrorKind::IsADirectory),
        ];
        for (named, error, kind) in errors {
            assert!(error.to_string().contains(&named.display().to_string()), "{error}");
            let PrivateFileError::File { path, source } = error else { panic!("{error}") };
            assert_eq!((&path, source.kind()), (named, kind));
        }
    }

    #[test]
    fn a_link_is_as_private_as_the_file_that_it_points_to() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("secret"), folder.path().join("link"));
        write_private(&file, b"").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(*read_private(&link).unwrap(), "", "an empty text is one");
        set_mode(&file, 0o644);
        assert!(matches!(read_private(&link), Err(PrivateFileError::Open { mode: 0o644, path }) if path == link));
    }
}
