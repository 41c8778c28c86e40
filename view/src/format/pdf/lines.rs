//! Joins characters at their places into lines, and lines into paragraphs.

use super::geometry::Point;
use crate::hyphen::without_hyphen;
use crate::outcome::Reason;
use crate::text::Text;

/// Gap between two words, as a share of the size of the font; smaller gaps are within a word.
const WORD_GAP: f64 = 0.15;
/// Distance from the line, as a share of the size, below which a character is raised or lowered and still in the line.
const LINE_SHIFT: f64 = 0.5;
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
    text: String,
    last: Option<Last>,
}

/// A line, and its place in its own direction.
#[derive(Debug)]
struct Line {
    text: String,
    place: Place,
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

/// The previous character.
struct Last {
    line: Place,
    at: Place,
    end: f64,
    upright: bool,
    text: String,
}

impl Lines {
    /// A character, which may be several letters.
    pub(super) fn draw(&mut self, text: &str, mark: Mark) {
        if !mark.origin.is_finite() || !mark.size.is_finite() || mark.size <= 0.0 {
            return;
        }
        let at = place(&mark);
        let end = at.x + mark.advance * at.size;
        let line = match &self.last {
            Some(last) if is_again(last, text, at) => return,
            Some(last) if continues(last, at, mark.upright) => {
                if !mark.upright && (at.x - last.end).abs() > WORD_GAP * at.size.min(last.at.size) {
                    self.text.push(' ');
                }
                last.line
            }
            Some(_) => {
                self.end_line();
                at
            }
            None => at,
        };
        self.text.push_str(text);
        self.last = Some(Last { line, at, end, upright: mark.upright, text: text.to_owned() });
    }

    fn end_line(&mut self) {
        if let Some(last) = self.last.take()
            && !self.text.trim().is_empty()
        {
            self.done.push(Line { text: std::mem::take(&mut self.text), place: last.line });
        }
        self.text.clear();
    }

    /// Hands over all lines as paragraphs.
    pub(super) fn give(mut self, text: &mut dyn Text) -> Result<(), Reason> {
        self.end_line();
        let leading = usual_leading(&self.done);
        for (at, line) in self.done.iter().enumerate() {
            let next = self.done.get(at + 1);
            let goes_on = next.is_some_and(|next| is_one_paragraph(line.place, next.place, leading));
            if !goes_on {
                text.push(&line.text)?;
                text.end_paragraph()?;
                continue;
            }
            let line = line.text.trim_end();
            match without_hyphen(line, next.map_or("", |next| &next.text)) {
                Some(part) => text.push(part)?,
                None => {
                    text.push(line)?;
                    text.push(" ")?;
                }
            }
        }
        Ok(())
    }
}

/// The place of a mark, turned so that writing goes to the right.
fn place(mark: &Mark) -> Place {
    let Point { x, y } = mark.along;
    let Point { x: right, y: up } = mark.origin;
    let (angle, x, y) = match () {
        () if x.abs() >= y.abs() && x >= 0.0 => (0, right, -up),
        () if x.abs() >= y.abs() => (2, -right, up),
        () if y >= 0.0 => (1, up, right),
        () => (3, -up, -right),
    };
    Place { angle, x, y, size: mark.size }
}

/// True if a character is drawn over itself, to look bold.
fn is_again(last: &Last, text: &str, at: Place) -> bool {
    let near = 0.1 * at.size;
    last.text == text && last.at.angle == at.angle && (last.at.x - at.x).abs() < near && (last.at.y - at.y).abs() < near
}

/// True if a character is in the line of the previous one.
fn continues(last: &Last, at: Place, upright: bool) -> bool {
    if last.line.angle != at.angle || last.upright != upright {
        return false;
    }
    let size = last.line.size.max(at.size);
    if upright {
        return (last.at.x - at.x).abs() < LINE_SHIFT * size && at.y > last.at.y;
    }
    let off = (at.y - last.line.y).abs().min((at.y - last.at.y).abs());
    off < LINE_SHIFT * size && at.x > last.at.x - LINE_SHIFT * size
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
