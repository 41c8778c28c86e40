//! The files that a program may open, by Landlock: the kernel refuses all others.

use std::ffi::c_long;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::Path;

use libc as c;
use rustix::fs::{Mode, OFlags};

/// Where programs, their libraries and their data are. What else is on a machine is none of the program's business.
const PLACES: [&str; 6] = ["/usr", "/lib", "/lib64", "/opt", "/nix/store", "/etc/ld.so.cache"];

const EXECUTE: u64 = 1;
const READ_FILE: u64 = 1 << 2;
const READ_FOLDER: u64 = 1 << 3;
/// What the first version of Landlock knows, and later ones: linking elsewhere, truncating, control of devices.
const ALL_BY_VERSION: [u64; 5] = [(1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1];
/// Connecting and listening, which the fourth version knows.
const NETWORK: u64 = 0b11;
/// Signals and abstract sockets, which the sixth version knows.
const SCOPES: u64 = 0b11;

const CREATE_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;

/// `struct landlock_ruleset_attr`.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// Allows this process, and the program that it becomes, to open the places of programs and nothing else; true if that is in
/// force. It must have given up the right to gain others before.
pub(super) fn allow_program(program: &Path, data: Option<&Path>) -> bool {
    restrict(program, data).is_some()
}

fn restrict(program: &Path, data: Option<&Path>) -> Option<()> {
    let version = create_ruleset(None, CREATE_VERSION)?;
    let version = usize::try_from(version).ok().filter(|version| *version > 0)?;
    let ruleset = Ruleset {
        files: ALL_BY_VERSION[(version - 1).min(ALL_BY_VERSION.len() - 1)],
        network: if version >= 4 { NETWORK } else { 0 },
        scopes: if version >= 6 { SCOPES } else { 0 },
    };
    let rules = create_ruleset(Some((&ruleset, version)), 0)?;
    // SAFETY: the system call has just returned this descriptor, and nothing else has it.
    #[expect(unsafe_code, reason = "the standard library has no call for Landlock")]
    let rules = unsafe { OwnedFd::from_raw_fd(i32::try_from(rules).ok()?) };
    for place in PLACES.map(Path::new).into_iter().chain(data).chain([program]) {
        // Not every machine has every place.
        let Ok(parent) = rustix::fs::open(place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else { continue };
        let is_folder = place.is_dir();
        let allowed = EXECUTE | READ_FILE | if is_folder { READ_FOLDER } else { 0 };
        add_rule(&rules, &PathBeneath { allowed, parent: parent.as_raw_fd() })?;
    }
    restrict_self(&rules)
}

/// Makes a set of rules, or asks for the version that the kernel knows.
fn create_ruleset(ruleset: Option<(&Ruleset, usize)>, flags: u32) -> Option<c_long> {
    // Earlier versions know a shorter structure.
    let (pointer, size) = match ruleset {
        None => (std::ptr::null(), 0),
        Some((ruleset, 6..)) => (std::ptr::from_ref(ruleset), 24),
        Some((ruleset, 4..)) => (std::ptr::from_ref(ruleset), 16),
        Some((ruleset, _)) => (std::ptr::from_ref(ruleset), 8),
    };
    // SAFETY: the pointer is null, or that of a structure that is at least as long as it says and lives for the call.
    #[expect(unsafe_code, reason = "the standard library has no call for Landlock")]
    let result = unsafe { c::syscall(c::SYS_landlock_create_ruleset, pointer, size as c::size_t, flags) };
    (result >= 0).then_some(result)
}

fn add_rule(rules: &OwnedFd, rule: &PathBeneath) -> Option<()> {
    let (rules, rule) = (rules.as_raw_fd(), std::ptr::from_ref(rule));
    // SAFETY: the pointer is that of the structure that this type of rule has, and the structure lives for the call.
    #[expect(unsafe_code, reason = "the standard library has no call for Landlock")]
    let result = unsafe { c::syscall(c::SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, rule, 0_u32) };
    (result == 0).then_some(())
}

fn restrict_self(rules: &OwnedFd) -> Option<()> {
    // SAFETY: the call takes two numbers.
    #[expect(unsafe_code, reason = "the standard library has no call for Landlock")]
    let result = unsafe { c::syscall(c::SYS_landlock_restrict_self, rules.as_raw_fd(), 0_u32) };
    (result == 0).then_some(())
}
