//! Fonts: which letters the codes of a text are, and how wide. Shapes are not read.

mod cff;
mod composite;
mod encoding;
mod glyph_name;
mod numbered;
mod program;
mod simple;
mod standard;
mod type1;

use std::collections::HashMap;
use std::rc::Rc;

use hayro_cmap::{BfString, CMap, CMapName, CidFamily, load_embedded};
use hayro_syntax::object::dict::keys::{MM_TYPE1, OPEN_TYPE, SUBTYPE, TO_UNICODE, TRUE_TYPE, TYPE0, TYPE1, TYPE3};
use hayro_syntax::object::{Dict, Name, Stream};

use self::composite::Composite;
use self::simple::Simple;
use super::geometry::Point;

/// A font of a document.
pub(super) enum Font {
    /// Codes of one byte.
    Simple(Box<Simple>),
    /// Codes of several bytes.
    Composite(Box<Composite>),
}

impl Font {
    fn new(dict: &Dict<'_>) -> Option<Font> {
        let simple = |simple| Font::Simple(Box::new(simple));
        match &*dict.get::<Name<'_>>(SUBTYPE)? {
            TYPE1 | MM_TYPE1 => Simple::type1(dict).map(simple),
            TRUE_TYPE | OPEN_TYPE => Simple::true_type(dict).map(simple),
            TYPE3 => Simple::type3(dict).map(simple),
            TYPE0 => Composite::new(dict).map(|font| Font::Composite(Box::new(font))),
            _ => None,
        }
    }

    /// The code that bytes begin with, and its length, which is at least 1.
    pub(super) fn read_code(&self, bytes: &[u8]) -> (u32, usize) {
        match self {
            Font::Simple(_) => (bytes.first().copied().unwrap_or(0).into(), 1),
            Font::Composite(font) => font.read_code(bytes),
        }
    }

    /// The letters of a code, where they are known.
    pub(super) fn text(&self, code: u32) -> Option<BfString> {
        let text = match self {
            Font::Simple(font) => font.text(code),
            Font::Composite(font) => font.text(code),
        };
        text.filter(is_known)
    }

    /// The width of a code, in thousandths of the size, where it is known.
    pub(super) fn width(&self, code: u32) -> Option<f32> {
        match self {
            Font::Simple(font) => font.width(code),
            #[expect(clippy::cast_possible_truncation, reason = "it is such a number")]
            Font::Composite(font) => Some(font.advance(code).x as f32),
        }
    }

    /// The distance to the next character.
    pub(super) fn advance(&self, code: u32) -> Point {
        match self {
            Font::Simple(font) => Point::new(font.width(code).unwrap_or(0.0).into(), 0.0),
            Font::Composite(font) => font.advance(code),
        }
    }

    /// The place of the character's own origin.
    pub(super) fn origin(&self, code: u32) -> Point {
        match self {
            Font::Simple(_) => Point::ZERO,
            Font::Composite(font) => font.origin(code),
        }
    }

    pub(super) fn is_vertical(&self) -> bool {
        match self {
            Font::Simple(_) => false,
            Font::Composite(font) => font.is_vertical(),
        }
    }
}

/// False where a document says of a letter that it does not know it.
fn is_known(text: &BfString) -> bool {
    !matches!(text, BfString::Char('\0' | char::REPLACEMENT_CHARACTER))
}

/// A font in use.
#[derive(Clone)]
pub(super) struct UsedFont {
    pub(super) font: Rc<Font>,
    /// A substitute, because the document names no font that can be read.
    pub(super) is_substitute: bool,
}

/// The fonts of a document that were read already.
#[derive(Default)]
pub(super) struct Fonts<'a> {
    /// By the place of the dictionary in the document.
    read: HashMap<&'a [u8], Option<Rc<Font>>>,
    substitute: Option<Rc<Font>>,
}

/// A dictionary is identified by its place in the document, or by its bytes.
impl<'a> Fonts<'a> {
    /// The font of a dictionary, or a substitute if it cannot be read.
    pub(super) fn get(&mut self, dict: &Dict<'a>) -> UsedFont {
        let read = self.read.entry(dict.data()).or_insert_with(|| Font::new(dict).map(Rc::new));
        match read {
            Some(font) => UsedFont { font: Rc::clone(font), is_substitute: false },
            None => self.substitute(),
        }
    }

    /// Helvetica.
    pub(super) fn substitute(&mut self) -> UsedFont {
        let helvetica = || Rc::new(Font::Simple(Box::new(Simple::helvetica())));
        let font = Rc::clone(self.substitute.get_or_insert_with(helvetica));
        UsedFont { font, is_substitute: true }
    }
}

/// The map from codes to letters that a font brings itself.
struct ToUnicode {
    map: CMap,
    /// The numbers of characters that it gives are those of Unicode.
    has_numbers: bool,
}

impl ToUnicode {
    fn of(font: &Dict<'_>) -> Option<ToUnicode> {
        if let Some(inside) = font.get::<Stream<'_>>(TO_UNICODE).and_then(|stream| stream.decoded_data().ok()) {
            let map = CMap::parse(&inside, load_embedded)?;
            let family = map.metadata().character_collection.as_ref().map(|collection| &collection.family);
            let has_numbers = matches!(family, None | Some(CidFamily::AdobeIdentity | CidFamily::Custom { .. }));
            return Some(ToUnicode { map, has_numbers });
        }
        // Some documents name a predefined one.
        match CMapName::from_bytes(&font.get::<Name<'_>>(TO_UNICODE)?) {
            CMapName::IdentityH | CMapName::IdentityV => Some(ToUnicode { map: CMap::identity_h(), has_numbers: true }),
            name => Some(ToUnicode { map: CMap::parse(load_embedded(name)?, load_embedded)?, has_numbers: false }),
        }
    }

    /// The letters of a code of so many bytes.
    fn text(&self, code: u32, code_bytes: u8) -> Option<BfString> {
        self.map.lookup_bf_string(code).or_else(|| {
            let number = self.map.lookup_cid_code(code, code_bytes).filter(|_| self.has_numbers)?;
            char::from_u32(number).map(BfString::Char)
        })
    }
}
