//! The folders of two repositories that are compared with each other at different paths.

use cognate_analysis::alignment::{AlignedPair, Alignment};
use cognate_result_file::Alignment as AlignmentRecord;
use serde::Serialize;

use super::{FolderPlace, Report, path_of};
use crate::error::Error;

/// A folder of one repository, and the folder of the other that it is compared with.
#[derive(Clone, Serialize, Debug)]
pub struct AlignmentRow {
    /// The folder of the first repository.
    pub a: FolderPlace,
    /// The folder of the second.
    pub b: FolderPlace,
    /// Documents of either for which it gives the place of a document of the other.
    pub documents: u64,
    /// True if somebody named the pair.
    pub given: bool,
}

impl Report {
    /// The alignment, from the repository that comes first. Documents at the same place count as the same or changed.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn alignment(&self) -> Result<Alignment, Error> {
        Ok(Alignment::new(self.aligned_pairs()?.into_iter().map(|(pair, _)| pair).collect()))
    }

    /// The pairs of folders, by the first; nothing in a slice.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn alignment_rows(&self) -> Result<Vec<AlignmentRow>, Error> {
        let pairs = self.aligned_pairs()?;
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let mut names: Vec<(String, String)> =
            self.roots.iter().map(|root| (root.site.clone(), root.repository.clone())).collect();
        if self.is_turned() {
            names.swap(0, 1);
        }
        let place = |side: usize, folder: &[u8]| {
            let (path, path_escaped) = path_of(folder);
            let (site, repository) = names[side].clone();
            FolderPlace { path, path_escaped, repository, site }
        };
        let rows = pairs.into_iter().map(|(AlignedPair { folders: [a, b], given }, documents)| AlignmentRow {
            a: place(0, &a),
            b: place(1, &b),
            documents,
            given,
        });
        Ok(rows.collect())
    }

    fn aligned_pairs(&self) -> Result<Vec<(AlignedPair, u64)>, Error> {
        if self.roots.len() != 2 || self.is_part() {
            return Ok(Vec::new());
        }
        let turned = self.is_turned();
        let pair = |row: AlignmentRecord| {
            let folders = if turned { [row.path_b, row.path_a] } else { [row.path_a, row.path_b] };
            (AlignedPair { folders, given: row.given }, row.documents)
        };
        let mut pairs: Vec<_> = self.records("")?.into_iter().map(pair).collect();
        pairs.sort_unstable();
        Ok(pairs)
    }

    /// True if the second repository comes first.
    fn is_turned(&self) -> bool {
        self.place_of_root(0) > self.place_of_root(1)
    }
}
