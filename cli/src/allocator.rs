//! Settings of the C library's allocator.
//!
//! By itself it keeps an arena of free memory for nearly every thread, and gives little of it back. A comparison allocates on
//! many threads, one step after the other, so that the arenas of the steps before would add a third to the greatest
//! resident memory (`docs/performance.md`). Two arenas cost no time there.

/// Memory at the end of an arena beyond this is given back; blocks of this size and more are returned at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const FREE_BYTES_MAX: i32 = 128 << 10;

/// Limits the arenas, unless the environment says something about them. To be called before there are threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library offers this setting in no other way to a running process")]
pub(crate) fn limit_arenas() {
    if ["MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_"].iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    // SAFETY: `mallopt` takes two numbers and touches the settings of the allocator alone; there is one thread yet. A setting
    // that is refused stays as it was.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
        libc::mallopt(libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX);
    }
}

/// Other C libraries have no such arenas.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit_arenas() {}
