//! The number of files that the process may have open.

/// Open files that are enough for all listeners and the state.
const DESCRIPTORS: u64 = 65_536;

/// Allows as many open files as the system lets the process have: many systems begin with 1,024, fewer than the listeners of a coordinator
/// hold under a flood, or than the runs of a large comparison.
pub(crate) fn allow_many() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum.map_or(DESCRIPTORS, |maximum| maximum.min(DESCRIPTORS));
    if limit.current.is_some_and(|now| now < current)
        && let Err(error) = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(current), ..limit })
    {
        tracing::warn!(%error, "the limit of open files cannot be raised: raise it, for example by LimitNOFILE");
    }
}
