//! The answer of a child about one document, completed where it breaks off.

use std::fs::File;
use std::io::{self, Read};

use crate::frames::{Frame, Frames, PartsWriter};
use crate::kind::Kind;
use crate::outcome::{Outcome, Reason};

use super::slot::Slot;

/// The stream of parts of one document: as the child sends it, checked, and always brought to its end.
#[derive(Debug)]
pub(super) struct Answer {
    /// The frames of the child; `None` after its end.
    frames: Option<Frames<Slot>>,
    /// The request, for as long as it may be put again.
    request: Option<(File, Option<String>)>,
    /// `None` if no part is open; else true if it is the document itself.
    open: Option<bool>,
    parts: PartsWriter<Vec<u8>>,
    taken: usize,
}

impl Answer {
    pub(super) fn new(slot: Slot, file: File, hint: Option<String>) -> Answer {
        Answer {
            frames: Some(Frames::new(slot)),
            request: Some((file, hint)),
            open: None,
            parts: PartsWriter::in_memory(),
            taken: 0,
        }
    }

    /// Takes the next frame from the child.
    fn advance(&mut self, mut frames: Frames<Slot>) -> io::Result<()> {
        match frames.next() {
            Ok(Some(Frame::Begin(head))) => {
                self.open = Some(head.name.is_empty());
                self.parts.begin(&head.name, head.kind)?;
            }
            Ok(Some(Frame::Text)) => self.parts.text(frames.last_text())?,
            Ok(Some(Frame::End(end))) => {
                self.parts.end(end.outcome, end.message_id_hash)?;
                if self.open.take() == Some(true) {
                    let mut slot = frames.into_stream();
                    if slot.process()?.ready() {
                        slot.give_back();
                    }
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => return self.broken(frames.into_stream(), &error),
        }
        self.frames = Some(frames);
        Ok(())
    }

    /// The child ended, or sent an invalid frame.
    fn broken(&mut self, mut slot: Slot, error: &io::Error) -> io::Result<()> {
        let request = self.request.take();
        if let Some((file, hint)) = request.filter(|_| slot.process().is_ok_and(|process| process.may_be_innocent())) {
            // No frame came for this document: earlier documents may have broken the child.
            slot.replace()?;
            slot.process()?.ask(&file, hint.as_deref())?;
            self.frames = Some(Frames::new(slot));
            return Ok(());
        }
        let reason = match slot.process.take() {
            Some(process) if error.kind() != io::ErrorKind::InvalidData => process.end(),
            _ => Reason::Crashed,
        };
        drop(slot);
        let outcome = Outcome::Unextractable(reason);
        if let Some(document) = self.open.take() {
            self.parts.end(outcome, None)?;
            if document {
                return Ok(());
            }
        }
        self.parts.begin("", Kind::Other)?;
        self.parts.end(outcome, None)
    }
}

impl Read for Answer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.parts.get_mut().len() {
            self.parts.get_mut().clear();
            self.taken = 0;
            let Some(frames) = self.frames.take() else { return Ok(0) };
            self.advance(frames)?;
        }
        let left = &self.parts.get_mut()[self.taken..];
        let now = left.len().min(buffer.len());
        buffer[..now].copy_from_slice(&left[..now]);
        self.taken += now;
        Ok(now)
    }
}
