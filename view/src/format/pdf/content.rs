//! Content streams: their operators that matter to text, forms and annotations included.

use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_syntax::object::dict::keys::{
    ACTUAL_TEXT, ANNOTS, AP, AS, BBOX, F, FONT, FORM, IMAGE, MATRIX, N, RECT, RESOURCES, SUBTYPE,
};
use hayro_syntax::object::{Array, Dict, Name, Number, Object, Rect, Stream, String};
use hayro_syntax::page::{Page, Resources};

use super::drawn::Drawn;
use super::font::{Fonts, UsedFont};
use super::geometry::{Matrix, Point};
use super::layers::Layers;
use super::pictures::Pictures;
use super::state::States;
use super::{form, strings};

/// Depth of forms within each other at most.
const DEPTH_MAX: u32 = 50;
/// Forms of a page that are read at most.
const FORMS_MAX: u32 = 1 << 20;
/// Annotations with one of these flags are not shown.
const HIDDEN: u32 = 1 << 1 | 1 << 5;

/// Reads the content of one page.
pub(super) struct Content<'c, 'a> {
    fonts: &'c mut Fonts<'a>,
    layers: Layers,
    drawn: &'c mut Drawn,
    pictures: &'c mut Pictures<'a>,
    states: States,
    depth: u32,
    forms: u32,
    /// True if readers draw the values of fields.
    draws_values: bool,
}

impl<'c, 'a> Content<'c, 'a> {
    /// Reads a page and its annotations.
    pub(super) fn read(
        page: &Page<'a>,
        fonts: &'c mut Fonts<'a>,
        drawn: &'c mut Drawn,
        pictures: &'c mut Pictures<'a>,
    ) {
        let layers = Layers::of(page.xref());
        let draws_values = form::needs_appearances(page.xref());
        let states = States::default();
        let mut content = Content { fonts, layers, drawn, pictures, states, depth: 0, forms: 0, draws_values };
        content.run(page.typed_operations(), page.resources());
        let annotations = page.raw().get::<Array<'_>>(ANNOTS);
        for annotation in annotations.iter().flat_map(|all| all.iter::<Dict<'_>>()) {
            content.annotation(&annotation, page.resources());
        }
    }

    fn run(&mut self, mut operations: TypedIter<'_>, resources: &Resources<'a>) {
        let depth = self.states.depth();
        self.states.save();
        while let Some(operation) = operations.next() {
            self.step(&operation, resources);
        }
        self.states.restore_to(depth);
    }

    fn step(&mut self, operation: &Op<'_, '_>, resources: &Resources<'a>) {
        match operation {
            Op::SaveState(_) => self.states.save(),
            Op::RestoreState(_) => self.states.restore(),
            Op::Transform(m) => self.transform(matrix([m.0, m.1, m.2, m.3, m.4, m.5])),
            Op::SetGraphicsState(name) => self.graphics_state(name.0, resources),
            Op::XObject(name) => self.external(name.0, resources),
            Op::BeginMarkedContent(_) => {
                self.layers.begin();
                self.drawn.begin_marked(None);
            }
            Op::BeginMarkedContentWithProperties(marked) => {
                self.layers.begin_with(marked.1, resources);
                self.drawn.begin_marked(actual_text(marked.1, resources));
            }
            Op::EndMarkedContent(_) => {
                self.layers.end();
                self.drawn.end_marked();
            }
            Op::TextFont(font) => {
                let used = self.named_font(font.0, resources);
                self.use_font(used, font.1.as_f32());
            }
            Op::ShowText(text) => self.show_one(text.0),
            Op::ShowTexts(parts) => self.show_parts(parts.0),
            Op::NextLineAndShowText(text) => {
                self.states.now().text.next_line_by_leading();
                self.show_one(text.0);
            }
            Op::ShowTextWithParameters(all) => {
                let text = &mut self.states.now().text;
                text.word_space = all.0.as_f32();
                text.character_space = all.1.as_f32();
                text.next_line_by_leading();
                self.show_one(all.2);
            }
            other => self.text_state(other),
        }
    }

    fn text_state(&mut self, operation: &Op<'_, '_>) {
        let text = &mut self.states.now().text;
        match operation {
            Op::BeginText(_) => text.set_matrix(Matrix::IDENTITY),
            Op::SetTextMatrix(m) => text.set_matrix(matrix([m.0, m.1, m.2, m.3, m.4, m.5])),
            Op::HorizontalScaling(scale) => text.horizontal_scale = scale.0.as_f32(),
            Op::TextLeading(leading) => text.leading = leading.0.as_f32(),
            Op::CharacterSpacing(space) => text.character_space = space.0.as_f32(),
            Op::WordSpacing(space) => text.word_space = space.0.as_f32(),
            Op::TextRise(rise) => text.rise = rise.0.as_f32(),
            Op::TextRenderingMode(mode) => text.is_outlined = matches!(mode.0.as_i64(), 1 | 5),
            Op::NextLine(by) => text.next_line(by.0.as_f64(), by.1.as_f64()),
            Op::NextLineUsingLeading(_) => text.next_line_by_leading(),
            Op::NextLineAndSetLeading(by) => {
                text.leading = -by.1.as_f32();
                text.next_line(by.0.as_f64(), by.1.as_f64());
            }
            _ => {}
        }
    }

    fn transform(&mut self, by: Matrix) {
        let state = self.states.now();
        state.matrix = state.matrix * by;
    }

    /// The font with a name, or a substitute if the page has none.
    fn named_font(&mut self, name: &Name<'_>, resources: &Resources<'a>) -> UsedFont {
        match resources.get_font(name) {
            Some(font) => self.fonts.get(&font),
            None => self.fonts.substitute(),
        }
    }

    fn use_font(&mut self, font: UsedFont, size: f32) {
        let text = &mut self.states.now().text;
        text.font = Some(font);
        text.size = size;
    }

    fn graphics_state(&mut self, name: &Name<'_>, resources: &Resources<'a>) {
        let font = resources.get_ext_g_state(name).and_then(|state| state.get::<Array<'_>>(FONT));
        let Some(font) = font else { return };
        let mut parts = font.iter::<Object<'_>>();
        let (Some(Object::Dict(font)), Some(Object::Number(size))) = (parts.next(), parts.next()) else {
            return;
        };
        let used = self.fonts.get(&font);
        self.use_font(used, size.as_f32());
    }

    fn show_one(&mut self, text: &String<'_>) {
        self.show(|content| content.append(text));
    }

    fn show_parts(&mut self, parts: &Array<'_>) {
        self.show(|content| {
            for part in parts.iter::<Object<'_>>() {
                match part {
                    Object::Number(adjustment) => content.states.now().text.adjust(adjustment.as_f32()),
                    Object::String(text) => content.append(&text),
                    _ => {}
                }
            }
        });
    }

    fn show(&mut self, append: impl FnOnce(&mut Self)) {
        if self.states.now().text.font.is_none() {
            self.states.now().text.font = Some(self.fonts.substitute());
        }
        append(self);
        self.drawn.end_run(self.states.now().text.is_outlined);
    }

    fn append(&mut self, text: &String<'_>) {
        let Some(UsedFont { font, is_substitute }) = self.states.now().text.font.clone() else {
            return;
        };
        let mut bytes = text.as_bytes();
        // The letters of a substitute are only right within ASCII.
        let is_shown = self.layers.is_visible() && (!is_substitute || bytes.is_ascii());
        while !bytes.is_empty() {
            let (code, length) = font.read_code(bytes);
            bytes = bytes.get(length..).unwrap_or_default();
            let state = self.states.now();
            if is_shown {
                let place = state.matrix * state.text.character_matrix(font.origin(code));
                self.drawn.draw(&font, code, place);
            }
            state.text.advance(font.advance(code), code == 32 && length == 1);
        }
    }

    fn external(&mut self, name: &Name<'_>, resources: &Resources<'a>) {
        let Some(stream) = resources.get_x_object(name) else { return };
        let subtype = stream.dict().get::<Name<'_>>(SUBTYPE);
        if subtype.as_deref() == Some(FORM) && stream.dict().contains_key(BBOX) {
            self.form(&stream, resources);
        } else if subtype.as_deref() == Some(IMAGE) && self.layers.is_visible() {
            self.pictures.draw(stream, self.states.now().matrix);
        }
    }

    fn form(&mut self, stream: &Stream<'a>, resources: &Resources<'a>) {
        if !self.layers.is_visible() || self.depth >= DEPTH_MAX || self.forms >= FORMS_MAX {
            return;
        }
        self.forms += 1;
        let is_layer = self.layers.begin_form(stream.dict());
        if self.layers.is_visible()
            && let Ok(content) = stream.decoded_data()
        {
            let own = stream.dict().get(RESOURCES).map(Resources::new);
            self.depth += 1;
            self.states.save();
            self.transform(form_matrix(stream.dict()));
            self.run(TypedIter::new(&content), own.as_ref().unwrap_or(resources));
            self.states.restore();
            self.depth -= 1;
        }
        if is_layer {
            self.layers.end();
        }
    }

    fn annotation(&mut self, annotation: &Dict<'a>, resources: &Resources<'a>) {
        if annotation.get::<u32>(F).unwrap_or(0) & HIDDEN != 0 {
            return;
        }
        let value = form::value(annotation);
        if value.is_none() || !self.draws_values {
            let before = self.drawn.count();
            self.appearance(annotation, resources);
            if self.drawn.count() > before {
                return;
            }
        }
        value.iter().flatten().for_each(|line| self.drawn.value(line));
    }

    /// Reads what an annotation is shown as.
    fn appearance(&mut self, annotation: &Dict<'a>, resources: &Resources<'a>) {
        if let Some(form) = appearance(annotation)
            && let Some(place) = annotation.get::<Rect>(RECT)
            && let Some(own) = form.dict().get::<[f32; 4]>(BBOX)
        {
            self.states.save();
            self.transform(fitting(form_matrix(form.dict()).bounds(own.map(f64::from)), place));
            self.form(&form, resources);
            self.states.restore();
        }
    }
}

/// The text that the document gives for what it draws from here on.
fn actual_text(properties: &Object<'_>, resources: &Resources<'_>) -> Option<std::string::String> {
    let named = properties.clone().into_name().and_then(|name| resources.properties.get::<Dict<'_>>(&*name));
    let properties = named.or_else(|| properties.clone().into_dict())?;
    properties.get::<String<'_>>(ACTUAL_TEXT).map(|text| strings::text(text.as_bytes()))
}

fn matrix(numbers: [Number; 6]) -> Matrix {
    Matrix(numbers.map(|number| number.as_f64()))
}

fn form_matrix(form: &Dict<'_>) -> Matrix {
    form.get::<[f64; 6]>(MATRIX).map_or(Matrix::IDENTITY, Matrix)
}

/// The form that an annotation is shown as, in its present state.
fn appearance<'a>(annotation: &Dict<'a>) -> Option<Stream<'a>> {
    match annotation.get::<Dict<'_>>(AP)?.get::<Object<'_>>(N)? {
        Object::Stream(form) => Some(form),
        Object::Dict(states) => {
            let named = annotation.get::<Name<'_>>(AS).and_then(|state| states.get::<Stream<'_>>(state));
            named.or_else(|| states.get::<Stream<'_>>(b"Off"))
        }
        _ => None,
    }
}

/// The map from a rectangle to the place of its annotation.
fn fitting((low, high): (Point, Point), place: Rect) -> Matrix {
    let wide = (place.x1 - place.x0) / (high.x - low.x);
    let high = (place.y1 - place.y0) / (high.y - low.y);
    Matrix([wide, 0.0, 0.0, high, place.x0 - wide * low.x, place.y0 - high * low.y])
}
