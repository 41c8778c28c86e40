//! The places of the worker itself: its state, its configuration, its key, and the files that show that a repository is mounted. They
//! may lie in a repository, and no plan moves them.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::worker::setup::Setup;

/// The places of a worker.
pub(super) struct OwnPlaces {
    /// Their paths, with the links above them resolved, and once more with all links resolved.
    paths: HashSet<PathBuf>,
    /// Device and inode of those that exist: a hard link and a second mount have other paths.
    files: HashSet<(u64, u64)>,
}

impl OwnPlaces {
    pub(super) fn of(setup: &Setup) -> OwnPlaces {
        let sentinels =
            setup.repositories.iter().filter_map(|(name, root)| Some(root.join(setup.sentinels.get(name)?)));
        OwnPlaces::new(setup.own_files.iter().cloned().chain(sentinels))
    }

    fn new(places: impl Iterator<Item = PathBuf>) -> OwnPlaces {
        let mut own = OwnPlaces { paths: HashSet::new(), files: HashSet::new() };
        for path in places {
            own.files.extend(path.metadata().ok().map(|found| (found.dev(), found.ino())));
            own.paths.extend(path.canonicalize().ok());
            own.paths.insert(resolved(&path));
        }
        own
    }

    /// True if a path is one of the places, or below one.
    pub(super) fn has(&self, path: &Path) -> bool {
        let is_own = |path: &Path| {
            let is_same =
                || path.symlink_metadata().is_ok_and(|found| self.files.contains(&(found.dev(), found.ino())));
            self.paths.contains(path) || is_same()
        };
        resolved(path).ancestors().any(is_own)
    }
}

/// A path without links above its last part. What does not exist is taken as it is named.
fn resolved(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    match folder.canonicalize() {
        Ok(folder) => folder.join(name),
        Err(_) => resolved(folder).join(name),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_place_of_the_worker_is_known_under_every_name_also_before_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for name in ["state", "kb", "mounted"] {
            fs::create_dir(at(name)).unwrap();
        }
        for file in ["state/record", "kb/key", "kb/report", "kb/.mounted"] {
            fs::write(at(file), file).unwrap();
        }
        symlink(at("state"), at("kb/state")).unwrap();
        symlink(at("kb"), at("link")).unwrap();
        fs::hard_link(at("kb/key"), at("kb/copy")).unwrap();
        let own = OwnPlaces::new(["kb/state", "link/key", "link/.mounted", "link/later/state"].map(at).into_iter());
        for path in ["kb/state", "state/record", "link/state/record", "kb/key", "link/key", "kb/copy", "kb/.mounted"] {
            assert!(own.has(&at(path)), "{path}");
        }
        assert!(own.has(&at("kb/later/state/record")), "what does not exist yet");
        for path in ["kb/report", "kb/later", "kb/absent", "state.old", "link"] {
            assert!(!own.has(&at(path)), "{path}");
        }
    }
}
