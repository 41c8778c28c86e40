//! Members of archives, as their readers report them.

use std::io::Read;

use crate::outcome::Reason;

/// The content of a member of an archive.
pub(crate) enum MemberContent<'c> {
    /// Its bytes, and the stated number of them.
    Bytes(&'c mut dyn Read, Option<u64>),
    /// Nothing: it cannot be read.
    Closed(Reason),
}

/// Takes the members of an archive: a name, as the archive has it, and the content. Ends the reading with the reason
/// that it returns.
pub(crate) type VisitMember<'e> = dyn FnMut(&str, MemberContent<'_>) -> Result<(), Reason> + 'e;
