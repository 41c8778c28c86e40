//! Documents inside of other documents that are no archives.

use crate::outcome::Reason;
use crate::source::Source;

/// Takes a document inside of another: its name there, and its bytes. It ends the visit with the reason that it
/// returns.
pub type VisitEmbedded<'e> = dyn FnMut(&str, &mut dyn Source) -> Result<(), Reason> + 'e;
