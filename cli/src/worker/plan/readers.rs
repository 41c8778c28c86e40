//! The people who may read a file, by owner, group, mode and access list of the file and of the folders above it. A link must not take a
//! document away from somebody who could read it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The bits of a mode for the owner, the group and all others, at the place of those for all others.
const CLASSES: [u32; 3] = [6, 3, 0];
const READ: u32 = 0o4;
const SEARCH: u32 = 0o1;
/// Bytes of an access list at most.
const LIST_BYTES_MAX: usize = 1 << 16;

/// True if everybody who may read `from` may read `to`, as far as the file system tells: no, where it does not tell.
pub(super) fn may_read_all(from: &Path, to: &Path) -> bool {
    is_readable(from, to).unwrap_or(false)
}

fn is_readable(from: &Path, to: &Path) -> std::io::Result<bool> {
    let (from, to) = (from.canonicalize()?, to.canonicalize()?);
    let readers = Readers { file: from.metadata()?, list: list(&from)? };
    // Whoever reaches the one passes through the folders that are above both.
    let folders = to.ancestors().skip(1).take_while(|folder| !from.starts_with(folder));
    for folder in folders {
        if !readers.are_admitted(folder, SEARCH)? {
            return Ok(false);
        }
    }
    readers.are_admitted(&to, READ)
}

/// Those who may read a file.
struct Readers {
    file: Metadata,
    /// Its access list.
    list: Option<Vec<u8>>,
}

impl Readers {
    /// True if all of them have a permission at a path: everybody has it, or it has the same owner, group and access list and gives
    /// it to each class that may read the file.
    fn are_admitted(&self, path: &Path, permission: u32) -> std::io::Result<bool> {
        let (found, list) = (path.metadata()?, list(path)?);
        let gives = |class: u32| found.mode() >> class & permission != 0;
        if list.is_none() && CLASSES.into_iter().all(gives) {
            return Ok(true);
        }
        // The right to read a file says nothing of the right to enter a folder: equal lists prove nothing there.
        let is_same_list = list == self.list && (permission == READ || list.is_none() && self.list.is_none());
        let is_same = (found.uid(), found.gid()) == (self.file.uid(), self.file.gid()) && is_same_list;
        let reads = |class: &u32| self.file.mode() >> class & READ != 0;
        Ok(is_same && CLASSES.into_iter().filter(reads).all(gives))
    }
}

/// The access list of a path beyond its mode; nothing if it has none. File systems that do not know these lists fail: NFS and SMB
/// have lists of other kinds.
fn list(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    use rustix::io::Errno;
    let mut list = vec![0; LIST_BYTES_MAX];
    match rustix::fs::getxattr(path, "system.posix_acl_access", &mut list) {
        Ok(length) => {
            list.truncate(length);
            Ok(Some(list))
        }
        Err(Errno::NODATA) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_link_is_left_only_where_all_readers_of_the_one_may_read_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let [open, closed, from] = ["open", "closed", "from"].map(|name| folder.path().join(name));
        let check = |from_mode: u32, folder: &Path, folder_mode: u32, to_mode: u32, expected: bool| {
            let to = folder.join("to");
            for (path, mode) in [(&from, from_mode), (&to, to_mode), (&folder.to_owned(), folder_mode)] {
                fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            }
            assert_eq!(may_read_all(&from, &to), expected, "{from_mode:o} {folder_mode:o} {to_mode:o}");
        };
        fs::write(&from, "text").unwrap();
        for folder in [&open, &closed] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("to"), "text").unwrap();
        }
        check(0o644, &open, 0o755, 0o644, true);
        check(0o644, &open, 0o755, 0o600, false);
        check(0o640, &open, 0o755, 0o600, false);
        check(0o640, &open, 0o755, 0o640, true);
        check(0o600, &open, 0o755, 0o640, true);
        check(0o644, &open, 0o700, 0o644, false);
        check(0o600, &open, 0o700, 0o600, true);
        check(0o640, &closed, 0o710, 0o640, true);
        // A group that may not read what everybody else may.
        check(0o644, &closed, 0o755, 0o604, false);
        assert!(!may_read_all(&from, &folder.path().join("absent")));
    }

    #[test]
    fn a_file_of_another_owner_is_readable_only_if_it_is_for_everybody() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        for path in [&from, &to] {
            fs::write(path, "text").unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o640)).unwrap();
        }
        assert!(may_read_all(&from, &to));
        std::os::unix::fs::chown(&to, Some(12_345), None).unwrap();
        assert!(!may_read_all(&from, &to));
        fs::set_permissions(&to, Permissions::from_mode(0o644)).unwrap();
        assert!(may_read_all(&from, &to));
    }
}
