//! For systems on which no filter of system calls is implemented.

/// Applies no filter.
pub(super) fn apply() -> bool {
    false
}
