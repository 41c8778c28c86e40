//! The graphics state: where text is drawn, in which font and size.

use super::font::UsedFont;
use super::geometry::{Matrix, Point};

/// States that may be saved at once; later ones are counted and not saved.
const SAVED_MAX: usize = 1 << 16;
/// The units of a font's own space for its size.
const UNITS_PER_SIZE: f32 = 1000.0;

/// The parameters that stay in force until they are changed or an earlier state is restored.
#[derive(Clone)]
pub(super) struct State {
    pub(super) matrix: Matrix,
    pub(super) text: TextState,
}

/// The part of the state that is about text.
#[derive(Clone)]
pub(super) struct TextState {
    pub(super) character_space: f32,
    pub(super) word_space: f32,
    /// In hundredths.
    pub(super) horizontal_scale: f32,
    pub(super) leading: f32,
    pub(super) font: Option<UsedFont>,
    pub(super) size: f32,
    pub(super) rise: f32,
    pub(super) is_outlined: bool,
    pub(super) matrix: Matrix,
    pub(super) line_matrix: Matrix,
}

impl Default for State {
    fn default() -> State {
        State { matrix: Matrix::IDENTITY, text: TextState::default() }
    }
}

impl Default for TextState {
    fn default() -> TextState {
        TextState {
            character_space: 0.0,
            word_space: 0.0,
            horizontal_scale: 100.0,
            leading: 0.0,
            font: None,
            size: 1.0,
            rise: 0.0,
            is_outlined: false,
            matrix: Matrix::IDENTITY,
            line_matrix: Matrix::IDENTITY,
        }
    }
}

impl TextState {
    pub(super) fn set_matrix(&mut self, matrix: Matrix) {
        self.matrix = matrix;
        self.line_matrix = matrix;
    }

    pub(super) fn next_line(&mut self, x: f64, y: f64) {
        self.set_matrix(self.line_matrix * Matrix::translation(x, y));
    }

    /// Goes to the next line, as far below as the leading says.
    pub(super) fn next_line_by_leading(&mut self) {
        self.next_line(0.0, -f64::from(self.leading));
    }

    pub(super) fn is_vertical(&self) -> bool {
        self.font.as_ref().is_some_and(|used| used.font.is_vertical())
    }

    /// From the space of a character, a thousand units for its size, to that of the page's content.
    pub(super) fn character_matrix(&self, origin: Point) -> Matrix {
        let (size, units) = (f64::from(self.size), f64::from(UNITS_PER_SIZE));
        let wide = size * f64::from(self.horizontal_scale / 100.0);
        let sized = Matrix([wide / units, 0.0, 0.0, size / units, 0.0, f64::from(self.rise)]);
        self.matrix * sized * Matrix::translation(origin.x, origin.y)
    }

    /// Goes on by a number of a `TJ` array.
    pub(super) fn adjust(&mut self, adjustment: f32) {
        let distance = -adjustment / UNITS_PER_SIZE * self.size;
        match self.is_vertical() {
            true => self.go_on(0.0, distance),
            false => self.go_on(distance * (self.horizontal_scale / 100.0), 0.0),
        }
    }

    /// Goes on by a character of this advance.
    pub(super) fn advance(&mut self, advance: Point, is_space: bool) {
        let space = self.character_space + if is_space { self.word_space } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "widths come out of a font as such numbers")]
        let distance = |along: f64| along as f32 / UNITS_PER_SIZE * self.size + space;
        match self.is_vertical() {
            true => self.go_on(0.0, distance(advance.y)),
            false => self.go_on(distance(advance.x) * (self.horizontal_scale / 100.0), 0.0),
        }
    }

    fn go_on(&mut self, x: f32, y: f32) {
        self.matrix = self.matrix * Matrix::translation(f64::from(x), f64::from(y));
    }
}

/// The states that are saved, below the one in force.
#[derive(Default)]
pub(super) struct States {
    saved: Vec<State>,
    now: State,
    /// Saved beyond the limit.
    uncounted: usize,
}

impl States {
    pub(super) fn now(&mut self) -> &mut State {
        &mut self.now
    }

    pub(super) fn depth(&self) -> usize {
        self.saved.len() + self.uncounted
    }

    pub(super) fn save(&mut self) {
        if self.saved.len() < SAVED_MAX {
            self.saved.push(self.now.clone());
        } else {
            self.uncounted += 1;
        }
    }

    pub(super) fn restore(&mut self) {
        if self.uncounted > 0 {
            self.uncounted -= 1;
        } else if let Some(state) = self.saved.pop() {
            self.now = state;
        }
    }

    pub(super) fn restore_to(&mut self, depth: usize) {
        while self.depth() > depth {
            self.restore();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_restored_in_turn_and_none_below_the_first() {
        let mut states = States::default();
        states.now().text.rise = 1.0;
        states.save();
        states.now().text.rise = 2.0;
        states.restore();
        states.restore();
        assert_eq!((states.now().text.rise, states.depth()), (1.0, 0));
    }

    #[test]
    fn states_beyond_the_limit_are_counted() {
        let mut states = States::default();
        (0..SAVED_MAX + 3).for_each(|_| states.save());
        assert_eq!((states.depth(), states.saved.len()), (SAVED_MAX + 3, SAVED_MAX));
        states.restore_to(1);
        assert_eq!((states.depth(), states.uncounted), (1, 0));
    }

    #[test]
    fn a_character_goes_on_by_its_width_and_the_spaces() {
        let text = TextState { size: 10.0, character_space: 1.0, word_space: 2.0, ..TextState::default() };
        for (is_space, end) in [(false, 6.0), (true, 8.0)] {
            let mut text = text.clone();
            text.advance(Point::new(500.0, 0.0), is_space);
            assert_eq!(text.matrix * Point::ZERO, Point::new(end, 0.0));
        }
    }
}
