//! Mail is recognised by the shape of its header (RFC 5322), a mailbox by the line before it. What mail clients open is
//! mail: blank lines, the line of a mailbox or the count of an `.emlx` file before the header, and a line in it that is no
//! field, do not matter.

use super::Kind;

/// Names of fields that hardly anything else begins with.
const FIELDS: [&str; 20] = [
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
    "content-transfer-encoding",
    "sender",
    "x-mailer",
    "x-mozilla-status",
    "snapshot-content-location",
];
/// Every message has one of these fields.
const FIELDS_NEEDED: [&str; 6] =
    ["from", "received", "message-id", "return-path", "mime-version", "content-transfer-encoding"];

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A message or a mailbox, or neither.
pub(super) fn kind(head: &[u8]) -> Option<Kind> {
    let head = message(head);
    let (first, rest) = line(head)?;
    if is_mailbox_line(first) || (is_undated_mailbox_line(first) && begins_with_field(rest)) {
        return has_header(rest, 1).then_some(Kind::Mbox);
    }
    has_header(head, 2).then_some(Kind::Mail)
}

/// True if nothing but fields was seen, so that more of the document may show that it is mail.
pub(super) fn may_be_header(head: &[u8]) -> bool {
    let mut lines = std::iter::successors(line(message(head)), |&(_, rest)| line(rest)).peekable();
    let mut count = 0;
    while let Some((line, _)) = lines.next() {
        let is_part = is_folded(line) || field_name(line).is_some_and(|name| name.contains(&b'-'));
        if !is_part && lines.peek().is_some() {
            return false;
        }
        count += 1;
    }
    count > 1
}

/// A message without what may stand before its header: a mark of UTF-8, blank lines, the count of bytes of an `.emlx`
/// file, which also says where the message ends.
pub(crate) fn message(raw: &[u8]) -> &[u8] {
    let raw = raw.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(raw);
    let blank = raw.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let raw = &raw[raw[..blank].iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1)..];
    let Some((first, rest)) = line(raw) else {
        return raw;
    };
    let count = std::str::from_utf8(first.trim_ascii_end()).ok().filter(|_| !first.is_empty());
    match count.and_then(|count| count.parse::<usize>().ok()) {
        Some(count) => &rest[..count.min(rest.len())],
        None => raw,
    }
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

/// The same without a date: one address. It only counts where a field follows.
pub(crate) fn is_undated_mailbox_line(line: &[u8]) -> bool {
    line.strip_prefix(b"From ").is_some_and(|rest| {
        let address = rest.trim_ascii();
        (address.contains(&b'@') || address == b"-") && address.iter().all(u8::is_ascii_graphic)
    })
}

/// True if the first line is a field.
pub(crate) fn begins_with_field(text: &[u8]) -> bool {
    line(text).is_some_and(|(line, _)| field_name(line).is_some())
}

/// True if a header begins: field after field up to an empty line, enough of them those of mail.
fn has_header(text: &[u8], known_min: usize) -> bool {
    let header = Header::of(text);
    let mut known: Vec<&str> = Vec::new();
    for name in header.lines.iter().filter_map(|line| field_name(line)) {
        known.extend(FIELDS.iter().filter(|field| name.eq_ignore_ascii_case(field.as_bytes())));
    }
    known.sort_unstable();
    known.dedup();
    let ends = header.ends || header.rest.is_empty();
    ends && known.len() >= known_min && known.iter().any(|name| FIELDS_NEEDED.contains(name))
}

/// The lines of a header, and what is behind it.
#[derive(Debug)]
pub(crate) struct Header<'t> {
    /// Fields, and lines that continue them.
    pub(crate) lines: Vec<&'t [u8]>,
    /// The body.
    pub(crate) rest: &'t [u8],
    /// False if a line that is no field ended it, and not an empty one.
    ends: bool,
}

impl<'t> Header<'t> {
    /// The header at the beginning of a text.
    ///
    /// A line that is no field belongs to the header where a field follows: some gateways break
    /// a long line without folding it, and some mailboxes leave their own line within.
    pub(crate) fn of(text: &'t [u8]) -> Header<'t> {
        let mut header = Header { lines: Vec::new(), rest: text, ends: true };
        while let Some((first, rest)) = line(header.rest) {
            let is_part = is_folded(first) && !header.lines.is_empty() || field_name(first).is_some();
            if !first.is_empty() && !is_part {
                let next = line(rest).map(|(next, _)| next);
                let goes_on = next.is_none_or(|next| field_name(next).is_some());
                if header.lines.is_empty() || !goes_on {
                    header.ends = false;
                    return header;
                }
            }
            header.rest = rest;
            if first.is_empty() {
                return header;
            }
            header.lines.push(first);
        }
        header
    }
}

/// True for a line that continues the one before.
fn is_folded(line: &[u8]) -> bool {
    line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'))
}

/// The name of a field: printable ASCII without spaces, up to a colon.
pub(crate) fn field_name(line: &[u8]) -> Option<&[u8]> {
    let colon = memchr::memchr(b':', line)?;
    let name = line[..colon].trim_ascii_end();
    (!name.is_empty() && name.iter().all(u8::is_ascii_graphic)).then_some(name)
}

/// The first line without its end, and what is behind it. Where no line ends with LF, lines end with CR.
pub(crate) fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if text.is_empty() {
        return None;
    }
    let end = memchr::memchr(b'\n', text).or_else(|| memchr::memchr(b'\r', text));
    let (line, rest) = match end {
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
            ("\n\nFrom a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\n\nx", Some(Kind::Mbox)),
            ("From a@b\nFrom: a@b\n\nx", Some(Kind::Mbox)),
            ("From a@b\nno field\nFrom: a@b\n\nx", None),
            ("From here\nFrom: a@b\n\nx", None),
            ("\r\n\nFrom: a@b\nSubject: x\n\n", Some(Kind::Mail)),
            ("\u{FEFF}From: a@b\nSubject: x\n\n", Some(Kind::Mail)),
            ("29        \nFrom: a@b\nSubject: x\n\nbody<plist/>", Some(Kind::Mail)),
            ("From: a@b\rSubject: x\r\rbody", Some(Kind::Mail)),
            ("From: a@b\nSubject: x\nbroken by a gateway\nDate: y\n\n", Some(Kind::Mail)),
            ("From: a@b\nSubject: x\nfree text follows\n\n", None),
            ("From: a@b\n>From - Mon Jan  1 00:00:00 2024\nSubject: x\n\n", Some(Kind::Mail)),
            ("From: a@b\nSubject: x\nA letter\nof two lines.\n\n", None),
            ("Subject: x\nContent-Transfer-Encoding: base64\n\n", Some(Kind::Mail)),
            ("To : a@b\nFrom\t: x\n\n", Some(Kind::Mail)),
            ("", None),
        ] {
            assert_eq!(kind(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn what_stands_before_a_message_is_left_out() {
        for (raw, expected) in [
            ("\u{FEFF}\n \r\nA: b", "A: b"),
            (" A: b", " A: b"),
            ("\n A: b", " A: b"),
            ("4   \nA: b<plist>", "A: b"),
            ("99\nA: b", "A: b"),
            ("4x\nA: b", "4x\nA: b"),
            ("", ""),
        ] {
            assert_eq!(message(raw.as_bytes()), expected.as_bytes(), "{raw:?}");
        }
    }

    #[test]
    fn a_long_header_of_fields_alone_may_be_one_of_mail() {
        for (head, may_be) in [
            ("X-Spam-1: yes\n folded\nX-Spam-2: y", true),
            ("X-Spam-1: yes\nX-Spam-2: yes\nX-S", true),
            ("X-Spam-1: yes\na line\nX-Spam-2: yes\n", false),
            ("key: value\nother: value\n", false),
            ("X-Spam-1: yes", false),
        ] {
            assert_eq!(may_be_header(head.as_bytes()), may_be, "{head:?}");
        }
    }
}
