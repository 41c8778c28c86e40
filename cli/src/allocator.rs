//! Memory of the process: settings of the C library's allocator, and large blocks beyond a limit in a file.
//!
//! By itself the allocator keeps an arena of free memory for nearly every thread, and gives little of it back. A comparison allocates on
//! many threads, one step after the other, so that the arenas of the steps before would add a third to the greatest
//! resident memory (`docs/performance.md`). Two arenas cost no time there.

#[cfg(target_os = "linux")]
mod large_blocks;

use std::path::Path;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: large_blocks::LargeBlocks = large_blocks::LargeBlocks;

/// Keeps large blocks of memory beyond so many bytes of them in a file without a name in a folder, from now on.
pub(crate) fn keep_large_blocks_in(folder: &Path, memory_bytes_max: u64) {
    #[cfg(target_os = "linux")]
    if let Err(error) = large_blocks::keep_in(folder, memory_bytes_max) {
        tracing::warn!(%error, folder = %folder.display(), "there is no file for large blocks of memory: all of them are in memory");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (folder, memory_bytes_max);
}

/// Memory at the end of an arena beyond this is given back. With less, threads would ask for the same pages again and again.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const FREE_BYTES_MAX: i32 = 4 << 20;
/// Blocks of this size and more are returned at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BYTES_MIN: i32 = 1 << 20;

/// Limits the arenas, unless the environment says something about them. To be called before there are threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library offers this setting in no other way to a running process")]
pub(crate) fn limit_arenas() {
    let settings = ["MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"];
    if settings.iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    // SAFETY: `mallopt` takes two numbers and touches the settings of the allocator alone; there is one thread yet. A setting
    // that is refused stays as it was.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
        libc::mallopt(libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_BYTES_MIN);
    }
}

/// A daemon gives back what a sync or a scan has left of free memory within this time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GIVE_BACK_AFTER: std::time::Duration = std::time::Duration::from_secs(30);

/// Gives free memory back from time to time, as long as the process lives. By itself the allocator gives back only the end of an arena, and one row that
/// a daemon keeps is enough for all before it to stay.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn keep_giving_back() {
    let endless = || {
        let mut refused_before = 0;
        loop {
            std::thread::sleep(GIVE_BACK_AFTER);
            give_back();
            let refused = large_blocks::refused();
            if refused > refused_before {
                tracing::warn!(
                    "the disk of the state gives no room for large blocks of memory: they are in memory, beyond its budget"
                );
            }
            refused_before = refused;
        }
    };
    // Without the thread, the daemon only keeps more memory.
    let _ = std::thread::Builder::new().name("give-back".to_owned()).spawn(endless);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library offers this in no other way")]
fn give_back() {
    // SAFETY: `malloc_trim` takes a number, locks the arenas itself, and gives back pages of free blocks alone.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other C libraries have no such arenas.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit_arenas() {}

/// Other C libraries have no such arenas.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_giving_back() {}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    /// Bytes of memory that the process has of its own.
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells of this process");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("there is such a line");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("it has a number of kilobytes") << 10
    }

    #[test]
    fn free_memory_between_rows_that_are_kept_is_given_back() {
        const BYTES: usize = 64 << 20;
        let before = resident();
        let rows: Vec<Box<[u8; 256]>> =
            (0..BYTES / 256).map(|number| Box::new([u8::try_from(number % 251).unwrap(); 256])).collect();
        // One in a thousand is kept, the last one among them.
        let kept: Vec<Box<[u8; 256]>> =
            rows.into_iter().rev().enumerate().filter(|(place, _)| place % 1000 == 0).map(|(_, row)| row).collect();
        let with_holes = resident();
        give_back();
        let after = resident();
        assert!(with_holes > before + BYTES / 2, "the rows at the end hold the others: {before} {with_holes}");
        assert!(after < before + BYTES / 2, "{before} {with_holes} {after}");
        assert!(kept.len() > 200);
    }
}
