//! The sandbox of a child: the rights that it gives up before it reads a document. And that of the program that recognises
//! text, which needs some more: a confined process becomes it.

#[cfg_attr(not(target_os = "linux"), path = "sandbox/no_files.rs")]
mod files;
#[cfg_attr(not(target_os = "linux"), path = "sandbox/no_filter.rs")]
mod filter;
mod resources;

use std::fmt;
use std::path::Path;

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

/// The rights that a program has that recognises text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramConfinement {
    /// Its memory, its processor time and its files are limited.
    pub resources: bool,
    /// It can write no file, connect nowhere and start nothing.
    pub system_calls: bool,
    /// It can open its own files alone.
    pub files: bool,
}

impl ProgramConfinement {
    /// True if everything is in force.
    pub fn is_full(self) -> bool {
        self.resources && self.system_calls && self.files
    }

    pub(crate) fn to_bits(self) -> u8 {
        u8::from(self.resources) | u8::from(self.system_calls) << 1 | u8::from(self.files) << 2
    }

    pub(crate) fn from_bits(bits: u8) -> ProgramConfinement {
        let is_set = |bit: u8| bits >> bit & 1 != 0;
        ProgramConfinement { resources: is_set(0), system_calls: is_set(1), files: is_set(2) }
    }
}

impl fmt::Display for ProgramConfinement {
    /// The restrictions that are missing, as the end of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = [
            (self.resources, "limits of its memory and time"),
            (self.system_calls, "a filter of its system calls"),
            (self.files, "a choice of the files that it may open"),
        ];
        let missing: Vec<&str> = missing.iter().filter(|(is_set, _)| !is_set).map(|(_, name)| *name).collect();
        if missing.is_empty() { f.write_str("nothing") } else { f.write_str(&missing.join(" and ")) }
    }
}

/// Gives up all rights of this process that a program does not need which recognises text.
pub(crate) fn confine_program(
    memory_bytes: u64,
    seconds: u64,
    program: &Path,
    data: Option<&Path>,
) -> ProgramConfinement {
    let resources = resources::limit_program(memory_bytes, seconds);
    let files = filter::gain_no_rights() && files::allow_program(program, data);
    ProgramConfinement { resources, files, system_calls: filter::apply_to_program() }
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

    #[test]
    fn a_program_names_the_restrictions_that_it_lacks() {
        for bits in 0..8 {
            let confinement = ProgramConfinement::from_bits(bits);
            assert_eq!(confinement.to_bits(), bits);
            assert_eq!(confinement.is_full(), bits == 7);
            assert_eq!(confinement.to_string() == "nothing", bits == 7);
        }
        let files = ProgramConfinement::from_bits(0b011).to_string();
        assert_eq!(files, "a choice of the files that it may open");
    }
}
