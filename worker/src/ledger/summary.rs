//! Sums of entries by day, kind and repository.

use std::collections::BTreeMap;

use super::entry::{Entry, Kind};

/// One line of a summary.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct SummaryRow {
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Documents in these messages.
    pub documents: u64,
    /// Chunks in these messages.
    pub chunks: u64,
}

/// Sums of entries by day (since 1970), kind and repository.
#[derive(Default, Debug)]
pub struct Summary {
    /// The sums.
    pub rows: BTreeMap<(i64, Kind, String), SummaryRow>,
}

impl Summary {
    /// Counts an entry.
    pub fn take(&mut self, entry: &Entry) {
        let day = entry.utc_ms.div_euclid(86_400_000);
        let repository = entry.index.as_ref().map(|index| index.repository.clone()).unwrap_or_default();
        let row = self.rows.entry((day, entry.kind(), repository)).or_default();
        row.messages += 1;
        row.bytes += entry.message_bytes;
        if let Some(index) = &entry.index {
            row.documents += index.documents;
            row.chunks += index.chunks;
        }
    }
}
