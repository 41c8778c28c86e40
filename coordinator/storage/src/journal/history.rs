//! Reading the journal backwards, from its newest event on, through all parts that are kept.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::brief::Brief;
use super::compact;
use super::event::What;
use super::part::Part;
use super::{Journal, Position};
use crate::error::Error;

/// The journal as it was at a moment. What is appended or compacted later changes nothing of it.
pub struct History {
    journal: PathBuf,
    newest: Part,
    marks: Vec<Position>,
}

impl Journal {
    /// The journal as it is now.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub(crate) fn history(&self) -> Result<History, Error> {
        Ok(History { journal: self.path.clone(), newest: Part::open(&self.path)?, marks: self.marks.clone() })
    }
}

impl History {
    /// The newest events before a place that `pick` makes something of, newest first, at most `count`. Of a decision it gets the
    /// first subject and the number of all. Checkpoints are no events. It ends where a part is not kept any more.
    ///
    /// # Errors
    /// Fails if a part cannot be read or is damaged.
    pub fn newest_first<T>(
        &mut self,
        before: u64,
        count: usize,
        mut pick: impl FnMut(&Brief, Position) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let mut picked = Vec::new();
        for (number, from) in self.marks.iter().enumerate().rev().filter(|(_, from)| from.end < before) {
            let until = self.marks.get(number + 1).map_or(u64::MAX, |mark| mark.end);
            self.newest.seek(*from)?;
            newest(&mut self.newest, until, before, count, &mut picked, &mut pick)?;
            if picked.len() >= count {
                return Ok(picked);
            }
        }
        let mut past = self.newest.past();
        while let Some(end) = past.filter(|_| picked.len() < count) {
            let path = compact::path_of(&self.journal, end);
            if !path.try_exists().map_err(Error::state(&path))? {
                break;
            }
            let mut part = Part::open(&path)?;
            past = part.past();
            if part.start().end < before {
                newest(&mut part, end.end, before, count, &mut picked, &mut pick)?;
                check_end(&path, part.position(), end)?;
            }
        }
        Ok(picked)
    }
}

/// Reads a stretch forwards, and adds the newest of its events.
fn newest<T>(
    part: &mut Part,
    until: u64,
    before: u64,
    count: usize,
    picked: &mut Vec<T>,
    pick: &mut impl FnMut(&Brief, Position) -> Option<T>,
) -> Result<(), Error> {
    let room = count - picked.len();
    let mut is_checkpoint = part.past().is_some() && part.position() == part.start();
    let mut stretch = VecDeque::new();
    part.read_as(until, Brief::of, &mut |brief: Brief, position| {
        if is_checkpoint {
            is_checkpoint = !matches!(brief.event.what, Some(What::CheckpointEnd(_)));
        } else if position.end < before
            && let Some(one) = pick(&brief, position)
        {
            if stretch.len() == room {
                stretch.pop_front();
            }
            stretch.push_back(one);
        }
        Ok(())
    })?;
    picked.extend(stretch.into_iter().rev());
    Ok(())
}

/// A part that is kept ends where the part after it says.
fn check_end(path: &Path, found: Position, end: Position) -> Result<(), Error> {
    if found == end {
        return Ok(());
    }
    let detail = "it does not end as the part of the journal after it says".to_owned();
    Err(Error::Corrupt { path: path.to_owned(), detail })
}
