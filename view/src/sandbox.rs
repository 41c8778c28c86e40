//! The sandbox of a child: the rights that it gives up before it reads a document.

#[cfg_attr(not(target_os = "linux"), path = "sandbox/no_filter.rs")]
mod filter;
mod resources;

use std::fmt;

use crate::limits::Limits;

/// The rights that a child has given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Confinement {
    /// It can take no more memory, open nothing and start nothing: resource limits are in force.
    pub resources: bool,
    /// It can make only the few system calls that it needs: a filter is in force.
    pub system_calls: bool,
}

impl Confinement {
    /// True if everything is in force.
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
    /// The confinement, as the end of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.resources, self.system_calls) {
            (true, true) => "by resource limits and a filter of system calls",
            (true, false) => "by resource limits alone: this system has no filter of system calls",
            (false, true) => "by a filter of system calls alone: its resource limits could not be set",
            (false, false) => "by a process of its own alone",
        })
    }
}

/// Gives up all rights of this process except reading and answering.
pub(crate) fn confine(limits: &Limits) -> Confinement {
    Confinement { resources: resources::limit(limits), system_calls: filter::apply() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confinement_comes_back_from_its_bits() {
        for (resources, system_calls) in [(false, false), (true, false), (false, true), (true, true)] {
            let confinement = Confinement { resources, system_calls };
            assert_eq!(Confinement::from_bits(confinement.to_bits()), confinement);
            assert_eq!(confinement.is_full(), resources && system_calls);
            assert!(confinement.to_string().starts_with("by "));
        }
    }
}
