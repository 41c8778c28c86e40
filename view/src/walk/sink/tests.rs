use super::*;
use crate::frames::Parts;
use crate::kind::Kind;
use crate::limits::Limits;
use crate::outcome::Outcome;

/// The text that reaches the part, and the result of the sink.
fn written(
    limits: &Limits,
    push: impl FnOnce(&mut Sink<'_, '_>) -> Result<(), Reason>,
) -> (String, Result<(), Reason>) {
    let budget = Budget::new(limits, 1);
    let mut stream = Vec::new();
    let result = {
        let mut parts = PartsWriter::new(&mut stream as &mut dyn Write).unwrap();
        parts.begin("", Kind::Text).unwrap();
        let mut sink = Sink::new(&mut parts, &budget);
        let result = push(&mut sink).and_then(|()| sink.finish());
        assert!(sink.broken().is_none());
        parts.end(Outcome::Text, None).unwrap();
        parts.finish().map(drop).unwrap();
        result
    };
    let mut parts = Parts::new(stream.as_slice());
    parts.next_part().unwrap();
    let mut text = String::new();
    io::Read::read_to_string(&mut parts, &mut text).unwrap();
    (text, result)
}

#[test]
fn text_is_normalised_across_pushes() {
    let (text, result) = written(&Limits::default(), |sink| {
        sink.push(" e")?;
        sink.push("\u{301}  te")?;
        sink.end_paragraph()?;
        sink.end_paragraph()?;
        sink.push("next")
    });
    assert_eq!((text.as_str(), result), ("é te\nnext", Ok(())));
}

#[test]
fn text_beyond_the_limit_ends_the_extraction() {
    let limits = Limits { text_bytes_max: 100_000, ..Limits::default() };
    for (words, fits) in [(20_000, true), (20_001, false)] {
        let (text, result) = written(&limits, |sink| {
            for _ in 0..words {
                sink.push("words")?;
            }
            Ok(())
        });
        assert_eq!(result, if fits { Ok(()) } else { Err(Reason::TooLarge) }, "{words}");
        assert!(text.len() <= 100_000, "{}", text.len());
    }
}

#[test]
fn white_space_costs_time_and_gives_no_text() {
    let limits = Limits { time_max: std::time::Duration::ZERO, ..Limits::default() };
    let (text, result) = written(&limits, |sink| (0..2000).try_for_each(|_| sink.push(&" ".repeat(1000))));
    assert_eq!((text.as_str(), result), ("", Err(Reason::TimedOut)));
}

#[test]
fn an_output_that_fails_is_reported_apart_from_the_document() {
    /// Takes the head of a stream and then nothing more.
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let budget = Budget::new(&Limits::default(), 1);
    let mut full = Full(100);
    let mut parts = PartsWriter::new(&mut full as &mut dyn Write).unwrap();
    parts.begin("", Kind::Text).unwrap();
    let mut sink = Sink::new(&mut parts, &budget);
    let result = (0..100_000).try_for_each(|_| sink.push("words "));
    assert_eq!(result, Err(Reason::Crashed));
    assert_eq!(sink.broken().unwrap().kind(), io::ErrorKind::StorageFull);
}
