//! Mail is recognised by the shape of its header (RFC 5322), a mailbox by the line before it.

use super::Kind;

/// Names of fields that hardly anything else begins with.
const FIELDS: [&str; 17] = [
    "from",
    "to",
    "cc",
    "bcc",
    "subject",
    "date",
    "message-id",
    "received",
    "return-path",
    "mime-version",
    "reply-to",
    "delivered-to",
    "in-reply-to",
    "references",
    "content-type",
    "sender",
    "x-mailer",
];
/// Every message has one of these fields.
const FIELDS_NEEDED: [&str; 5] = ["from", "received", "message-id", "return-path", "mime-version"];

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A message or a mailbox, or neither.
pub(super) fn kind(head: &[u8]) -> Option<Kind> {
    let (first, rest) = line(head)?;
    if is_mailbox_line(first) {
        return has_header(rest, 1).then_some(Kind::Mbox);
    }
    has_header(head, 2).then_some(Kind::Mail)
}

/// The line before a message in a mailbox: `From`, an address, and a date with a month, a time and a year.
pub(crate) fn is_mailbox_line(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else {
        return false;
    };
    let (mut month, mut time, mut year) = (false, false, false);
    for word in rest.trim_ascii_end().split(|&byte| byte == b' ').filter(|word| !word.is_empty()).skip(1).take(12) {
        month |= MONTHS.iter().any(|name| name.as_bytes() == word);
        time |= word.len() >= 4 && word.contains(&b':') && word[0].is_ascii_digit();
        year |= word.len() == 4 && word.iter().all(u8::is_ascii_digit);
    }
    month && time && year
}

/// True if a header begins: field after field up to an empty line, enough of them those of mail.
fn has_header(mut text: &[u8], known_min: usize) -> bool {
    let mut known: Vec<&str> = Vec::new();
    let mut fields = 0;
    while let Some((line, rest)) = line(text) {
        let cut_off = rest.is_empty();
        text = rest;
        if line.is_empty() {
            break;
        }
        if line[0] == b' ' || line[0] == b'\t' {
            if fields == 0 {
                return false;
            }
            continue;
        }
        let Some(name) = field_name(line) else {
            if cut_off && fields > 0 {
                break;
            }
            return false;
        };
        fields += 1;
        known.extend(FIELDS.iter().filter(|field| name.eq_ignore_ascii_case(field.as_bytes())));
    }
    known.sort_unstable();
    known.dedup();
    known.len() >= known_min && known.iter().any(|name| FIELDS_NEEDED.contains(name))
}

/// The name of a field: printable ASCII without spaces, up to a colon.
fn field_name(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let name = &line[..colon];
    (!name.is_empty() && name.iter().all(u8::is_ascii_graphic)).then_some(name)
}

/// The first line without its end, and what is behind it.
fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if text.is_empty() {
        return None;
    }
    let (line, rest) = match memchr::memchr(b'\n', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &text[text.len()..]),
    };
    Some((line.strip_suffix(b"\r").unwrap_or(line), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_line_has_a_month_a_time_and_a_year() {
        for (line, is_mailbox) in [
            ("From a@b Mon Jan  1 00:00:00 2024", true),
            ("From a@b Mon Jan  1 00:00:00 2024\r", true),
            ("From - Mon Jan  1 00:00:00 2024", true),
            ("From a@b Mon Jan  1 00:00:00 +0100 2024", true),
            ("From a@b Mon Jan  1 00:00:00", false),
            ("From a@b Mon 1 00:00:00 2024", false),
            ("From a@b Mon Jan  1 2024", false),
            ("From: a@b Mon Jan  1 00:00:00 2024", false),
            ("From here on, Jan said at 12:00 in 2024", true),
            ("from a@b Mon Jan  1 00:00:00 2024", false),
            ("", false),
        ] {
            assert_eq!(is_mailbox_line(line.as_bytes()), is_mailbox, "{line}");
        }
    }

    #[test]
    fn a_message_has_two_fields_of_mail_at_least() {
        for (text, expected) in [
            ("From: a@b\nSubject: x\n\nbody", Some(Kind::Mail)),
            ("from: a@b\r\nsubject: x\r\n\r\nbody", Some(Kind::Mail)),
            ("From: a@b\n folded\nSubject: x\n\nbody", Some(Kind::Mail)),
            ("Subject: x\n\nbody", None),
            ("From: a@b\n\nbody", None),
            (" From: a@b\nSubject: x\n\n", None),
            ("Note: this is a text\nwith lines\n", None),
            ("From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\n\nx", Some(Kind::Mbox)),
            ("From a@b Mon Jan  1 00:00:00 2024\njust a text", None),
            ("", None),
        ] {
            assert_eq!(kind(text.as_bytes()), expected, "{text:?}");
        }
    }
}
