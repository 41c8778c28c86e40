//! The system calls that a child may still make.

use std::collections::BTreeMap;

use libc as c;
use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule};

/// Calls that act on nothing but memory, time, and descriptors that are open.
const ALLOWED: &[c::c_long] = &[
    c::SYS_pread64,
    c::SYS_fstat,
    c::SYS_close,
    c::SYS_brk,
    c::SYS_munmap,
    c::SYS_mremap,
    c::SYS_madvise,
    c::SYS_futex,
    c::SYS_getrandom,
    c::SYS_clock_gettime,
    c::SYS_sched_yield,
    c::SYS_gettid,
    c::SYS_getpid,
    c::SYS_rt_sigaction,
    c::SYS_rt_sigprocmask,
    c::SYS_rt_sigreturn,
    c::SYS_sigaltstack,
    c::SYS_restart_syscall,
    c::SYS_exit,
    c::SYS_exit_group,
];

/// What another program needs besides, to load its libraries and to read its data. The files are chosen elsewhere.
const ALLOWED_TO_PROGRAM: &[c::c_long] = &[
    c::SYS_execve,
    c::SYS_read,
    c::SYS_readv,
    c::SYS_lseek,
    c::SYS_newfstatat,
    c::SYS_statx,
    c::SYS_faccessat,
    c::SYS_faccessat2,
    c::SYS_readlinkat,
    c::SYS_getdents64,
    c::SYS_fcntl,
    c::SYS_mmap,
    c::SYS_mprotect,
    c::SYS_set_tid_address,
    c::SYS_set_robust_list,
    c::SYS_rseq,
    c::SYS_prlimit64,
    c::SYS_sysinfo,
    c::SYS_uname,
    c::SYS_getcwd,
    c::SYS_getuid,
    c::SYS_geteuid,
    c::SYS_getgid,
    c::SYS_getegid,
    c::SYS_gettimeofday,
    c::SYS_clock_getres,
    c::SYS_sched_getaffinity,
    c::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    c::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    c::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    c::SYS_access,
    #[cfg(target_arch = "x86_64")]
    c::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    c::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    c::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    c::SYS_time,
];

/// Refuses all other calls of this process from now on; true if the filter is in force.
///
/// A call that is refused fails as if it were not permitted: it does nothing, and a library that tries something
/// needless goes on without it.
pub(super) fn apply() -> bool {
    filter().is_some_and(|program| seccompiler::apply_filter(&program).is_ok())
}

/// The same for the program that this process becomes: it can read the files that it may open, and write to its outputs. It
/// can write no file, connect nowhere and start no other process.
pub(super) fn apply_to_program() -> bool {
    filter_of_program().is_some_and(|program| seccompiler::apply_filter(&program).is_ok())
}

/// Gives up the right to gain rights, which other restrictions ask for; true if that is in force.
pub(super) fn gain_no_rights() -> bool {
    rustix::thread::set_no_new_privs(true).is_ok()
}

fn filter_of_program() -> Option<seccompiler::BpfProgram> {
    let allowed = ALLOWED.iter().chain(ALLOWED_TO_PROGRAM);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = allowed.map(|&call| (call, Vec::new())).collect();
    let writing = u64::try_from(c::O_ACCMODE | c::O_CREAT | c::O_TRUNC).ok()?;
    let reads = rule(2, SeccompCmpOp::MaskedEq(writing), 0)?;
    rules.insert(c::SYS_openat, vec![reads]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(c::SYS_open, vec![rule(1, SeccompCmpOp::MaskedEq(writing), 0)?]);
    // Standard output and standard error.
    let outputs = || Some(vec![rule(0, SeccompCmpOp::Eq, 1)?, rule(0, SeccompCmpOp::Eq, 2)?]);
    rules.insert(c::SYS_write, outputs()?);
    rules.insert(c::SYS_writev, outputs()?);
    rules.insert(c::SYS_tgkill, vec![rule(0, SeccompCmpOp::Eq, u64::from(std::process::id()))?]);
    program_of(rules)
}

fn filter() -> Option<seccompiler::BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    let executable = u64::try_from(c::PROT_EXEC).ok()?;
    let only = [
        // Standard input is the socket of the parent, and a panic prints to standard error; no other descriptor is
        // written to.
        (c::SYS_recvmsg, 0, SeccompCmpOp::Eq, 0),
        (c::SYS_sendto, 0, SeccompCmpOp::Eq, 0),
        (c::SYS_write, 0, SeccompCmpOp::Eq, 2),
        // Executable memory is never mapped.
        (c::SYS_mmap, 2, SeccompCmpOp::MaskedEq(executable), 0),
        (c::SYS_mprotect, 2, SeccompCmpOp::MaskedEq(executable), 0),
        // Signals go to this process alone: it ends itself with one.
        (c::SYS_tgkill, 0, SeccompCmpOp::Eq, u64::from(std::process::id())),
    ];
    for (call, argument, operation, value) in only {
        rules.insert(call, vec![rule(argument, operation, value)?]);
    }
    program_of(rules)
}

fn program_of(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Option<seccompiler::BpfProgram> {
    let refused = SeccompAction::Errno(u32::try_from(c::EPERM).ok()?);
    let architecture = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture).ok()?.try_into().ok()
}

fn rule(argument: u8, operation: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}
