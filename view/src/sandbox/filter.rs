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

/// Refuses all other calls of this process from now on; true if the filter is in force.
///
/// A call that is refused fails as if it were not permitted: it does nothing, and a library that tries something
/// needless goes on without it.
pub(super) fn apply() -> bool {
    filter().is_some_and(|program| seccompiler::apply_filter(&program).is_ok())
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
    let refused = SeccompAction::Errno(u32::try_from(c::EPERM).ok()?);
    let architecture = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture).ok()?.try_into().ok()
}

fn rule(argument: u8, operation: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}
