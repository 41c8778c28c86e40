//! The system calls that a child may still make.

use std::collections::BTreeMap;

use libc as c;
use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule};

/// Calls that act on nothing but memory, time, and descriptors that are open.
const ALLOWED: &[c::c_long] = &[
    c::SYS_read,
    c::SYS_write,
    c::SYS_pread64,
    c::SYS_recvmsg,
    c::SYS_sendto,
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

/// Refuses all other calls of this process, now and for ever; whether that holds.
///
/// A call that is refused fails as if it were not permitted: it does nothing, and a library that tries something needless
/// goes on without it.
pub(super) fn apply() -> bool {
    filter().is_some_and(|program| seccompiler::apply_filter(&program).is_ok())
}

fn filter() -> Option<seccompiler::BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|&call| (call, Vec::new())).collect();
    // Memory that can be run is never made.
    let executable = u64::try_from(c::PROT_EXEC).ok()?;
    for call in [c::SYS_mmap, c::SYS_mprotect] {
        rules.insert(call, vec![rule(2, SeccompCmpOp::MaskedEq(executable), 0)?]);
    }
    // Signals go to this process alone: it ends itself with one.
    let own = u64::from(std::process::id());
    rules.insert(c::SYS_tgkill, vec![rule(0, SeccompCmpOp::Eq, own)?]);
    let refused = SeccompAction::Errno(u32::try_from(c::EPERM).ok()?);
    let architecture = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture).ok()?.try_into().ok()
}

fn rule(argument: u8, operation: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}
