//! Fields of forms: the values of those that the document does not draw itself, as readers draw them.

use hayro_syntax::object::dict::keys::{
    ACRO_FORM, BTN, CH, FT, NEED_APPEARANCES, OPT, PARENT, RECT, SIG, SUBTYPE, V, WIDGET,
};
use hayro_syntax::object::{Array, Dict, Name, Object, Rect, Stream, String as PdfString};
use hayro_syntax::xref::XRef;

use super::geometry::Point;
use super::lines::Mark;
use super::strings;

/// Fields above a field that are looked at for what it inherits, at most.
const PARENTS_MAX: usize = 32;
/// The size in which a value is taken to be drawn.
const SIZE: f64 = 10.0;

/// True if the document leaves drawing the values of all its fields to readers.
pub(super) fn needs_appearances(xref: &XRef) -> bool {
    let catalog = xref.get::<Dict<'_>>(xref.root_id());
    let form = catalog.and_then(|catalog| catalog.get::<Dict<'_>>(ACRO_FORM));
    form.and_then(|form| form.get::<bool>(NEED_APPEARANCES)).unwrap_or(false)
}

/// A line of a value, and its place.
pub(super) struct ValueLine {
    pub(super) text: String,
    pub(super) mark: Mark,
}

/// The value of an annotation that is a field of text or a choice. None if it is none, or empty.
pub(super) fn value(annotation: &Dict<'_>) -> Option<Vec<ValueLine>> {
    if annotation.get::<Name<'_>>(SUBTYPE).as_deref() != Some(WIDGET) {
        return None;
    }
    let kind = inherited(annotation, FT)?.into_name()?;
    if matches!(&*kind, BTN | SIG) {
        return None;
    }
    let value = match inherited(annotation, V)? {
        Object::String(text) => strings::text(text.as_bytes()),
        Object::Stream(stream) => long_text(&stream)?,
        Object::Array(all) => {
            let each: Vec<String> = all.iter::<PdfString<'_>>().map(|text| strings::text(text.as_bytes())).collect();
            each.join("\n")
        }
        _ => return None,
    };
    let value = if &*kind == CH { shown_choices(annotation, &value) } else { value };
    let place = annotation.get::<Rect>(RECT)?;
    let (wide, top) = ((place.x1 - place.x0) / SIZE, place.y1 - SIZE);
    let line = |(below, text): (u16, &str)| {
        let origin = Point::new(place.x0, top - SIZE * f64::from(below));
        let mark = Mark { origin, along: Point::new(1.0, 0.0), size: SIZE, advance: wide, upright: false };
        ValueLine { text: text.trim().to_owned(), mark }
    };
    let value = value.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<ValueLine> = (0..=u16::MAX).zip(value.lines()).map(line).collect();
    lines.iter().any(|line| !line.text.is_empty()).then_some(lines)
}

fn long_text(stream: &Stream<'_>) -> Option<String> {
    Some(strings::text(&stream.decoded_data().ok()?))
}

/// The words that a choice shows for the values that it exports.
fn shown_choices(field: &Dict<'_>, values: &str) -> String {
    let options = inherited(field, OPT).and_then(Object::into_array);
    let shown = |value: &str| {
        let pairs = options.iter().flat_map(|options| options.iter::<Array<'_>>());
        pairs
            .filter_map(|pair| {
                let mut texts = pair.iter::<PdfString<'_>>().map(|text| strings::text(text.as_bytes()));
                Some((texts.next()?, texts.next()?))
            })
            .find(|(export, _)| export == value)
            .map(|(_, shown)| shown)
    };
    let lines: Vec<String> = values.lines().map(|value| shown(value).unwrap_or_else(|| value.to_owned())).collect();
    lines.join("\n")
}

/// An entry of a field, or of one above it.
fn inherited<'a>(field: &Dict<'a>, key: &[u8]) -> Option<Object<'a>> {
    let mut field = field.clone();
    for _ in 0..PARENTS_MAX {
        match field.get::<Object<'_>>(key) {
            Some(value) => return Some(value),
            None => field = field.get::<Dict<'_>>(PARENT)?,
        }
    }
    None
}
