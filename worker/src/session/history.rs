//! The assignments that this process has received.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

/// Number of assignments that may wait, and that are remembered. An honest coordinator never sends more.
pub(super) const ASSIGNMENTS_MAX: usize = 4096;

/// The numbers of the last assignments. With them a late message about an ended assignment differs from one about an
/// assignment that never was.
#[derive(Default)]
pub(crate) struct AssignmentHistory {
    assignments: Mutex<VecDeque<u64>>,
}

impl AssignmentHistory {
    pub(super) fn add(&self, assignment: u64) {
        let mut assignments = self.assignments();
        if assignments.len() >= ASSIGNMENTS_MAX {
            assignments.pop_front();
        }
        assignments.push_back(assignment);
    }

    pub(super) fn contains(&self, assignment: u64) -> bool {
        self.assignments().contains(&assignment)
    }

    fn assignments(&self) -> MutexGuard<'_, VecDeque<u64>> {
        self.assignments.lock().expect("no code panics while it holds this lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_assignments_are_remembered() {
        let history = AssignmentHistory::default();
        let last = ASSIGNMENTS_MAX as u64 + 2;
        (1..=last).for_each(|number| history.add(number));
        assert!(!history.contains(1) && !history.contains(2));
        assert!(history.contains(3) && history.contains(last) && !history.contains(last + 1));
    }
}
