//! For systems on which no filter of system calls is implemented.

/// Applies no filter.
pub(super) fn apply() -> bool {
    false
}

/// Applies no filter.
pub(super) fn apply_to_program() -> bool {
    false
}

/// Forbids nothing.
pub(super) fn gain_no_rights() -> bool {
    false
}
