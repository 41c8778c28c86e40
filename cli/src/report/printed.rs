//! `cognate report verify FILE --printed PDF`: a PDF has no signature; what it says is compared with the signed page.

use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use cognate_proto::shown::harmless;
use cognate_view::{Outcome, Pool};

use crate::extraction::pool;
use crate::operator::members::print;

/// Characters around a difference that are shown.
const SHOWN: usize = 60;

/// Compares the words of a printed page with those of the signed one.
///
/// # Errors
/// Fails if one of the two cannot be read, or the two differ: with the place of the first difference.
pub(super) fn check(signed: &Path, printed: &Path) -> anyhow::Result<()> {
    let pool = pool(NonZeroUsize::MIN)?;
    let [of_page, of_print] = [text(&pool, signed)?, text(&pool, printed)?];
    match difference(&of_page, &of_print) {
        None => print(&format!("{}: has every word of the signed page, and no other", printed.display())),
        Some([page, print]) => Err(anyhow!(
            "`{}` does not say what the signed page says: the page goes on with \"{}\", the PDF with \"{}\". Print it without \
             headers and footers of the browser, and in full",
            printed.display(),
            harmless(&page),
            harmless(&print),
        )),
    }
}

/// The text of a file, as scans read it.
fn text(pool: &Pool, path: &Path) -> anyhow::Result<String> {
    let unread = || format!("the text of `{}` cannot be read", path.display());
    let file = File::open(path).with_context(unread)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = pool.extract(&file, &name).with_context(unread)?.parts();
    parts.next_part().with_context(unread)?.with_context(unread)?;
    let mut text = Vec::new();
    parts.read_to_end(&mut text).with_context(unread)?;
    match parts.outcome().with_context(unread)?.outcome {
        Outcome::Text => Ok(String::from_utf8_lossy(&text).into_owned()),
        _ => Err(anyhow!("{}", unread())),
    }
}

/// Both texts from where they differ on; nothing if they have the same characters in the same order. Spaces and lines are a matter
/// of the paper. So is a hyphen between small letters that the print lacks: a line of the print that ends with one is read
/// as the first half of a word.
fn difference(page: &str, print: &str) -> Option<[String; 2]> {
    let characters = |text: &str| text.chars().filter(|one| !is_layout(*one)).collect::<Vec<char>>();
    let [page, print] = [characters(page), characters(print)];
    let is_small = |at: usize| page.get(at).is_some_and(|letter| letter.is_lowercase());
    let (mut at, mut at_print) = (0, 0);
    while at < page.len() || at_print < print.len() {
        if page.get(at) == print.get(at_print) {
            (at, at_print) = (at + 1, at_print + 1);
        } else if page.get(at) == Some(&'-') && at > 0 && is_small(at - 1) && is_small(at + 1) {
            at += 1;
        } else {
            let rest = |text: &[char], from: usize| text[from..].iter().take(SHOWN).collect::<String>();
            return Some([rest(&page, at), rest(&print, at_print)]);
        }
    }
    None
}

fn is_layout(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{ad}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_print_may_differ_in_lines_and_in_nothing_else() {
        let page = "1. By their text: 2.9 % of acme\n(921.8 kB)";
        assert_eq!(difference(page, "1. By their text:\n2.9 % of\tacme (921.8 kB) "), None);
        for print in [
            "1. By their text: 2.8 % of acme (921.8 kB)",
            "1. By their text: 2.9 % of acme",
            "1. By their text: 2.9 % of acme (921.8 kB) and more",
            "",
        ] {
            assert!(difference(page, print).is_some(), "{print}");
        }
        assert_eq!(difference("a b c", "a x c").unwrap(), ["bc".to_owned(), "xc".to_owned()]);
    }

    #[test]
    fn a_hyphen_at_the_end_of_a_printed_line_is_no_difference() {
        assert_eq!(difference("src/default-docx-template/word", "src/defaultdocx-template/word"), None);
        for (page, print) in [
            ("defaultdocx", "default-docx"),
            ("from -5 to 3", "from 5 to 3"),
            ("2024-05-03", "2024 05 03"),
            ("a-", "a"),
            ("a-b", "ac"),
        ] {
            assert!(difference(page, print).is_some(), "{page}: {print}");
        }
    }
}
