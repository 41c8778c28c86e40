//! Folders that somebody wants compared, as typed: `old/name=new/name`.

use super::{OptionError, ScanOptions};
use crate::path::DocumentPath;

/// The most pairs of folders that can be given.
const PAIRS_MAX: usize = 256;

impl ScanOptions {
    /// The folders of `align`: of the first repository of the scan, and of the second. An empty path is the root.
    ///
    /// # Errors
    /// When a pair is none, or a folder is named twice.
    pub fn aligned_folders(&self) -> Result<Vec<[Vec<u8>; 2]>, OptionError> {
        let pairs: Vec<[Vec<u8>; 2]> = self.align.iter().map(|pair| folders(pair)).collect::<Result<_, _>>()?;
        for side in 0..2 {
            let mut sorted: Vec<&[u8]> = pairs.iter().map(|pair| pair[side].as_slice()).collect();
            sorted.sort_unstable();
            if let Some(two) = sorted.windows(2).find(|two| two[0] == two[1]) {
                let name = if two[0].is_empty() { ".".into() } else { String::from_utf8_lossy(two[0]) };
                return refused(&format!("the folder {name} is in two pairs"));
            }
        }
        Ok(pairs)
    }

    pub(super) fn check_align(&self) -> Result<(), OptionError> {
        if !self.align.is_empty() && self.repositories.len() != 2 {
            return refused("only the folders of two repositories are aligned");
        }
        if self.align.len() > PAIRS_MAX {
            return refused(&format!("{} are more than {PAIRS_MAX}", self.align.len()));
        }
        self.aligned_folders().map(drop)
    }
}

fn folders(pair: &str) -> Result<[Vec<u8>; 2], OptionError> {
    let Some((a, b)) = pair.split_once('=') else {
        return refused("say FOLDER=FOLDER: one of the first repository, and the one of the second to compare it with");
    };
    Ok([folder(a)?, folder(b)?])
}

fn folder(typed: &str) -> Result<Vec<u8>, OptionError> {
    let path = typed.trim_matches('/');
    let path = path.strip_prefix("./").unwrap_or(path);
    if path.is_empty() || path == "." {
        return Ok(Vec::new());
    }
    match DocumentPath::new(path.as_bytes()) {
        Ok(path) => Ok(path.as_bytes().to_vec()),
        Err(error) => refused(&error.to_string()),
    }
}

fn refused<T>(reason: &str) -> Result<T, OptionError> {
    Err(OptionError::new("align", &reason))
}
