//! HTML among texts with angle brackets: by its first tag, or by tags that only complete pages have.

use super::Kind;

/// HTML, flat `OpenDocument`, or neither. XML of other sorts is text, as source code is.
pub(super) fn kind(head: &[u8]) -> Option<Kind> {
    let first = skip_prolog(head);
    if !first.starts_with(b"<") {
        return None;
    }
    if let Some(name) = skip_ignoring_case(first, b"<!doctype") {
        let name = name.trim_ascii_start();
        return skip_ignoring_case(name, b"html").map(|_| Kind::Html);
    }
    if is_tag(first, b"office:document") {
        return Some(Kind::OpenDocument);
    }
    let page: [&[u8]; 6] = [b"html", b"head", b"body", b"title", b"meta", b"frameset"];
    if page.iter().any(|name| is_tag(first, name)) {
        return Some(Kind::Html);
    }
    // Markdown often begins with a tag, and is to be read as it is: a page has more.
    let fragment: [&[u8]; 12] =
        [b"h1", b"h2", b"div", b"p", b"table", b"a", b"font", b"script", b"style", b"center", b"link", b"base"];
    let more: [&[u8]; 4] = [b"<body", b"</body", b"</html", b"</head"];
    let begins = fragment.iter().any(|name| is_tag(first, name));
    let is_page = begins && more.iter().any(|tag| contains_ignoring_case(head, tag));
    (is_page || is_fragment(first)).then_some(Kind::Html)
}

/// True for a part of a page, as programs write them: it begins with a block, as does all of it behind a blank line. In
/// Markdown some of it is words, or code.
fn is_fragment(text: &[u8]) -> bool {
    let block: [&[u8]; 11] =
        [b"h1", b"h2", b"h3", b"div", b"p", b"table", b"ul", b"ol", b"section", b"article", b"blockquote"];
    let mut is_begin = true;
    let is_marked = |line: &[u8]| {
        let line = line.trim_ascii();
        let is_right = line.is_empty() || !is_begin || line.starts_with(b"<");
        is_begin = line.is_empty();
        is_right && !line.starts_with(b"```")
    };
    block.iter().any(|name| is_tag(text, name)) && text.split(|&byte| byte == b'\n').all(is_marked)
}

/// The text after white space, declarations of XML, comments, and a declaration other than of HTML.
fn skip_prolog(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let end: &[u8] = if text.starts_with(b"<?") {
            b"?>"
        } else if text.starts_with(b"<!--") {
            b"-->"
        } else {
            return text;
        };
        match memchr::memmem::find(text, end) {
            Some(at) => text = &text[at + end.len()..],
            None => return &[],
        }
    }
}

/// True if a tag of this name begins.
fn is_tag(text: &[u8], name: &[u8]) -> bool {
    skip_ignoring_case(&text[1..], name)
        .is_some_and(|rest| rest.first().is_none_or(|&byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/')))
}

fn skip_ignoring_case<'t>(text: &'t [u8], prefix: &[u8]) -> Option<&'t [u8]> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn contains_ignoring_case(text: &[u8], wanted: &[u8]) -> bool {
    memchr::memchr_iter(b'<', text).any(|at| skip_ignoring_case(&text[at..], wanted).is_some())
}

#[cfg(test)]
mod tests;
