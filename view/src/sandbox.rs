//! What a child gives up before it sees a document.

#[cfg_attr(not(target_os = "linux"), path = "sandbox/no_filter.rs")]
mod filter;
mod resources;

use std::fmt;

use crate::limits::Limits;

/// What keeps a child from doing anything but reading the documents that it is handed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Confinement {
    /// It can take no more memory, open nothing and start nothing: resource limits hold.
    pub resources: bool,
    /// It can make no system calls but the few that it needs: a filter holds.
    pub system_calls: bool,
}

impl Confinement {
    /// Whether everything is in force.
    pub fn is_full(self) -> bool {
        self.resources && self.system_calls
    }

    pub(crate) fn to_bits(self) -> u8 {
        u8::from(self.resources) | u8::from(self.system_calls) << 1
    }

    pub(crate) fn from_bits(bits: u8) -> Confinement {
        Confinement { resources: bits & 1 != 0, system_calls: bits & 2 != 0 }
    }
}

impl fmt::Display for Confinement {
    /// What is in force, as the end of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.resources, self.system_calls) {
            (true, true) => "by resource limits and a filter of system calls",
            (true, false) => "by resource limits alone: this system has no filter of system calls",
            (false, true) => "by a filter of system calls alone: its resource limits could not be set",
            (false, false) => "by a process of its own alone",
        })
    }
}

/// Gives up what this process may do, down to reading and answering.
pub(crate) fn confine(limits: &Limits) -> Confinement {
    Confinement { resources: resources::limit(limits), system_calls: filter::apply() }
}
