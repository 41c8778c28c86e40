//! The answer of a child about one document, completed where it breaks off.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use crate::frames::{Frame, Frames, PartEnd, PartsWriter};
use crate::kind::Kind;
use crate::outcome::{Outcome, Reason};
use crate::recognise::Recogniser;

use super::recognition::Recognition;
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
    recognition: Recognition,
}

impl Answer {
    pub(super) fn new(slot: Slot, file: File, hint: Option<String>, recogniser: Option<Arc<Recogniser>>) -> Answer {
        Answer {
            frames: Some(Frames::new(slot)),
            request: Some((file, hint)),
            open: None,
            parts: PartsWriter::in_memory(),
            taken: 0,
            recognition: Recognition::new(recogniser),
        }
    }

    /// Takes the next frame from the child.
    fn advance(&mut self, mut frames: Frames<Slot>) -> io::Result<()> {
        match frames.next() {
            Ok(Some(Frame::Begin(head))) => {
                self.open = Some(head.name.is_empty());
                self.recognition.begin(head.kind);
                self.parts.begin(&head.name, head.kind)?;
            }
            Ok(Some(Frame::Text)) => {
                self.parts.text(self.recognition.before_text(frames.last_text()))?;
                self.parts.text(frames.last_text())?;
            }
            Ok(Some(Frame::Picture)) => {
                if let Err(error) = self.recognition.take(frames.last_picture()) {
                    return self.broken(frames.into_stream(), &error);
                }
            }
            Ok(Some(Frame::PictureEnd(dots_per_inch))) => self.recognition.recognise(dots_per_inch, &mut self.parts)?,
            Ok(Some(Frame::End(PartEnd { outcome, message_id_hash, picture_pages, .. }))) => {
                let outcome = self.recognition.outcome(outcome);
                self.parts.end_with_pages(outcome, message_id_hash, picture_pages)?;
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
