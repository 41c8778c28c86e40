//! How things are written on pages: names from outside made harmless, sizes and times for people with the exact value at
//! hand.

use std::fmt::Write as _;

/// Longer names are shortened in the middle.
const NAME_CHARS_MAX: usize = 96;
const NAME_CHARS_BEGIN: usize = 48;
const NAME_CHARS_END: usize = 40;
/// Of what is longer, no more is given at all.
const WHOLE_CHARS_MAX: usize = 8192;

/// A name from outside, as HTML: what would act on the text around it is made visible, and what is long is shortened, with
/// the whole of it where the pointer rests.
pub(crate) fn name(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 32);
    let count = text.chars().count();
    let is_odd = text.chars().any(is_marked);
    html.push_str("<bdi class=\"name\"");
    if count > NAME_CHARS_MAX || is_odd {
        html.push_str(" title=\"");
        text.chars().take(WHOLE_CHARS_MAX).for_each(|character| plain(&mut html, character));
        if count > WHOLE_CHARS_MAX {
            html.push('…');
        }
        html.push('"');
    }
    html.push('>');
    if count > NAME_CHARS_MAX {
        text.chars().take(NAME_CHARS_BEGIN).for_each(|character| shown(&mut html, character));
        html.push_str("<span class=\"gap\">…</span>");
        text.chars().skip(count - NAME_CHARS_END).for_each(|character| shown(&mut html, character));
    } else {
        text.chars().for_each(|character| shown(&mut html, character));
    }
    html.push_str("</bdi>");
    html
}

/// Whether a character is shown by its number: it has no look of its own, or changes that of others.
fn is_marked(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{10ffff}')
}

fn shown(html: &mut String, character: char) {
    if is_marked(character) {
        html.push_str("<span class=\"mark\">");
        plain(html, character);
        html.push_str("</span>");
    } else {
        plain(html, character);
    }
}

/// A character as text or within an attribute.
fn plain(html: &mut String, character: char) {
    match character {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '"' => html.push_str("&quot;"),
        '\'' => html.push_str("&#39;"),
        character if is_marked(character) => {
            let _ = write!(html, "\\u{{{:x}}}", u32::from(character));
        }
        character => html.push(character),
    }
}

/// A number with its thousands apart.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A size in words: 1.2 MB is 1,200,000 bytes.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let (mut whole, mut unit) = (bytes, 0);
    // Kept in thousandths of the unit, which is exact enough and never a float.
    while whole >= 1_000_000 && unit + 1 < UNITS.len() {
        whole /= 1000;
        unit += 1;
    }
    let tenths = (whole + 50) / 100;
    match tenths {
        0..100 => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
        _ => format!("{} {}", (whole + 500) / 1000, UNITS[unit]),
    }
}

/// A share of ten-thousandths in percent: less than all is never shown as all, and more than nothing never as nothing.
pub(crate) fn percent(share: i64) -> String {
    match share {
        0 => "0 %".to_owned(),
        10_000.. => "100 %".to_owned(),
        1..10 => "<0.1 %".to_owned(),
        share => format!("{}.{} %", share / 100, share % 100 / 10),
    }
}

/// How long something takes or took.
pub(crate) fn duration(seconds: u64) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let mut rest = seconds;
    let mut words = Vec::new();
    for (each, unit) in units {
        if rest >= each && words.len() < 2 {
            words.push(format!("{} {unit}", rest / each));
            rest %= each;
        } else if !words.is_empty() {
            break;
        }
    }
    if words.is_empty() { "0 s".to_owned() } else { words.join(" ") }
}

/// A moment as everybody reads it the same, to the second.
pub(crate) fn moment(time: i64) -> String {
    jiff::Timestamp::from_second(time)
        .map_or_else(|_| "—".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// The same for programs.
pub(crate) fn stamp(time: i64) -> String {
    jiff::Timestamp::from_second(time).map_or_else(|_| String::new(), |time| time.to_string())
}

/// How far away a moment is.
pub(crate) fn ago(time: i64, now: i64) -> String {
    let apart = time.abs_diff(now);
    let unit = |each: u64, unit: &str| {
        let count = apart / each;
        let many = if count == 1 { "" } else { "s" };
        match time > now {
            true => format!("in {count} {unit}{many}"),
            false => format!("{count} {unit}{many} ago"),
        }
    };
    match apart {
        0..=4 => "just now".to_owned(),
        5..60 => unit(1, "second"),
        60..3600 => unit(60, "minute"),
        3600..86_400 => unit(3600, "hour"),
        86_400..2_592_000 => unit(86_400, "day"),
        _ => jiff::Timestamp::from_second(time)
            .map_or_else(|_| "—".to_owned(), |time| time.strftime("%Y-%m-%d").to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_shows_what_it_is_and_does_nothing() {
        assert_eq!(name("a/b c.txt"), "<bdi class=\"name\">a/b c.txt</bdi>");
        let shown = name("<script>alert(\"1\")</script>&'");
        assert!(!shown.contains("<script") && shown.contains("&lt;script&gt;alert(&quot;1&quot;)"), "{shown}");
        let shown = name("invoice\u{202e}fdp.exe\n\u{0}");
        assert!(shown.contains("<span class=\"mark\">\\u{202e}</span>fdp.exe"), "{shown}");
        assert!(!shown.contains(['\u{202e}', '\n', '\u{0}']), "{shown}");
    }

    #[test]
    fn a_long_name_is_shortened_in_the_middle_and_whole_in_its_title() {
        let long = format!("begin{}é-end.txt", "ü".repeat(4000));
        let shown = name(&long);
        assert!(shown.contains(&format!("title=\"{long}\"")));
        let body = shown.split_once("\">").unwrap().1;
        assert!(
            body.starts_with("beginü") && body.ends_with("é-end.txt</bdi>") && body.chars().count() < 160,
            "{body}"
        );
    }

    #[test]
    fn sizes_numbers_and_times_are_for_people() {
        let sizes = [0, 999, 1000, 1234, 9_949, 9_950, 123_456, 999_499, 1_000_000, 1_234_567_890, u64::MAX].map(size);
        let expected =
            ["0 B", "999 B", "1.0 KB", "1.2 KB", "9.9 KB", "10 KB", "123 KB", "999 KB", "1.0 MB", "1.2 GB", "18 EB"];
        assert_eq!(sizes, expected);
        assert_eq!([0, 999, 1000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 59, 61, 3600, 90_061].map(duration), ["0 s", "59 s", "1 min 1 s", "1 h", "1 d 1 h"]);
        assert_eq!(
            [(100, 100), (40, 100), (40, 101), (0, 7300), (90_000, 0)].map(|(time, now)| ago(time, now)),
            ["just now", "1 minute ago", "1 minute ago", "2 hours ago", "in 1 day"]
        );
        assert_eq!((moment(0), stamp(1)), ("1970-01-01 00:00:00 UTC".to_owned(), "1970-01-01T00:00:01Z".to_owned()));
    }
}
