//! The parts of a line that is written from right to left, as they are drawn.

use super::direction::{Votes, put_in_order_of_reading};

/// Where the runs of a line are: characters that are drawn from left to right, one beside the other, without a space. A program may draw all
/// points and spaces of a line first, and its words between them later.
#[derive(Debug)]
pub(super) struct Leftward {
    /// Gap between two runs from which on they are two words.
    word_gap: f64,
    runs: Vec<Run>,
    /// Start and length in the text of what is drawn as one and is several letters, which are in the order of reading.
    ligatures: Vec<Ligature>,
}

#[derive(Debug)]
struct Run {
    /// Where its text begins.
    start: usize,
    x: f64,
    end: f64,
}

#[derive(Clone, Copy, Debug)]
struct Ligature {
    start: usize,
    length: usize,
}

impl Leftward {
    pub(super) fn new(x: f64, word_gap: f64) -> Leftward {
        Leftward { word_gap, runs: vec![Run { start: 0, x, end: x }], ligatures: Vec::new() }
    }

    /// What is drawn from now on is at another place.
    pub(super) fn begin_run(&mut self, start: usize, x: f64) {
        self.runs.push(Run { start, x, end: x });
    }

    /// Forgets a run that begins here; true if there was one.
    pub(super) fn forget_run(&mut self, start: usize) -> bool {
        self.runs.len() > 1 && self.runs.pop_if(|run| run.start >= start).is_some()
    }

    /// The run reaches a place.
    pub(super) fn reaches(&mut self, end: f64) {
        if let Some(run) = self.runs.last_mut() {
            run.end = run.end.max(end);
        }
    }

    pub(super) fn ligature(&mut self, start: usize, length: usize) {
        self.ligatures.push(Ligature { start, length });
    }

    /// Counts what the words of the line say about the order of their letters.
    pub(super) fn vote(&self, text: &str, votes: &mut Votes) {
        self.runs_from_the_left().for_each(|run| votes.count(self.text_of(run, text)));
    }

    /// The text of the line in the order of reading.
    pub(super) fn in_order_of_reading(&self, text: &str, is_as_seen: bool) -> String {
        if !is_as_seen {
            let runs: Vec<&str> = self.runs.iter().map(|run| self.text_of(run, text)).collect();
            return runs.join(" ");
        }
        let (mut parts, mut end) = (Vec::new(), None);
        for run in self.runs_from_the_left() {
            if end.is_some_and(|end| run.x - end > self.word_gap) {
                parts.push(" ");
            }
            self.split(run, text, &mut parts);
            end = Some(run.end);
        }
        put_in_order_of_reading(&mut parts);
        parts.concat()
    }

    fn runs_from_the_left(&self) -> impl Iterator<Item = &Run> {
        let mut runs: Vec<&Run> = self.runs.iter().collect();
        runs.sort_by(|a, b| a.x.total_cmp(&b.x));
        runs.into_iter()
    }

    fn text_of<'t>(&self, run: &Run, text: &'t str) -> &'t str {
        let next = self.runs.partition_point(|other| other.start <= run.start);
        let end = self.runs.get(next).map_or(text.len(), |next| next.start);
        text.get(run.start..end).unwrap_or_default().trim_end()
    }

    /// The letters and ligatures of a run.
    fn split<'t>(&self, run: &Run, text: &'t str, parts: &mut Vec<&'t str>) {
        let (mut at, end) = (run.start, run.start + self.text_of(run, text).len());
        let mut ligatures = self.ligatures.iter().skip_while(|ligature| ligature.start < run.start).peekable();
        while at < end {
            let ligature = ligatures.next_if(|ligature| ligature.start == at).map(|ligature| ligature.length);
            let letter = || text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            let length = ligature.unwrap_or_else(letter);
            parts.extend(text.get(at..at + length));
            at += length;
        }
    }
}
