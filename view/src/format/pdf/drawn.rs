//! The characters that a page draws, on their way to lines.

use hayro_cmap::BfString;

use super::font::Font;
use super::form::ValueLine;
use super::geometry::{Matrix, Point};
use super::lines::{Lines, Mark};

/// Number of shapes of a page that may be unknown, and are taken for signs,
const SIGNS_MAX: u64 = 8;
/// and how many characters are known for each that is unknown where there are more.
const KNOWN_FOR_UNKNOWN: u64 = 20;

/// Marked content within each other whose text is taken at most.
const MARKED_MAX: usize = 64;

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
    /// For each marked content that is open, the text that stands for what it draws, where it has one.
    marked: Vec<Option<String>>,
    /// What is drawn while the outermost text stands for it, from its start to its end.
    replaced: Option<(Mark, Point)>,
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

    /// The value of a field is drawn as it is.
    pub(super) fn value(&mut self, line: &ValueLine) {
        self.known += line.text.chars().count() as u64;
        self.lines.draw(&line.text, line.mark);
    }

    /// Marked content begins, which may have a text that stands for what it draws.
    pub(super) fn begin_marked(&mut self, text: Option<String>) {
        let is_within = self.is_replaced();
        self.marked.push(text.filter(|_| !is_within && self.marked.len() < MARKED_MAX));
    }

    /// Marked content ends.
    pub(super) fn end_marked(&mut self) {
        if let Some(Some(text)) = self.marked.pop()
            && let Some((first, end)) = self.replaced.take()
        {
            let advance = end.from(first.origin).length() / first.size;
            self.known += 1;
            self.lines.draw(text.trim_end_matches('\0'), Mark { advance, ..first });
        }
    }

    fn is_replaced(&self) -> bool {
        self.marked.iter().any(Option::is_some)
    }

    fn replace(&mut self, mark: Mark) {
        let length = mark.along.length();
        let distance = mark.advance * mark.size / if length > 0.0 { length } else { 1.0 };
        let end = Point::new(mark.origin.x + distance * mark.along.x, mark.origin.y + distance * mark.along.y);
        self.replaced = Some((self.replaced.map_or(mark, |(first, _)| first), end));
    }

    fn put(&mut self, text: Option<&BfString>, mark: Mark) {
        if self.is_replaced() {
            self.replace(mark);
            return;
        }
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
