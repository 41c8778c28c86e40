//! zip: by its directory, or, if that is missing, by the header of each member.

mod directory;
mod local;
mod member;
mod record;

use std::rc::Rc;

use crate::budget::Budget;
use crate::outcome::Reason;
use crate::source::Source;

use super::member::VisitMember;
use member::visit_member;

/// Visits the files of a zip archive; folders and links are none.
///
/// # Errors
/// The reason why it could not be read to its end; the visits before remain valid.
pub(crate) fn zip(source: &mut dyn Source, budget: &Rc<Budget>, each: &mut VisitMember<'_>) -> Result<(), Reason> {
    match directory::read(source, budget.members_left()) {
        Ok(members) => members
            .iter()
            .filter(|member| member.is_file())
            .try_for_each(|member| visit_member(source, member, budget, each)),
        // The directory is missing or broken; the members are before it.
        Err(Reason::Damaged) => local::visit(source, budget, each).and(Err(Reason::Damaged)),
        Err(reason) => Err(reason),
    }
}

#[cfg(test)]
mod tests;
