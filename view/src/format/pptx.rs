//! Presentations of Office Open XML: slide by slide, each with its diagrams, notes and comments.

use crate::format::package::Package;
use crate::format::xml::{Tag, XmlVisitor};
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// The parts next to a slide, in the order in which they are read.
const ROLES: [&str; 3] = ["diagramData", "notesSlide", "comments"];

/// Reads a presentation.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut package = Package::open(source)?;
    let main = package.relations("")?.with_role("officeDocument").into_iter().next();
    let main = main.unwrap_or_else(|| "ppt/presentation.xml".to_owned());
    let mut order = Order::default();
    if !package.walk(&main, &mut order)? {
        return Err(Reason::Damaged);
    }
    let slides = package.relations(&main)?;
    for slide in order.0.iter().filter_map(|id| slides.with_id(id)) {
        package.read_part(slide, text)?;
        let relations = package.relations(slide)?;
        package.read_charts(&relations, text)?;
        for part in ROLES.iter().flat_map(|role| relations.with_role(role)) {
            package.read_part(&part, text)?;
        }
    }
    package.finish()
}

/// The ids of the slides, in order.
#[derive(Default)]
struct Order(Vec<String>);

impl XmlVisitor for Order {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        if tag.name() == "sldId" {
            self.0.extend(tag.reference().map(std::borrow::Cow::into_owned));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
