//! The characters that a page draws, on their way to lines.

use hayro_cmap::BfString;

use super::font::Font;
use super::geometry::{Matrix, Point};
use super::lines::{Lines, Mark};

/// Number of shapes of a page that may be unknown, and are taken for signs,
const SIGNS_MAX: u64 = 8;
/// and how many characters are known for each that is unknown where there are more.
const KNOWN_FOR_UNKNOWN: u64 = 20;

/// Takes what a page draws.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) lines: Lines,
    /// Number of characters, and of shapes that are not known as characters: a font may define shapes without the letters
    /// that they mean.
    known: u64,
    unknown: u64,
    run: Vec<(Option<BfString>, Mark)>,
    /// Start and end of the last run, and its number of characters.
    last: Option<(Point, Point, usize)>,
}

impl Drawn {
    /// Number of characters that are drawn, known or not.
    pub(super) fn count(&self) -> u64 {
        self.known + self.unknown
    }

    /// True if text of the page is lost: not where only signs are unknown, as those of lists and of formulas.
    pub(super) fn lacks_letters(&self) -> bool {
        self.unknown > self.known || self.unknown > SIGNS_MAX && self.unknown > self.known / KNOWN_FOR_UNKNOWN
    }

    /// A character is drawn: its own space has a thousand units to the size of the font.
    pub(super) fn draw(&mut self, font: &Font, code: u32, place: Matrix) {
        let mark = mark(place, font.width(code), font.is_vertical());
        self.run.push((font.text(code), mark));
    }

    /// A run of characters is at its end. What is filled and then outlined comes twice, and counts once.
    pub(super) fn end_run(&mut self, is_outlined: bool) {
        let run = std::mem::take(&mut self.run);
        let (Some((_, first)), Some((_, last))) = (run.first(), run.last()) else {
            return;
        };
        let place = Some((first.origin, last.origin, run.len()));
        if !(is_outlined && self.last == place) {
            self.last = place;
            run.iter().for_each(|(text, mark)| self.put(text.as_ref(), *mark));
        }
        self.run = run;
        self.run.clear();
    }

    fn put(&mut self, text: Option<&BfString>, mark: Mark) {
        let Some(text) = text else {
            self.unknown += 1;
            return;
        };
        self.known += 1;
        match text {
            BfString::Char(character) => self.lines.draw(character.encode_utf8(&mut [0; 4]), mark),
            BfString::String(text) if text.is_empty() => {}
            BfString::String(text) => self.lines.draw(text, mark),
        }
    }
}

fn mark(place: Matrix, width: Option<f32>, upright: bool) -> Mark {
    let origin = place * Point::ZERO;
    let up = (place * Point::new(0.0, 1000.0)).from(origin);
    let along = (place * Point::new(1000.0, 0.0)).from(origin);
    Mark { origin, along, size: up.length(), advance: f64::from(width.unwrap_or(500.0)) / 1000.0, upright }
}
