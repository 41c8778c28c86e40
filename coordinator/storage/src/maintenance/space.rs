//! Disk space that the state takes, by kind.

use std::path::Path;

use cognate_proto::v1;

use crate::error::Error;
use crate::indexes::{Indexes, Space};

/// A row for each kind of file: segments, runs, results, store, journal, damaged. The bytes in use of the store are not
/// counted: that would read every row of it.
pub fn space(state_dir: &Path, indexes: &Indexes) -> Result<Vec<v1::SpaceRow>, Error> {
    let folder = indexes.space()?;
    let results = files_below(&state_dir.join("scans"))?;
    let view = files_below(&state_dir.join("store"))?;
    let (mut journal, mut damaged) = (Space::default(), folder.damaged);
    for entry in std::fs::read_dir(state_dir).map_err(Error::state(state_dir))? {
        let path = entry.map_err(Error::state(state_dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("store.") {
            let aside = files_below(&path)?;
            damaged.files += aside.files;
            damaged.bytes += aside.bytes;
        } else if name.starts_with("journal") {
            let is_aside = name.starts_with("journal.before-loss");
            let space = if is_aside { &mut damaged } else { &mut journal };
            space.files += 1;
            space.bytes += std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        }
    }
    let row = |kind: &str, space: Space| v1::SpaceRow {
        kind: kind.to_owned(),
        files: space.files,
        bytes: space.bytes,
        live_bytes: space.live_bytes,
    };
    Ok(vec![
        row("segments", folder.segments),
        row("runs", folder.runs),
        row("results", Space { live_bytes: results.bytes, ..results }),
        row("store", view),
        row("journal", Space { live_bytes: journal.bytes, ..journal }),
        row("damaged", damaged),
    ])
}

/// Size of the files below a folder; zero if it does not exist.
pub(super) fn files_below(folder: &Path) -> Result<Space, Error> {
    let mut space = Space::default();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(space),
        entries => entries.map_err(Error::state(folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(Error::state(folder))?;
        // A file that is removed at this moment takes no space any more.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            let below = files_below(&entry.path())?;
            space.files += below.files;
            space.bytes += below.bytes;
        } else {
            space.files += 1;
            space.bytes += metadata.len();
        }
    }
    Ok(space)
}
