//! Joins characters at their places into lines, and lines into paragraphs.

mod accent;
mod direction;
mod leftward;
mod open;

use std::f64::consts::PI;

use self::direction::Votes;
use self::leftward::Leftward;
use self::open::{Character, OpenLine};
use super::geometry::Point;
use crate::hyphen::without_hyphen;
use crate::outcome::Reason;
use crate::text::Text;

/// Directions of writing are told apart in these steps.
const STEP: f64 = PI / 12.0;
/// Multiple of the usual distance of lines above which another paragraph begins.
const PARAGRAPH_GAP: f64 = 1.25;
/// Distance of lines in a paragraph at most, whatever the usual distance, in sizes of the font.
const LEADING_MAX: f64 = 3.0;

/// The place of a character on the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) origin: Point,
    /// The direction of writing.
    pub(super) along: Point,
    /// The size of the font.
    pub(super) size: f64,
    /// Distance to the next character, in sizes.
    pub(super) advance: f64,
    /// True if characters are written below each other.
    pub(super) upright: bool,
}

/// The lines of a page.
#[derive(Default)]
pub(super) struct Lines {
    done: Vec<Line>,
    open: Option<OpenLine>,
}

/// A line, and its place in its own direction.
#[derive(Debug)]
struct Line {
    text: String,
    place: Place,
    /// The parts of a line of a script that is written from right to left.
    leftward: Option<Leftward>,
}

/// A place in the direction of writing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    angle: i8,
    /// Distance in the direction of writing; `y` is the distance below.
    x: f64,
    y: f64,
    size: f64,
}

impl Lines {
    /// A character, which may be several letters.
    pub(super) fn draw(&mut self, text: &str, mark: Mark) {
        if !mark.origin.is_finite() || !mark.size.is_finite() || mark.size <= 0.0 {
            return;
        }
        let character = Character { text, at: place(&mark), advance: mark.advance, is_upright: mark.upright };
        match &mut self.open {
            Some(open) if open.is_again(character) => {}
            Some(open) if open.continues(character) => open.push(character),
            Some(open) if open.continues_leftwards(character) => open.begin_run(character),
            _ => {
                self.end_line();
                self.open = Some(OpenLine::new(character));
            }
        }
    }

    fn end_line(&mut self) {
        self.done.extend(self.open.take().and_then(OpenLine::end));
    }

    /// Hands over all lines as paragraphs.
    pub(super) fn give(mut self, text: &mut dyn Text) -> Result<(), Reason> {
        self.end_line();
        self.put_in_order_of_reading();
        let leading = usual_leading(&self.done);
        for (at, line) in self.done.iter().enumerate() {
            let next = self.done.get(at + 1);
            let goes_on = next.is_some_and(|next| is_one_paragraph(line.place, next.place, leading));
            if !goes_on {
                text.push(&line.text)?;
                text.end_paragraph()?;
                continue;
            }
            let next = next.map_or("", |next| &next.text);
            let is_within_words =
                line.text.ends_with(is_written_without_spaces) && next.starts_with(is_written_without_spaces);
            let line = line.text.trim_end();
            match without_hyphen(line, next) {
                Some(part) => text.push(part)?,
                None if is_within_words => text.push(line)?,
                None => {
                    text.push(line)?;
                    text.push(" ")?;
                }
            }
        }
        Ok(())
    }

    /// Puts the letters of scripts that are written from right to left in the order of reading.
    fn put_in_order_of_reading(&mut self) {
        let mut votes = Votes::default();
        for line in &self.done {
            line.leftward.iter().for_each(|leftward| leftward.vote(&line.text, &mut votes));
        }
        for line in &mut self.done {
            if let Some(leftward) = line.leftward.take() {
                line.text = leftward.in_order_of_reading(&line.text, votes.are_for_seen());
            }
        }
    }
}

/// The place of a mark, turned so that writing goes to the right.
fn place(mark: &Mark) -> Place {
    let Point { x, y } = mark.along;
    let Point { x: right, y: up } = mark.origin;
    #[expect(clippy::cast_possible_truncation, reason = "at most 12 steps to each side")]
    let step = (y.atan2(x) / STEP).round() as i8;
    let (angle, x, y) = match step {
        -12 | 12 => (12, -right, up),
        -6 => (-6, -up, -right),
        0 => (0, right, -up),
        6 => (6, up, right),
        step => {
            let (sine, cosine) = (f64::from(step) * STEP).sin_cos();
            (step, right * cosine + up * sine, right * sine - up * cosine)
        }
    };
    Place { angle, x, y, size: mark.size }
}

/// True for letters of Thai, Lao, Burmese and Khmer: spaces part sentences, and lines end between words.
fn is_written_without_spaces(letter: char) -> bool {
    matches!(letter, '\u{E01}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}')
}

/// Median distance of successive lines, in sizes of the font.
fn usual_leading(lines: &[Line]) -> f64 {
    let mut gaps: Vec<f64> = lines.windows(2).filter_map(|pair| gap(pair[0].place, pair[1].place)).collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(1.2).clamp(1.0, LEADING_MAX)
}

/// Distance of a line below another of the same font, in sizes; `None` if it is not below it.
fn gap(line: Place, next: Place) -> Option<f64> {
    let alike = line.angle == next.angle && (line.size - next.size).abs() < 0.1 * line.size;
    let gap = (next.y - line.y) / line.size;
    (alike && gap > 0.0).then_some(gap)
}

fn is_one_paragraph(line: Place, next: Place, leading: f64) -> bool {
    gap(line, next).is_some_and(|gap| gap <= PARAGRAPH_GAP * leading && gap <= LEADING_MAX)
}

#[cfg(test)]
mod tests;
