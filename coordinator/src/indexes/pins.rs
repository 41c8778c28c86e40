//! What scans hold on to: an index as it was after a batch. A pinned index is not deleted, and its runs are not put together
//! across the batch, for as long as somebody holds the pin.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use super::Indexes;
use crate::store::IndexId;

/// All that is pinned now.
#[derive(Default)]
pub(crate) struct Pins {
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// How many hold on to which batch.
    pinned: HashMap<IndexId, BTreeMap<u64, usize>>,
    /// What is to be deleted once nobody holds on to it.
    doomed: HashSet<IndexId>,
}

impl Pins {
    /// Whether anybody holds on to an index.
    pub(crate) fn is_pinned(&self, id: IndexId) -> bool {
        self.lock().pinned.contains_key(&id)
    }

    /// Whether postings up to batch `earlier` must stay apart from those up to batch `later`.
    pub(crate) fn parts(&self, id: IndexId, earlier: u64, later: u64) -> bool {
        self.lock().pinned.get(&id).is_some_and(|batches| batches.range(earlier..later).next().is_some())
    }

    /// Whether somebody holds on to an index as it was after exactly this batch.
    pub(crate) fn holds(&self, id: IndexId, sequence: u64) -> bool {
        self.lock().pinned.get(&id).is_some_and(|batches| batches.contains_key(&sequence))
    }

    /// Whether a deletion has to wait; it is then done when the last pin goes.
    pub(super) fn defers_deletion(&self, id: IndexId) -> bool {
        let mut held = self.lock();
        held.pinned.contains_key(&id) && {
            held.doomed.insert(id);
            true
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no critical section panics")
    }
}

/// A hold on an index as it was after a batch, given back when dropped.
pub(crate) struct Pin {
    indexes: Arc<Indexes>,
    id: IndexId,
    sequence: u64,
}

impl Pin {
    pub(crate) fn new(indexes: &Arc<Indexes>, id: IndexId, sequence: u64) -> Pin {
        *indexes.pins.lock().pinned.entry(id).or_default().entry(sequence).or_default() += 1;
        Pin { indexes: Arc::clone(indexes), id, sequence }
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({} after batch {})", self.id.0, self.sequence)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let delete = {
            let mut held = self.indexes.pins.lock();
            let batches = held.pinned.entry(self.id).or_default();
            match batches.get_mut(&self.sequence) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(batches.remove(&self.sequence)),
            }
            let free = batches.is_empty();
            if free {
                held.pinned.remove(&self.id);
            }
            free && held.doomed.remove(&self.id)
        };
        if delete && let Err(error) = self.indexes.delete(self.id) {
            tracing::error!(index = self.id.0, %error, "an index that was replaced cannot be deleted");
        }
    }
}
