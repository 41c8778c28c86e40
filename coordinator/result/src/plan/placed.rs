//! The fields of a document that rules and decisions read. They come from a report, or are unpacked for a preview.

use std::cmp::Ordering;

use crate::report::Located;

/// A document, as rules compare it.
pub(crate) trait Placed {
    /// Its site.
    fn site(&self) -> &str;
    /// Its repository.
    fn repository(&self) -> &str;
    /// Its path, as it is written for people.
    fn path(&self) -> &str;
    /// Its own size, where that of the group is not that of each.
    fn size_bytes(&self) -> Option<u64>;
    /// Order of the times of modification, the earlier one first.
    fn compare_modified(&self, other: &Self) -> Ordering;
}

impl Placed for Located {
    fn site(&self) -> &str {
        &self.site
    }

    fn repository(&self) -> &str {
        &self.repository
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn size_bytes(&self) -> Option<u64> {
        self.size_bytes
    }

    fn compare_modified(&self, other: &Located) -> Ordering {
        // Times are written so that their order is that of their letters.
        self.modified.cmp(&other.modified)
    }
}
