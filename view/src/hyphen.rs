//! Hyphens at the ends of lines.

/// The line without a hyphen that only parts a word for the end of the line: a soft one, or one between small letters.
pub(crate) fn without_hyphen<'l>(line: &'l str, next: &str) -> Option<&'l str> {
    if let Some(part) = line.strip_suffix('\u{AD}') {
        return Some(part);
    }
    let part = line.strip_suffix(['-', '\u{2010}'])?;
    let before = part.chars().next_back()?;
    let after = next.trim_start().chars().next()?;
    (before.is_lowercase() && after.is_lowercase()).then_some(part)
}
