//! Composite fonts: a code has several bytes, and a map gives it the number of a character in a collection.

use std::collections::HashMap;

use hayro_cmap::{BfString, CMap, CMapName, CidFamily, WritingMode, load_embedded};
use hayro_syntax::object::dict::keys::{CIDSYSTEMINFO, DESCENDANT_FONTS, DW, DW2, ENCODING, ORDERING, REGISTRY, W, W2};
use hayro_syntax::object::{Array, Dict, Object, String};

use super::ToUnicode;
use crate::format::pdf::geometry::Point;

/// Bytes of a code at most.
const CODE_BYTES_MAX: u8 = 4;
/// The highest number of a character: ranges of widths end at it.
const CHARACTER_MAX: u32 = 0xFFFF;

/// A font with codes of several bytes.
pub(in crate::format::pdf) struct Composite {
    encoding: CMap,
    is_vertical: bool,
    letters: Option<Letters>,
    width: f32,
    widths: HashMap<u32, f32>,
    /// The place of the origin above, and the advance, of characters that are written downwards.
    downwards: [f32; 2],
    downwards_of: HashMap<u32, [f32; 3]>,
}

/// The key by which letters are looked up.
enum Letters {
    ByCode(ToUnicode),
    ByCharacter(CMap),
}

impl Composite {
    pub(super) fn new(font: &Dict<'_>) -> Option<Composite> {
        let encoding = encoding(&font.get::<Object<'_>>(ENCODING)?)?;
        let descendant = font.get::<Array<'_>>(DESCENDANT_FONTS)?.iter::<Dict<'_>>().next()?;
        Some(Composite {
            is_vertical: encoding.metadata().writing_mode == Some(WritingMode::Vertical),
            letters: letters(font, &descendant, &encoding),
            width: descendant.get(DW).unwrap_or(1000.0),
            widths: descendant.get::<Array<'_>>(W).and_then(|all| widths(&all)).unwrap_or_default(),
            downwards: descendant.get(DW2).unwrap_or([880.0, -1000.0]),
            downwards_of: descendant.get::<Array<'_>>(W2).and_then(|all| widths_downwards(&all)).unwrap_or_default(),
            encoding,
        })
    }

    /// The shortest code that the map knows; a byte that begins none is code 0.
    pub(super) fn read_code(&self, bytes: &[u8]) -> (u32, usize) {
        let mut code = 0;
        for (&byte, length) in bytes.iter().zip(1..=CODE_BYTES_MAX) {
            code = code << 8 | u32::from(byte);
            if self.encoding.lookup_cid_code(code, length).is_some() {
                return (code, usize::from(length));
            }
        }
        (0, 1)
    }

    pub(super) fn text(&self, code: u32) -> Option<BfString> {
        match self.letters.as_ref()? {
            Letters::ByCode(map) => (1..=CODE_BYTES_MAX).find_map(|length| map.text(code, length)),
            Letters::ByCharacter(map) => map.lookup_bf_string(self.character(code)),
        }
    }

    pub(super) fn advance(&self, code: u32) -> Point {
        let character = self.character(code);
        if !self.is_vertical {
            return Point::new(self.width_of(character).into(), 0.0);
        }
        let own = self.downwards_of.get(&character).map(|[advance, ..]| *advance);
        Point::new(0.0, own.unwrap_or(self.downwards[1]).into())
    }

    pub(super) fn origin(&self, code: u32) -> Point {
        if !self.is_vertical {
            return Point::ZERO;
        }
        let character = self.character(code);
        match self.downwards_of.get(&character) {
            Some(&[_, right, up]) => Point::new((-right).into(), (-up).into()),
            None => Point::new(-f64::from(self.width_of(character)) / 2.0, (-self.downwards[0]).into()),
        }
    }

    pub(super) fn is_vertical(&self) -> bool {
        self.is_vertical
    }

    /// The number of the character that a code means; 0 where it means none.
    fn character(&self, code: u32) -> u32 {
        (1..=CODE_BYTES_MAX).find_map(|length| self.encoding.lookup_cid_code(code, length)).unwrap_or(0)
    }

    fn width_of(&self, character: u32) -> f32 {
        self.widths.get(&character).copied().unwrap_or(self.width)
    }
}

fn encoding(object: &Object<'_>) -> Option<CMap> {
    match object {
        Object::Name(name) => match CMapName::from_bytes(name) {
            CMapName::IdentityH => Some(CMap::identity_h()),
            CMapName::IdentityV => Some(CMap::identity_v()),
            name => CMap::parse(load_embedded(name)?, load_embedded),
        },
        Object::Stream(stream) => CMap::parse(&stream.decoded_data().ok()?, load_embedded),
        _ => None,
    }
}

/// The map to letters that the font brings, or that of the collection of its characters.
///
/// The collection that the font names says what the numbers of its characters mean, whether its shapes are in the document
/// or not (ISO 32000-2, 9.10.2).
fn letters(font: &Dict<'_>, descendant: &Dict<'_>, encoding: &CMap) -> Option<Letters> {
    if let Some(map) = ToUnicode::of(font) {
        return Some(Letters::ByCode(map));
    }
    let named = encoding.metadata().character_collection.as_ref().map(|collection| collection.family.clone());
    let family = named.filter(|family| *family != CidFamily::AdobeIdentity).or_else(|| collection(descendant))?;
    CMap::parse(load_embedded(family.ucs2_cmap()?)?, load_embedded).map(Letters::ByCharacter)
}

fn collection(descendant: &Dict<'_>) -> Option<CidFamily> {
    let info = descendant.get::<Dict<'_>>(CIDSYSTEMINFO)?;
    let (registry, ordering) = (info.get::<String<'_>>(REGISTRY)?, info.get::<String<'_>>(ORDERING)?);
    Some(CidFamily::from_registry_ordering(registry.as_bytes(), ordering.as_bytes()))
}

/// Widths by character: `first [w …]` or `first last w`.
fn widths(all: &Array<'_>) -> Option<HashMap<u32, f32>> {
    let (mut widths, mut parts) = (HashMap::new(), all.flex_iter());
    loop {
        if let Some((first, each)) = parts.next::<(u32, Array<'_>)>() {
            widths.extend((first..=CHARACTER_MAX).zip(each.iter::<f32>()));
        } else if let Some((first, last, width)) = parts.next::<(u32, u32, f32)>() {
            widths.extend((first..=last.min(CHARACTER_MAX)).map(|character| (character, width)));
        } else {
            return Some(widths);
        }
    }
}

/// The same of characters that are written downwards: the advance, and the place of the origin.
fn widths_downwards(all: &Array<'_>) -> Option<HashMap<u32, [f32; 3]>> {
    let (mut widths, mut parts) = (HashMap::new(), all.flex_iter());
    loop {
        if let Some((first, each)) = parts.next::<(u32, Array<'_>)>() {
            let numbers: Vec<f32> = each.iter::<f32>().collect();
            let (groups, rest) = numbers.as_chunks::<3>();
            widths.extend((first..=CHARACTER_MAX).zip(groups.iter().copied()));
            if !rest.is_empty() {
                return None;
            }
        } else if let Some((first, last, w, right, up)) = parts.next::<(u32, u32, f32, f32, f32)>() {
            widths.extend((first..=last.min(CHARACTER_MAX)).map(|character| (character, [w, right, up])));
        } else {
            return Some(widths);
        }
    }
}
