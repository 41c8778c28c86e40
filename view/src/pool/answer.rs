//! What a child says about one document, made whole where it breaks off.

use std::fs::File;
use std::io::{self, Read};

use crate::frames::{Frame, Frames, PartsWriter};
use crate::kind::Kind;
use crate::outcome::{Outcome, Reason};

use super::Lease;

/// The stream of parts of one document: as the child tells it, checked, and always brought to its end.
#[derive(Debug)]
pub(super) struct Answer {
    /// What the child says; nothing after its end.
    frames: Option<Frames<Lease>>,
    /// The question, for as long as it may be put again.
    question: Option<(File, String)>,
    /// Whether a part is open, and whether it is the document itself.
    open: Option<bool>,
    told: PartsWriter<Vec<u8>>,
    taken: usize,
}

impl Answer {
    pub(super) fn new(lease: Lease, file: File, name: String) -> Answer {
        Answer {
            frames: Some(Frames::new(lease)),
            question: Some((file, name)),
            open: None,
            told: PartsWriter::in_memory(),
            taken: 0,
        }
    }

    /// Takes the next frame from the child.
    fn advance(&mut self, mut frames: Frames<Lease>) -> io::Result<()> {
        match frames.next() {
            Ok(Some(Frame::Begin(head))) => {
                self.open = Some(head.name.is_empty());
                self.told.begin(&head.name, head.kind)?;
            }
            Ok(Some(Frame::Text)) => self.told.text(frames.last_text())?,
            Ok(Some(Frame::End(end))) => {
                self.told.end(end.outcome, end.message_id_hash)?;
                if self.open.take() == Some(true) {
                    let mut lease = frames.into_stream();
                    if lease.process()?.ready() {
                        lease.give_back();
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

    /// The child ended, or says what makes no sense.
    fn broken(&mut self, mut lease: Lease, error: &io::Error) -> io::Result<()> {
        let question = self.question.take();
        if let Some((file, name)) = question.filter(|_| lease.process().is_ok_and(|process| process.may_be_innocent()))
        {
            // Nothing was said about this document: a child that has read others may have been on its last legs.
            lease.replace()?;
            lease.process()?.ask(&file, &name)?;
            self.frames = Some(Frames::new(lease));
            return Ok(());
        }
        let reason = match lease.process.take() {
            Some(process) if error.kind() != io::ErrorKind::InvalidData => process.end(),
            _ => Reason::Crashed,
        };
        drop(lease);
        let outcome = Outcome::Unextractable(reason);
        if let Some(document) = self.open.take() {
            self.told.end(outcome, None)?;
            if document {
                return Ok(());
            }
        }
        self.told.begin("", Kind::Other)?;
        self.told.end(outcome, None)
    }
}

impl Read for Answer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.told.get_mut().len() {
            self.told.get_mut().clear();
            self.taken = 0;
            let Some(frames) = self.frames.take() else { return Ok(0) };
            self.advance(frames)?;
        }
        let left = &self.told.get_mut()[self.taken..];
        let now = left.len().min(buffer.len());
        buffer[..now].copy_from_slice(&left[..now]);
        self.taken += now;
        Ok(now)
    }
}

impl Read for Lease {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.process()?.read(buffer)
    }
}
