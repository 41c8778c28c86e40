//! The glossary as a page: the same text as `docs/glossary.md`, in reach of every page.

use std::fmt::Write as _;
use std::sync::LazyLock;

use askama::Template;
use axum::Router;
use axum::routing::get;

use crate::{Page, Pages, Person, Shown, filters, html};

/// The text, part of this binary.
const TEXT: &str = include_str!("../../../docs/glossary.md");

/// The heading of the part for contributors, which no reader of pages needs. The last part of the text.
const FOR_CONTRIBUTORS: &str = "## Words we do not use";

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/glossary", get(glossary))
}

#[derive(Template)]
#[template(path = "glossary.html")]
struct Glossary {
    page: Page,
    text: &'static str,
}

async fn glossary(person: Person) -> Shown {
    static HTML: LazyLock<String> = LazyLock::new(|| rendered(for_readers(TEXT)));
    html(&Glossary { page: person.page(""), text: &HTML })
}

/// The text without the part for contributors.
fn for_readers(text: &str) -> &str {
    text.split(FOR_CONTRIBUTORS).next().unwrap_or(text)
}

/// The few forms that the glossary has: headings, paragraphs, and lists of words with their meanings.
fn rendered(text: &str) -> String {
    let mut html = String::new();
    let mut blocks: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.trim(), blocks.last_mut()) {
            ("", _) => blocks.push(String::new()),
            (line, _) if line.starts_with('#') || line.starts_with("- ") => blocks.push(line.to_owned()),
            (line, Some(block)) if !block.is_empty() => {
                block.push(' ');
                block.push_str(line);
            }
            (line, _) => blocks.push(line.to_owned()),
        }
    }
    let mut in_list = false;
    for block in blocks.iter().filter(|block| !block.is_empty()) {
        let item = block.strip_prefix("- ");
        if item.is_some() != in_list {
            html.push_str(if in_list { "</ul>\n" } else { "<ul>\n" });
            in_list = !in_list;
        }
        let _ = match (item, block.strip_prefix("## "), block.strip_prefix("# ")) {
            (Some(item), ..) => writeln!(html, "<li>{}</li>", inline(item)),
            (_, Some(heading), _) => writeln!(html, "<h2>{}</h2>", inline(heading)),
            (_, _, Some(heading)) => writeln!(html, "<h1>{}</h1>", inline(heading)),
            _ => writeln!(html, "<p>{}</p>", inline(block)),
        };
    }
    if in_list {
        html.push_str("</ul>\n");
    }
    html
}

/// Bold words and code.
fn inline(text: &str) -> String {
    let escaped = cognate_export::show::sentence(text);
    let mut html = String::with_capacity(escaped.len() + 32);
    for (place, part) in escaped.split("**").enumerate() {
        let part: String = part.split('`').enumerate().fold(String::new(), |mut all, (place, part)| {
            let _ = if place % 2 == 1 { write!(all, "<code>{part}</code>") } else { write!(all, "{part}") };
            all
        });
        let _ = if place % 2 == 1 { write!(html, "<strong>{part}</strong>") } else { write!(html, "{part}") };
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glossary_is_headings_paragraphs_and_lists() {
        let text = "# Words\n\nOne\nline.\n\n## A\n- **Site**: a `place`\n  <b>.\n- **B**: x.\n";
        assert_eq!(
            rendered(text),
            "<h1>Words</h1>\n<p>One line.</p>\n<h2>A</h2>\n<ul>\n<li><strong>Site</strong>: a <code>place</code> \
             &lt;b&gt;.</li>\n<li><strong>B</strong>: x.</li>\n</ul>\n"
        );
        assert!(TEXT.contains(FOR_CONTRIBUTORS));
        let all = rendered(for_readers(TEXT));
        assert!(!all.contains("Words we do not use"), "{all}");
        assert!(all.contains("<strong>Federation</strong>") && !all.contains("**") && !all.contains('`'), "{all}");
    }
}
