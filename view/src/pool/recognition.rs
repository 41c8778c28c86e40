//! The pictures of pages in the answer of a child, and the text that is recognised in them.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::format::PICTURE_BYTES_MAX;
use crate::frames::PartsWriter;
use crate::kind::Kind;
use crate::outcome::{Outcome, Reason};
use crate::recognise::Recogniser;

/// The recognition of text in the pictures of one document.
#[derive(Debug)]
pub(super) struct Recognition {
    recogniser: Option<Arc<Recogniser>>,
    /// The time that all pictures of the document have taken.
    spent: Duration,
    /// The picture that is being received.
    picture: Vec<u8>,
    /// The part that is open.
    part: Part,
}

/// The recognition in one part.
#[derive(Debug)]
struct Part {
    kind: Kind,
    is_recognised: bool,
    /// Recognised text comes last so far.
    is_last: bool,
    failure: Option<Reason>,
}

impl Part {
    fn new(kind: Kind) -> Part {
        Part { kind, is_recognised: false, is_last: false, failure: None }
    }
}

impl Recognition {
    pub(super) fn new(recogniser: Option<Arc<Recogniser>>) -> Recognition {
        Recognition { recogniser, spent: Duration::ZERO, picture: Vec::new(), part: Part::new(Kind::Other) }
    }

    /// A part begins.
    pub(super) fn begin(&mut self, kind: Kind) {
        self.picture = Vec::new();
        self.part = Part::new(kind);
    }

    /// The separator before text that the child has read: recognised text is a paragraph of its own.
    pub(super) fn before_text(&mut self, text: &str) -> &'static str {
        let is_separate = !std::mem::take(&mut self.part.is_last) || text.starts_with('\n');
        if is_separate { "" } else { "\n" }
    }

    /// More of a picture.
    ///
    /// # Errors
    /// If the child may not send one, or not one so large.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.recogniser.is_none() || (self.picture.len() + bytes.len()) as u64 > PICTURE_BYTES_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "a picture that nobody asked for"));
        }
        self.picture.extend_from_slice(bytes);
        Ok(())
    }

    /// The picture is complete: its text becomes text of the open part. After a failure no other picture is recognised.
    pub(super) fn recognise(&mut self, dots_per_inch: u32, parts: &mut PartsWriter<Vec<u8>>) -> io::Result<()> {
        let picture = std::mem::take(&mut self.picture);
        let Some(recogniser) = self.recogniser.as_ref().filter(|_| self.part.failure.is_none()) else { return Ok(()) };
        let left = recogniser.settings().document_time_max.saturating_sub(self.spent);
        if left.is_zero() {
            self.part.failure = Some(Reason::RecognitionTimedOut);
            return Ok(());
        }
        let began = Instant::now();
        let recognised = recogniser.recognise(&picture, dots_per_inch, left);
        self.spent += began.elapsed();
        match recognised {
            Ok(text) if text.is_empty() => {}
            Ok(text) => {
                if parts.text_bytes() > 0 {
                    parts.text("\n")?;
                }
                parts.text(&text)?;
                (self.part.is_recognised, self.part.is_last) = (true, true);
            }
            Err(reason) => self.part.failure = Some(reason),
        }
        Ok(())
    }

    /// The outcome of the part that ends, by the one that the child has sent.
    pub(super) fn outcome(&self, outcome: Outcome) -> Outcome {
        let Part { kind, is_recognised, failure, .. } = self.part;
        match (outcome, failure) {
            (Outcome::Unextractable(_) | Outcome::InPart(_), _) => outcome,
            (_, Some(reason)) => Outcome::Unextractable(reason),
            _ if is_recognised => Outcome::Recognised,
            // Its pictures were looked at, and no text was found.
            (Outcome::Pictures, None) if self.recogniser.is_some() => match kind {
                Kind::Jpeg | Kind::Png => Outcome::NoText,
                _ => Outcome::Text,
            },
            _ => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognise::tests::recogniser;

    #[test]
    fn a_picture_that_nobody_asked_for_is_refused() {
        assert!(Recognition::new(None).take(b"x").is_err());
    }

    #[test]
    fn recognised_text_is_a_paragraph_of_its_own() {
        let mut recognition = Recognition::new(None);
        assert_eq!(recognition.before_text("first"), "");
        recognition.part.is_last = true;
        assert_eq!(recognition.before_text("\nnext"), "");
        recognition.part.is_last = true;
        assert_eq!(recognition.before_text("next"), "\n");
        assert_eq!(recognition.before_text("more"), "");
    }

    #[test]
    fn a_failure_of_recognition_does_not_hide_one_of_reading() {
        let mut recognition = Recognition::new(None);
        let damaged = Outcome::Unextractable(Reason::Damaged);
        assert_eq!(recognition.outcome(Outcome::Pictures), Outcome::Pictures);
        recognition.part.is_recognised = true;
        assert_eq!(recognition.outcome(Outcome::Pictures), Outcome::Recognised);
        assert_eq!(recognition.outcome(damaged), damaged);
        recognition.part.failure = Some(Reason::NotRecognised);
        assert_eq!(recognition.outcome(Outcome::Text), Outcome::Unextractable(Reason::NotRecognised));
        assert_eq!(recognition.outcome(damaged), damaged);
    }

    /// What recognition by a program makes of pictures in a part: its text, and its outcome if its pages are pictures.
    fn recognised(launcher: &str, time_max: Duration, kind: Kind, pictures: u32) -> (String, Outcome, Duration) {
        let mut recognition = Recognition::new(Some(Arc::new(recogniser(launcher, time_max))));
        let mut parts = PartsWriter::in_memory();
        parts.begin("", kind).unwrap();
        recognition.begin(kind);
        for number in 0..pictures {
            parts.text(recognition.before_text("read")).unwrap();
            parts.text("read").unwrap();
            recognition.take(&number.to_le_bytes()).unwrap();
            recognition.recognise(300, &mut parts).unwrap();
        }
        parts.end(Outcome::Pictures, None).unwrap();
        let stream = parts.finish().unwrap();
        let (mut parts, mut text) = (crate::frames::Parts::new(stream.as_slice()), String::new());
        parts.next_part().unwrap();
        io::Read::read_to_string(&mut parts, &mut text).unwrap();
        (text, recognition.outcome(Outcome::Pictures), recognition.spent)
    }

    #[test]
    fn recognised_texts_are_paragraphs_between_those_that_were_read() {
        let (text, outcome, _) = recognised("echo", Duration::MAX, Kind::Pdf, 2);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), outcome), (4, Outcome::Recognised), "{text}");
        assert_eq!((lines[0], lines[2]), ("read", "read"));
        assert!([lines[1], lines[3]].iter().all(|line| line.ends_with("--dpi 300")), "{text}");
    }

    #[test]
    fn pictures_without_text_leave_a_document_of_no_text_and_a_picture_none() {
        for (kind, expected) in [
            (Kind::Pdf, Outcome::Text),
            (Kind::Tiff, Outcome::Text),
            (Kind::Jpeg, Outcome::NoText),
            (Kind::Png, Outcome::NoText),
        ] {
            let (text, outcome, _) = recognised("true", Duration::MAX, kind, 2);
            assert_eq!((text.as_str(), outcome), ("readread", expected), "{kind:?}");
        }
    }

    #[test]
    fn a_failure_of_recognition_is_that_of_the_part_and_leaves_what_was_read() {
        let failed = |launcher, time_max| recognised(launcher, time_max, Kind::Pdf, 3);
        let (text, outcome, _) = failed("false", Duration::MAX);
        assert_eq!((text.as_str(), outcome), ("readreadread", Outcome::Unextractable(Reason::NotRecognised)));
        let (text, outcome, spent) = failed("echo", Duration::ZERO);
        assert_eq!((text.as_str(), spent), ("readreadread", Duration::ZERO), "no program was started");
        assert_eq!(outcome, Outcome::Unextractable(Reason::RecognitionTimedOut));
    }

    #[test]
    fn after_a_failure_nothing_is_recognised_until_the_next_part() {
        let mut recognition = Recognition::new(Some(Arc::new(recogniser("echo", Duration::MAX))));
        let mut parts = PartsWriter::in_memory();
        recognition.part.failure = Some(Reason::NotRecognised);
        recognition.recognise(0, &mut parts).unwrap();
        assert_eq!(parts.text_bytes(), 0);
        assert_eq!(recognition.outcome(Outcome::Text), Outcome::Unextractable(Reason::NotRecognised));
        recognition.begin(Kind::Pdf);
        assert_eq!(recognition.outcome(Outcome::Text), Outcome::Text);
        recognition.recognise(0, &mut parts).unwrap();
        assert!(parts.text_bytes() > 0 && recognition.outcome(Outcome::Text) == Outcome::Recognised);
    }

    #[test]
    fn a_picture_that_is_too_large_is_refused_however_it_is_divided() {
        let mut recognition = Recognition::new(Some(Arc::new(recogniser("true", Duration::MAX))));
        let half = vec![0; usize::try_from(PICTURE_BYTES_MAX / 2).unwrap()];
        recognition.take(&half).unwrap();
        recognition.take(&half).unwrap();
        assert!(recognition.take(&[0]).is_err());
        recognition.begin(Kind::Pdf);
        recognition.take(&[0]).unwrap();
    }
}
