//! Mailboxes: one message after the other, each behind a line that begins with `From `.

use std::io::{BufRead as _, BufReader, Cursor, Read as _, SeekFrom};

use crate::format::embedding::VisitEmbedded;
use crate::format::mail::MESSAGE_BYTES_MAX;
use crate::kind::mail::{begins_with_field, is_mailbox_line, is_undated_mailbox_line};
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::broken;

/// Length of a line that is looked at as one.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Visits the messages of a mailbox, in order.
pub(super) fn members(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let mut input = Input { stream: BufReader::with_capacity(64 << 10, source), next: None };
    let (mut message, mut count) = (Vec::new(), 0u32);
    // A message begins behind an empty line only: else its own text could begin one.
    let (mut behind_blank, mut line_begins) = (true, true);
    while let Some(line) = input.line()? {
        if line_begins && behind_blank && input.begins_message(&line)? {
            if count > 0 {
                give(count, &mut message, each)?;
            }
            message.clear();
            count += 1;
        } else {
            if message.len() as u64 > MESSAGE_BYTES_MAX {
                return Err(Reason::TooLarge);
            }
            message.extend_from_slice(if line_begins { unquoted(&line) } else { &line });
        }
        behind_blank = line_begins && line.trim_ascii().is_empty();
        line_begins = line.ends_with(b"\n");
    }
    if count > 0 { give(count, &mut message, each) } else { Ok(()) }
}

/// The lines of a mailbox.
struct Input<'s> {
    stream: BufReader<&'s mut dyn Source>,
    /// The next line, where it was looked at.
    next: Option<Vec<u8>>,
}

impl Input<'_> {
    /// The next line, or a piece of one that is too long; `None` at the end.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Reason> {
        let line = match self.next.take() {
            Some(line) => line,
            None => self.read()?,
        };
        Ok((!line.is_empty()).then_some(line))
    }

    fn read(&mut self) -> Result<Vec<u8>, Reason> {
        let mut line = Vec::new();
        self.stream.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(broken)?;
        Ok(line)
    }

    /// True if a message begins behind this line. Without a date, a field must follow.
    fn begins_message(&mut self, line: &[u8]) -> Result<bool, Reason> {
        let line = line.trim_ascii_end();
        if is_mailbox_line(line) || !is_undated_mailbox_line(line) {
            return Ok(is_mailbox_line(line));
        }
        let next = self.read()?;
        let begins = begins_with_field(&next);
        self.next = Some(next);
        Ok(begins)
    }
}

fn give(count: u32, message: &mut Vec<u8>, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    let bytes = std::mem::take(message);
    each(&format!("{count}.eml"), &mut Cursor::new(bytes))
}

/// A line of text that begins like a message has a mark before it.
fn unquoted(line: &[u8]) -> &[u8] {
    let marks = line.iter().take_while(|&&byte| byte == b'>').count();
    if marks > 0 && line[marks..].starts_with(b"From ") { &line[1..] } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(mailbox: &[u8]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut each = |name: &str, source: &mut dyn Source| {
            let mut text = String::new();
            source.read_to_string(&mut text).expect("text");
            found.push((name.to_owned(), text));
            Ok(())
        };
        members(&mut Cursor::new(mailbox), &mut each).expect("a mailbox");
        found
    }

    #[test]
    fn messages_are_parted_at_their_lines_and_marks_are_taken_off() {
        let mailbox =
            b"From a@b Mon Jan  1 00:00:00 2024\nSubject: one\n\nFrom here on 10:00 2024\n>From x\n>>From y\n\n\
                        From c@d Tue Jan  2 00:00:00 2024\nSubject: two\n\nFrom me to you 10:00 in 2024 no\n";
        let found = messages(mailbox);
        assert_eq!(found.len(), 2, "{found:?}");
        let first = "Subject: one\n\nFrom here on 10:00 2024\nFrom x\n>From y\n\n";
        assert_eq!(found[0], ("1.eml".to_owned(), first.to_owned()));
        assert_eq!(found[1].0, "2.eml");
    }

    #[test]
    fn a_line_within_a_paragraph_never_begins_a_message() {
        let mailbox =
            b"From a@b Mon Jan  1 00:00:00 2024\nSubject: one\n\nText\nFrom c@d Tue Jan  2 00:00:00 2024\n>From x\n";
        let found = messages(mailbox);
        assert_eq!(found.len(), 1);
        assert!(found[0].1.ends_with("Text\nFrom c@d Tue Jan  2 00:00:00 2024\nFrom x\n"), "{found:?}");
    }

    #[test]
    fn a_line_without_a_date_begins_a_message_where_a_field_follows() {
        let mailbox = b"\nFrom a@b\nSubject: one\n\nText\n\nFrom c@d\nis no field\n\nFrom c@d\nSubject: two\n";
        let found: Vec<String> = messages(mailbox).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["Subject: one\n\nText\n\nFrom c@d\nis no field\n\n", "Subject: two\n"]);
    }

    #[test]
    fn long_lines_are_not_cut() {
        let long = "x".repeat(200_000);
        let mailbox = format!("From a@b Mon Jan  1 00:00:00 2024\n\n{long}\n");
        assert_eq!(messages(mailbox.as_bytes())[0].1, format!("\n{long}\n"));
    }
}
