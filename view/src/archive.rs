//! Archives and compressed files: what they hold, one after the other, never on a disk.

mod compressed;
mod name;
mod seven_zip;
mod tar;
mod zip;

use std::io::Read;

use crate::outcome::Reason;

pub(crate) use compressed::{decoder, own_name};
pub(crate) use name::{Names, without_ending};
pub(crate) use seven_zip::seven_zip;
pub(crate) use tar::tar;
pub(crate) use zip::zip;

/// What a member of an archive gives.
pub(crate) enum Content<'c> {
    /// Its bytes, and how many they are said to be.
    Bytes(&'c mut dyn Read, Option<u64>),
    /// Nothing: it cannot be read.
    Closed(Reason),
}

/// Takes the members of an archive: a name, as the archive has it, and the content. Ends the reading with the reason that
/// it returns.
pub(crate) type Each<'e> = dyn FnMut(&str, Content<'_>) -> Result<(), Reason> + 'e;
