//! Archives and compressed files: what they hold, one after the other, never on a disk.

mod compressed;
mod member;
mod name;
#[cfg(unix)]
mod seven_zip;
mod tar;
mod zip;

pub(crate) use compressed::{decoder, own_name};
pub(crate) use member::MemberContent;
pub(crate) use name::{Names, without_ending};
#[cfg(unix)]
pub(crate) use seven_zip::seven_zip;
pub(crate) use tar::tar;
pub(crate) use zip::zip;
