//! The characters that a page draws, on their way to lines.

use hayro_cmap::BfString;

use super::font::Font;
use super::geometry::{Matrix, Point};
use super::lines::{Lines, Mark};

/// Takes what a page draws.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) lines: Lines,
    /// Number of characters, and of shapes that are not known as characters.
    pub(super) known: u64,
    pub(super) unknown: u64,
    run: Vec<(Option<BfString>, Mark)>,
    /// Start and end of the last run, and its number of characters.
    last: Option<(Point, Point, usize)>,
}

impl Drawn {
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
