//! 7z, by the decoder of a crate: one block after the other, each with several files.

use std::io::{self, BufReader};
use std::rc::Rc;

use sevenz_rust2::{Archive, BlockDecoder, Error, Password};

use crate::budget::{Budget, Counted, Metered, reason};
use crate::outcome::Reason;
use crate::source::Source;

use super::member::{MemberContent, VisitMember};

/// Visits the files of a 7z archive.
///
/// # Errors
/// The reason why it could not be read to its end; the visits before remain valid.
pub(crate) fn seven_zip(
    source: &mut dyn Source,
    budget: &Rc<Budget>,
    each: &mut VisitMember<'_>,
) -> Result<(), Reason> {
    let (source, compressed) = Counted::new(source);
    let mut source = BufReader::new(source);
    let none = Password::empty();
    let archive = Archive::read(&mut source, &none).map_err(reason_of)?;
    let mut result = Ok(());
    for block in 0..archive.blocks.len() {
        compressed.set(0);
        let decoder = BlockDecoder::new(1, block, &archive, &none, &mut source);
        let entries = decoder.entries().iter().filter(|entry| entry.has_stream());
        let names: Vec<String> = entries.map(|entry| entry.name().to_owned()).collect();
        let mut visited = 0;
        let mut visited_entry = Ok(());
        let unpacked = decoder.for_each_entries(&mut |entry, bytes| {
            if !entry.has_stream() {
                return Ok(true);
            }
            visited += 1;
            let mut bytes = Metered::new(bytes, budget, Rc::clone(&compressed));
            visited_entry = each(entry.name(), MemberContent::Bytes(&mut bytes, Some(entry.size())));
            // The next file comes after the rest of this one, which is within the limits as well.
            if visited_entry.is_ok() {
                io::copy(&mut bytes, &mut io::sink())?;
            }
            Ok(visited_entry.is_ok())
        });
        visited_entry?;
        if let Err(error) = unpacked {
            let reason = reason_of(error);
            // The files after the damage in the same block.
            for name in &names[visited..] {
                each(name, MemberContent::Closed(reason))?;
            }
            result = result.and(if reason == Reason::Encrypted && visited == 0 { Ok(()) } else { Err(reason) });
        }
    }
    for entry in archive.files.iter().filter(|entry| !entry.has_stream() && !entry.is_directory()) {
        if !entry.is_anti_item() {
            each(entry.name(), MemberContent::Bytes(&mut io::empty(), Some(0)))?;
        }
    }
    result
}

fn reason_of(error: Error) -> Reason {
    match error {
        Error::Io(error, _) | Error::MaybeBadPassword(error) => reason(&error),
        Error::PasswordRequired => Reason::Encrypted,
        // AES is the one method that is left out on purpose.
        Error::UnsupportedCompressionMethod(name) if name.contains("AES") => Reason::Encrypted,
        Error::UnsupportedCompressionMethod(_) | Error::Unsupported(_) | Error::ExternalUnsupported => {
            Reason::Unsupported
        }
        Error::MaxMemLimited { .. } => Reason::OutOfMemory,
        _ => Reason::Damaged,
    }
}
