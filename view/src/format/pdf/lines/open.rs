//! The line that characters are added to.

use unicode_normalization::char::is_combining_mark;

use super::direction::{is_arabic, is_leftward};
use super::leftward::Leftward;
use super::{Line, Place, accent};

/// Gap between two words, as a share of the size of the font; smaller gaps are within a word.
const WORD_GAP: f64 = 0.1;
/// The same between letters of Arabic, which are joined in a word.
const WORD_GAP_OF_ARABIC: f64 = 0.08;
/// Distance from the line, as a share of the size, below which a character is raised or lowered and still in the line.
const LINE_SHIFT: f64 = 0.5;
/// Distance to the left of the previous character, as a share of the size, from which on another word begins.
const STEP_BACK: f64 = 0.1;
/// Gap between the letters of a word that is spaced out, in sizes, at most.
const SPACED_OUT_MAX: f64 = 0.8;
/// Multiple of the smallest gap of such a word up to which a gap is in the word.
const SPACED_OUT_SPREAD: f64 = 1.4;
/// Gaps between single letters that a word has at least which is spaced out.
const SPACED_OUT_GAPS: usize = 3;

/// A character at its place.
#[derive(Clone, Copy)]
pub(super) struct Character<'t> {
    pub(super) text: &'t str,
    pub(super) at: Place,
    /// Distance to the next character, in sizes.
    pub(super) advance: f64,
    pub(super) is_upright: bool,
}

impl Character<'_> {
    fn end(self) -> f64 {
        self.at.x + self.advance * self.at.size
    }
}

/// A line that is not at its end.
pub(super) struct OpenLine {
    place: Place,
    is_upright: bool,
    text: String,
    last: Last,
    /// Spaces that stand for gaps.
    gaps: Vec<Gap>,
    leftward: Leftward,
    is_leftward: bool,
}

/// The last character of a line.
struct Last {
    at: Place,
    end: f64,
    advance: f64,
    /// Where its text begins, and where the line was at its end before it.
    start: usize,
    before: usize,
    end_before: Option<f64>,
}

/// A space that stands for a gap.
struct Gap {
    /// The place of the space in the text.
    at: usize,
    /// In sizes of the font.
    width: f64,
}

impl OpenLine {
    /// Begins a line.
    pub(super) fn new(character: Character<'_>) -> OpenLine {
        let Character { text, at, advance, is_upright } = character;
        let last = Last { at, end: character.end(), advance, start: 0, before: 0, end_before: None };
        let mut line = OpenLine {
            place: at,
            is_upright,
            text: String::new(),
            last,
            gaps: Vec::new(),
            leftward: Leftward::new(at.x, WORD_GAP_OF_ARABIC * at.size),
            is_leftward: false,
        };
        line.append(text, character.end());
        line
    }

    /// True if a character is drawn over itself, to look bold. Where a font gives no widths all are at one place.
    pub(super) fn is_again(&self, character: Character<'_>) -> bool {
        let (last, at) = (&self.last, character.at);
        let near = 0.1 * at.size;
        last.advance > 0.0
            && self.text.get(last.start..) == Some(character.text)
            && self.place.angle == at.angle
            && (last.at.x - at.x).abs() < near
            && (last.at.y - at.y).abs() < near
    }

    /// True if a character is in the line.
    pub(super) fn continues(&self, Character { at, is_upright, .. }: Character<'_>) -> bool {
        if self.is_upright != is_upright || self.place.angle != at.angle {
            return false;
        }
        let size = self.place.size.max(at.size);
        if is_upright {
            return (self.last.at.x - at.x).abs() < LINE_SHIFT * size && at.y > self.last.at.y;
        }
        self.is_beside(at) && at.x > self.last.at.x - LINE_SHIFT * size
    }

    /// True if a character is in the line because that is written from right to left.
    pub(super) fn continues_leftwards(&self, Character { text, at, is_upright, .. }: Character<'_>) -> bool {
        let is_leftward = self.is_leftward || text.chars().any(is_leftward);
        is_leftward && !self.is_upright && !is_upright && self.place.angle == at.angle && self.is_beside(at)
    }

    fn is_beside(&self, at: Place) -> bool {
        let off = (at.y - self.place.y).abs().min((at.y - self.last.at.y).abs());
        off < LINE_SHIFT * self.place.size.max(at.size)
    }

    /// Adds a character to the right of the last one, or below it.
    pub(super) fn push(&mut self, character: Character<'_>) {
        if !self.is_upright && self.combine(character) {
            return;
        }
        let Character { text, at, advance, is_upright } = character;
        let (before, end_before) = (self.text.len(), self.last.end);
        let size = at.size.min(self.last.at.size);
        let gap = at.x - end_before;
        let is_back = at.x < self.last.at.x - STEP_BACK * size && !text.starts_with(is_combining_mark);
        let word_gap = if self.is_leftward && text.starts_with(is_arabic) { WORD_GAP_OF_ARABIC } else { WORD_GAP };
        if !is_upright && (gap > word_gap * size || is_back) {
            self.gaps.push(Gap { at: before, width: gap / size });
            self.text.push(' ');
        }
        let start = self.text.len();
        if self.text.ends_with(' ') {
            self.leftward.begin_run(start, at.x);
        }
        self.append(text, character.end());
        self.last = Last { at, end: character.end(), advance, start, before, end_before: Some(end_before) };
    }

    /// Adds a character to the left of all others.
    pub(super) fn begin_run(&mut self, character: Character<'_>) {
        let Character { text, at, advance, .. } = character;
        let start = self.text.len();
        self.leftward.begin_run(start, at.x);
        self.append(text, character.end());
        self.last = Last { at, end: character.end(), advance, start, before: start, end_before: None };
    }

    fn append(&mut self, text: &str, end: f64) {
        self.is_leftward |= !text.is_ascii() && text.chars().any(is_leftward);
        if text.chars().nth(1).is_some() {
            self.leftward.ligature(self.text.len(), text.len());
        }
        self.text.push_str(text);
        if !text.trim().is_empty() {
            self.leftward.reaches(end);
        }
    }

    /// Puts an accent on its letter, whichever of the two is drawn first.
    fn combine(&mut self, character: Character<'_>) -> bool {
        let Character { text, at, advance, .. } = character;
        let last = &self.last;
        let previous = self.text.get(last.start..).unwrap_or_default();
        let is_over = |accent: f64, start: f64, end: f64| (start..=end).contains(&accent);
        if let Some(accent) = accent::combining(text)
            && previous.chars().next_back().is_some_and(|letter| letter.is_alphabetic() || is_combining_mark(letter))
            && is_over((at.x + character.end()) / 2.0, last.at.x, last.end)
        {
            if let Some(letter) = accent::base(previous) {
                self.text.truncate(last.start);
                self.text.push(letter);
            }
            self.text.push(accent);
            return true;
        }
        let (Some(accent), Some(letter)) = (accent::combining(previous), accent::base(text)) else {
            return false;
        };
        if !is_over((last.at.x + last.end) / 2.0, at.x, character.end()) {
            return false;
        }
        // The gap before the letter is that of the word, not the one before its accent.
        self.text.truncate(last.before);
        self.gaps.pop_if(|gap| gap.at >= last.before);
        self.leftward.forget_run(last.before);
        let (before, end_before) = (last.before, last.end_before);
        if let Some(end) = end_before
            && at.x - end > WORD_GAP * at.size
        {
            self.gaps.push(Gap { at: before, width: (at.x - end) / at.size });
            self.text.push(' ');
        }
        let start = self.text.len();
        if self.text.ends_with(' ') {
            self.leftward.begin_run(start, at.x);
        }
        self.text.push(letter);
        self.text.push(accent);
        self.last = Last { at, end: character.end(), advance, start, before, end_before };
        self.leftward.reaches(character.end());
        true
    }

    /// Ends the line. None if it has no letters.
    pub(super) fn end(mut self) -> Option<Line> {
        if self.text.trim().is_empty() {
            return None;
        }
        if self.is_leftward {
            return Some(Line { text: self.text, place: self.place, leftward: Some(self.leftward) });
        }
        self.close_up();
        Some(Line { text: self.text, place: self.place, leftward: None })
    }

    /// Takes the gaps out of words that are spaced out: of single letters with gaps of about one width.
    fn close_up(&mut self) {
        let mut start = 0;
        let mut closed = Vec::new();
        while start < self.gaps.len() {
            let length = self.spaced_out_from(start);
            let group = &self.gaps[start..start + length];
            let smallest = group.iter().map(|gap| gap.width).fold(f64::INFINITY, f64::min);
            let width_max = SPACED_OUT_MAX.min(SPACED_OUT_SPREAD * smallest);
            let within = group.iter().filter(|gap| gap.width <= width_max);
            let places: Vec<usize> = within.map(|gap| gap.at).collect();
            if places.len() >= SPACED_OUT_GAPS {
                closed.extend(places);
            }
            start += length;
        }
        for at in closed.into_iter().rev() {
            self.text.remove(at);
        }
    }

    /// The number of gaps from one on, at least 1, that have one letter between each other.
    fn spaced_out_from(&self, start: usize) -> usize {
        let is_single = |pair: &[Gap]| {
            let between = self.text.get(pair[0].at + 1..pair[1].at).unwrap_or_default();
            let mut letters = between.chars();
            letters.next().is_some_and(|letter| letter.is_alphabetic() || letter == ' ') && letters.next().is_none()
        };
        1 + self.gaps[start..].windows(2).take_while(|pair| is_single(pair)).count()
    }
}
