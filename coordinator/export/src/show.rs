//! Names from outside as HTML: harmless, and readable.

use std::fmt::Write as _;

use cognate_proto::shown::is_marked;

/// Longer names are shortened in the middle.
const NAME_CHARS_MAX: usize = 96;
const NAME_CHARS_BEGIN: usize = 48;
const NAME_CHARS_END: usize = 40;
/// Maximum characters of a name, including its tooltip.
const WHOLE_CHARS_MAX: usize = 8192;
/// Longer names may go on in the next line behind each `/`.
const LINE_CHARS_MAX: usize = 24;

/// A name from outside, as HTML: characters that act on the text around them are made visible, and a long name is
/// shortened, with its full text in the tooltip.
pub fn name(text: &str) -> String {
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
    let show = |html: &mut String, character| {
        shown(html, character);
        if character == '/' && count > LINE_CHARS_MAX {
            html.push_str("<wbr>");
        }
    };
    if count > NAME_CHARS_MAX {
        text.chars().take(NAME_CHARS_BEGIN).for_each(|character| show(&mut html, character));
        html.push_str("<span class=\"gap\">…</span>");
        text.chars().skip(count - NAME_CHARS_END).for_each(|character| show(&mut html, character));
    } else {
        text.chars().for_each(|character| show(&mut html, character));
    }
    html.push_str("</bdi>");
    html
}

/// A sentence with names from outside in it, as HTML: as harmless as a name, and never shortened.
pub fn sentence(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 32);
    text.chars().take(WHOLE_CHARS_MAX).for_each(|character| shown(&mut html, character));
    html
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_shows_what_it_is_and_does_nothing() {
        assert_eq!(name("a/b c.txt"), "<bdi class=\"name\">a/b c.txt</bdi>");
        let long = name("departments/finance/2024.xlsx");
        assert_eq!(
            long, "<bdi class=\"name\">departments/<wbr>finance/<wbr>2024.xlsx</bdi>",
            "a line may end behind a /"
        );
        let shown = name("<script>alert(\"1\")</script>&'");
        assert!(!shown.contains("<script") && shown.contains("&lt;script&gt;alert(&quot;1&quot;)"), "{shown}");
        let shown = name("invoice\u{202e}fdp.exe\n\u{0}");
        assert!(shown.contains("<span class=\"mark\">\\u{202e}</span>fdp.exe"), "{shown}");
        assert!(!shown.contains(['\u{202e}', '\n', '\u{0}']), "{shown}");
    }

    #[test]
    fn a_long_name_is_shortened_in_the_middle_and_complete_in_its_title() {
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
    fn a_sentence_is_harmless_and_never_shortened() {
        assert_eq!(sentence("<b>\u{202e}"), "&lt;b&gt;<span class=\"mark\">\\u{202e}</span>");
        let long = "tokyo/kb: the site did not attach in time. ".repeat(20);
        assert_eq!(sentence(&long), long);
    }
}
