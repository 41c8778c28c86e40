//! Fingerprints of a stream of parts: the documents inside of a document, and at the end the document itself.

use std::io::{self, Read};

use cognate_fingerprint::{Content, UnsupportedDocument, View};
use cognate_proto::batch::DocumentState;
use cognate_proto::path::{DocumentPath, INSIDE};
use cognate_view::{JoinedLines, Kind, Outcome, PartEnd, Parts, each_passage};

use super::names::Names;
use super::outcome::{Chunks, PartOutcome};
use super::spool::Spool;
use super::states::{may_differ_next_time, state_after, state_of};
use super::tools::Tools;
use crate::pace::Paced;

/// The outcomes of a stream of parts.
#[derive(Default)]
pub(super) struct PartOutcomes {
    pub(super) own: Option<PartOutcome>,
    pub(super) inside: Vec<(DocumentPath, PartOutcome)>,
    pub(super) spool_file: Option<u64>,
    /// The next extraction may have another outcome.
    pub(super) may_differ: bool,
    /// Something in it is a picture, in which text could be recognised.
    pub(super) has_pictures: bool,
}

impl PartOutcomes {
    /// The outcome for a document whose text is kept. It is not remembered, since the policy may change.
    pub(super) fn without_text(self) -> PartOutcomes {
        let is_office = self.own.as_ref().is_some_and(|own| own.state != DocumentState::NoText);
        let state = if is_office { DocumentState::TextKept } else { DocumentState::NoText };
        let own = PartOutcome { state, content: None, message_id_hash: None };
        PartOutcomes { own: Some(own), inside: Vec::new(), may_differ: true, ..self }
    }

    /// The outcome for a document that the view is not about.
    pub(super) fn outside() -> PartOutcomes {
        let own = PartOutcome { state: DocumentState::NoText, content: None, message_id_hash: None };
        PartOutcomes { own: Some(own), ..PartOutcomes::default() }
    }
}

/// The reason why a stream of parts cannot be read to its end.
pub(super) enum StreamError {
    /// An error of the stream.
    Stream(io::Error),
    /// An error of the site's own records.
    Records(io::Error),
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> StreamError {
        StreamError::Stream(error)
    }
}

/// Options of reading parts.
#[derive(Clone, Copy)]
pub(super) struct PartOptions {
    pub(super) view: View,
    /// If set, hashes of message ids are sent.
    pub(super) message_id_hashes: bool,
}

/// Reads one stream of parts.
pub(super) struct PartReader<'t, 'a> {
    tools: &'t mut Tools<'a>,
    options: PartOptions,
    spool: Spool<'a>,
}

impl<'t, 'a> PartReader<'t, 'a> {
    pub(super) fn new(tools: &'t mut Tools<'a>, options: PartOptions) -> PartReader<'t, 'a> {
        let spool = Spool::new(tools.lists);
        PartReader { tools, options, spool }
    }

    /// Fingerprints part by part. `on_single` is called with the kind of a document that holds no others.
    pub(super) fn read<R: Read>(
        mut self,
        path: &DocumentPath,
        parts: &mut Parts<R>,
        on_single: impl Fn(&mut Parts<R>, Kind),
    ) -> Result<PartOutcomes, StreamError> {
        let mut names = Names::new(self.tools.root, path);
        let mut outcomes = PartOutcomes::default();
        let mut is_outside = false;
        while let Some(part) = parts.next_part().map_err(StreamError::Stream)? {
            let (is_own, kind) = (part.name.is_empty(), part.kind);
            if is_own && outcomes.inside.is_empty() {
                on_single(parts, kind);
            }
            let text = self.text(parts)?;
            let end = parts.outcome().map_err(StreamError::Stream)?;
            let is_office =
                kind.is_office() || kind.is_closed() || (kind.is_picture() && end.outcome != Outcome::NoText);
            is_outside = is_own && self.options.view == View::Office && !is_office;
            outcomes.has_pictures |= kind.is_picture() || end.picture_pages > 0;
            outcomes.may_differ |= may_differ_next_time(end.outcome);
            let (outcome, passages) = self.outcome(kind, text, &end);
            for (number, passage) in (1u64..).zip(passages) {
                let name = match is_own {
                    true => format!("#{number}"),
                    false => format!("{}{INSIDE}#{number}", part.name),
                };
                outcomes.inside.push((names.of(&name), passage));
            }
            match is_own {
                true => outcomes.own = Some(outcome),
                false => outcomes.inside.push((names.of(&part.name), outcome)),
            }
        }
        outcomes.spool_file = self.spool.finish().map_err(StreamError::Records)?;
        if !is_outside {
            return Ok(outcomes);
        }
        let deleted = outcomes.spool_file.map_or(Ok(()), |file| self.tools.lists.delete(file));
        deleted.map_err(StreamError::Records)?;
        Ok(PartOutcomes { has_pictures: outcomes.has_pictures, ..PartOutcomes::outside() })
    }

    fn text<R: Read>(&mut self, parts: &mut Parts<R>) -> Result<PartText, StreamError> {
        match self.options.view {
            View::Passages => Ok(PartText::Passages(self.passages(parts)?)),
            _ => self.one_content(parts),
        }
    }

    /// The outcome of a part by its text and its end, and its passages.
    fn outcome(&self, kind: Kind, text: PartText, end: &PartEnd) -> (PartOutcome, Vec<PartOutcome>) {
        let message_id_hash = end.message_id_hash.filter(|_| self.options.message_id_hashes);
        let (state, has_text) = state_after(kind, end.outcome, end.text_bytes);
        let (state, content, passages) = match text {
            _ if !has_text => (state, None, Vec::new()),
            PartText::Passages(mut passages) => {
                match state {
                    DocumentState::Recognised => passages.iter_mut().for_each(|passage| passage.state = state),
                    // What is missing comes behind the last.
                    DocumentState::ReadInPart => passages.iter_mut().rev().take(1).for_each(|last| last.state = state),
                    _ => {}
                }
                (DocumentState::Container, None, passages)
            }
            PartText::Content(content, chunks) => (state, Some((content, chunks)), Vec::new()),
            // There is text, but the method cannot use it.
            PartText::Unsupported(state) => (state, None, Vec::new()),
        };
        (PartOutcome { state, content, message_id_hash }, passages)
    }

    /// The text of a part as one content, its paragraphs on one line.
    fn one_content<R: Read>(&mut self, parts: &mut Parts<R>) -> Result<PartText, StreamError> {
        let mut text = Paced::new(JoinedLines(parts), self.tools.pace, self.tools.cancelled);
        let spool = &mut self.spool;
        let content = match self.tools.fingerprinter.read(&mut text, |chunk| spool.push(&chunk)) {
            Ok(content) => content,
            Err(error) if spool.failed => return Err(StreamError::Records(error)),
            Err(error) if error.get_ref().is_some_and(|inner| inner.is::<UnsupportedDocument>()) => {
                // Skip the rest of this part, up to the next one.
                io::copy(&mut text, &mut io::sink()).map_err(StreamError::Stream)?;
                return Ok(PartText::Unsupported(state_of(&error)));
            }
            Err(error) => return Err(StreamError::Stream(error)),
        };
        Ok(PartText::Content(content, spool.end_list().map_err(StreamError::Records)?))
    }

    /// The text of a part, with one content per passage.
    fn passages<R: Read>(&mut self, parts: &mut Parts<R>) -> Result<Vec<PartOutcome>, StreamError> {
        let text = Paced::new(parts, self.tools.pace, self.tools.cancelled);
        let (spool, fingerprinter) = (&mut self.spool, &mut self.tools.fingerprinter);
        let mut passages = Vec::new();
        each_passage(text, |passage| {
            let mut pushed = Ok(());
            let content = fingerprinter.slice(passage, |chunk| {
                if pushed.is_ok() {
                    pushed = spool.push(&chunk);
                }
            });
            pushed.map_err(StreamError::Records)?;
            passages.push(PartOutcome::read(content, spool.end_list().map_err(StreamError::Records)?));
            Ok::<(), StreamError>(())
        })?;
        Ok(passages)
    }
}

/// The fingerprinted text of a part.
#[expect(clippy::large_enum_variant, reason = "most parts have a content")]
enum PartText {
    Content(Content, Chunks),
    Passages(Vec<PartOutcome>),
    /// The method cannot use such a text.
    Unsupported(DocumentState),
}
