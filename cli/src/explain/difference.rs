//! The exact difference of two files: of their text, line by line with the words that changed, or else of their bytes.

use std::ops::Range;
use std::path::PathBuf;

use cognate_fingerprint::{Key, Method, View};
use imara_diff::{Algorithm, Diff, InternedInput, Interner, Token};

use crate::document_reader::{DocumentReader, bytes, split};
use cognate_result::explain::record::{Difference, Explained, Hunk};

/// Lines around what changed.
const CONTEXT: usize = 2;
/// Hunks that are told.
const HUNKS_MAX: usize = 2_000;
/// Lines of a hunk within which words are compared.
const WORDS_LINES_MAX: usize = 200;
/// One in so many words and signs of changed lines must have stayed for the others to be marked.
const WORDS_STAYED_LEAST: usize = 3;
/// The mean length of the pieces in which bytes are compared, before what is equal at their ends is taken off.
const PIECE_BYTES: u64 = 80;

/// How the files differ: in their text where both have one, else in their bytes.
pub(super) fn between(explained: &Explained, files: [&PathBuf; 2]) -> anyhow::Result<Difference> {
    let insides = [&explained.a, &explained.b].map(|document| split(document.path.as_bytes()).1);
    if let Some(texts) = texts(files, &insides) {
        return Ok(lines(&texts[0], &texts[1]));
    }
    let [a, b] = [bytes(files[0])?, bytes(files[1])?];
    of_bytes(&a, &b)
}

/// The texts of both: as they stand where they are text themselves, else as a reader sees them.
fn texts(files: [&PathBuf; 2], insides: &[Option<String>; 2]) -> Option<[String; 2]> {
    let plain = |place: usize| -> Option<String> {
        let read = insides[place].is_none().then(|| bytes(files[place]).ok()).flatten()?;
        String::from_utf8(read).ok().filter(|text| !text.contains('\0'))
    };
    if let (Some(a), Some(b)) = (plain(0), plain(1)) {
        return Some([a, b]);
    }
    let mut reader = DocumentReader::new();
    let mut text = |place: usize| -> Option<String> {
        let read = reader.text(files[place], insides[place].as_deref(), View::Text).ok()?;
        String::from_utf8(read).ok().filter(|text| !text.trim().is_empty())
    };
    Some([text(0)?, text(1)?])
}

fn lines(a: &str, b: &str) -> Difference {
    let input = InternedInput::new(a, b);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let (left, right): (Vec<&str>, Vec<&str>) = (a.split_inclusive('\n').collect(), b.split_inclusive('\n').collect());
    let mut difference =
        Difference { of: "lines".to_owned(), only_a: 0, only_b: 0, hunks: Vec::new(), hunks_omitted: 0 };
    let hunks: Vec<(Range<usize>, Range<usize>)> =
        diff.hunks().map(|hunk| (range(&hunk.before), range(&hunk.after))).collect();
    let mut told_to = 0;
    for (place, (before, after)) in hunks.iter().enumerate() {
        difference.only_a += before.len() as u64;
        difference.only_b += after.len() as u64;
        if difference.hunks.len() == HUNKS_MAX {
            difference.hunks_omitted += 1;
            continue;
        }
        let mut told = Vec::new();
        let above = before.start.saturating_sub(CONTEXT).max(told_to);
        told.extend(left[above..before.start].iter().map(|line| marked(' ', line)));
        told.extend(changed(&left[before.clone()], &right[after.clone()]));
        // What lies between two changes is told once.
        let next = hunks.get(place + 1).map_or(left.len(), |(next, _)| next.start);
        told_to = next.min(before.end + CONTEXT);
        told.extend(left[before.end..told_to].iter().map(|line| marked(' ', line)));
        difference.hunks.push(Hunk {
            start_a: before.start as u64 + 1,
            length_a: before.len() as u64,
            start_b: after.start as u64 + 1,
            length_b: after.len() as u64,
            lines: told,
        });
    }
    difference
}

fn marked(mark: char, line: &str) -> String {
    format!("{mark}{}", line.trim_end_matches(['\n', '\r']))
}

/// The lines of a hunk, in which the words that changed are marked where lines came for lines.
fn changed(before: &[&str], after: &[&str]) -> Vec<String> {
    let plain = || -> Vec<String> {
        let gone = before.iter().map(|line| marked('-', line));
        gone.chain(after.iter().map(|line| marked('+', line))).collect()
    };
    if before.is_empty() || after.is_empty() || before.len() + after.len() > WORDS_LINES_MAX {
        return plain();
    }
    let (old, new) = (before.concat(), after.concat());
    let (left, right) = (words(&old), words(&new));
    let mut interner = Interner::new(left.len() + right.len());
    let mut tokens = |words: &[&str]| -> Vec<Token> {
        // What a word borrows lives as long as this function.
        words.iter().map(|word| interner.intern((*word).to_owned())).collect()
    };
    let (left_tokens, right_tokens) = (tokens(&left), tokens(&right));
    let mut diff = Diff::default();
    diff.compute_with(Algorithm::Histogram, &left_tokens, &right_tokens, interner.num_tokens());
    let marks = |words: &[&str], ranges: Vec<Range<usize>>, mark: char, [open, close]: [&str; 2]| -> Vec<String> {
        let mut text = String::new();
        for (place, word) in words.iter().enumerate() {
            let within = ranges.iter().any(|range| range.contains(&place));
            let begins = ranges.iter().any(|range| range.start == place);
            let ends = ranges.iter().any(|range| range.end == place + 1);
            // A mark never goes over the end of a line.
            let (body, end) = word.strip_suffix('\n').map_or((*word, ""), |body| (body, "\n"));
            text.push_str(if within && begins { open } else { "" });
            text.push_str(body);
            if within && !end.is_empty() && !ends {
                text.push_str(close);
                text.push_str(end);
                text.push_str(open);
            } else {
                text.push_str(if within && ends { close } else { "" });
                text.push_str(end);
            }
        }
        let empty = format!("{open}{close}");
        text.split_inclusive('\n').map(|line| marked(mark, &line.replace(&empty, ""))).collect()
    };
    let hunks: Vec<_> = diff.hunks().collect();
    // Lines that have hardly a word in common came for others, and are no versions of them.
    let stayed = left.len() - hunks.iter().map(|hunk| hunk.before.len()).sum::<usize>();
    if stayed * WORDS_STAYED_LEAST < left.len().max(right.len()) {
        return plain();
    }
    let mut told = marks(
        &left,
        hunks.iter().map(|hunk| range(&hunk.before)).filter(|r| !r.is_empty()).collect(),
        '-',
        ["[-", "-]"],
    );
    let gained = hunks.iter().map(|hunk| range(&hunk.after)).filter(|r| !r.is_empty()).collect();
    told.extend(marks(&right, gained, '+', ["{+", "+}"]));
    told
}

/// Words, and what stands between them.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut before) = (0, None);
    for (place, character) in text.char_indices() {
        let kind = if character.is_alphanumeric() || character == '_' {
            Some(true)
        } else if character == '\n' {
            None
        } else {
            Some(false)
        };
        // A line end stands alone; a word is letters and digits; each other character is one by itself.
        if place > start && (before != kind || kind != Some(true)) {
            found.push(&text[start..place]);
            start = place;
        }
        before = kind;
    }
    if start < text.len() {
        found.push(&text[start..]);
    }
    found
}

/// Bytes are compared in pieces that the content delimits; what is equal at the ends of what changed is taken off.
fn of_bytes(a: &[u8], b: &[u8]) -> anyhow::Result<Difference> {
    let method = Method::tttd(View::Raw, PIECE_BYTES)?;
    let fingerprinter = method.fingerprinter(&Key::none());
    let pieces = |bytes: &[u8]| {
        let (mut ends, mut tags) = (vec![0], Vec::new());
        fingerprinter.slice(bytes, |chunk| {
            tags.push((chunk.tag, chunk.length_bytes));
            ends.push(ends[ends.len() - 1] + chunk.length_bytes as usize);
        });
        (ends, tags)
    };
    let ((ends_a, tags_a), (ends_b, tags_b)) = (pieces(a), pieces(b));
    let mut interner = Interner::new(tags_a.len() + tags_b.len());
    let left: Vec<Token> = tags_a.iter().map(|tag| interner.intern(*tag)).collect();
    let right: Vec<Token> = tags_b.iter().map(|tag| interner.intern(*tag)).collect();
    let mut diff = Diff::default();
    diff.compute_with(Algorithm::Histogram, &left, &right, interner.num_tokens());
    let mut difference =
        Difference { of: "bytes".to_owned(), only_a: 0, only_b: 0, hunks: Vec::new(), hunks_omitted: 0 };
    for hunk in diff.hunks() {
        let (mut in_a, mut in_b) = (
            ends_a[hunk.before.start as usize]..ends_a[hunk.before.end as usize],
            ends_b[hunk.after.start as usize]..ends_b[hunk.after.end as usize],
        );
        let same = |x: &[u8], y: &[u8]| x.iter().zip(y).take_while(|(x, y)| x == y).count();
        let front = same(&a[in_a.clone()], &b[in_b.clone()]);
        (in_a.start, in_b.start) = (in_a.start + front, in_b.start + front);
        let back = a[in_a.clone()].iter().rev().zip(b[in_b.clone()].iter().rev()).take_while(|(x, y)| x == y).count();
        (in_a.end, in_b.end) = (in_a.end - back, in_b.end - back);
        if in_a.is_empty() && in_b.is_empty() {
            continue;
        }
        difference.only_a += in_a.len() as u64;
        difference.only_b += in_b.len() as u64;
        if difference.hunks.len() == HUNKS_MAX {
            difference.hunks_omitted += 1;
            continue;
        }
        difference.hunks.push(Hunk {
            start_a: in_a.start as u64,
            length_a: in_a.len() as u64,
            start_b: in_b.start as u64,
            length_b: in_b.len() as u64,
            lines: Vec::new(),
        });
    }
    Ok(difference)
}

fn range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(a: &str, b: &str) -> Vec<String> {
        lines(a, b).hunks.into_iter().flat_map(|hunk| hunk.lines).collect()
    }

    #[test]
    fn words_that_changed_are_marked_in_their_lines() {
        let shown = told("one\nThe old cat sat.\nthree\n", "one\nThe new cat sat.\nthree\n");
        assert_eq!(shown, [" one", "-The [-old-] cat sat.", "+The {+new+} cat sat.", " three"]);
    }

    #[test]
    fn lines_that_came_or_went_are_told_whole() {
        assert_eq!(told("a\nb\n", "a\nx\nb\n"), [" a", "+x", " b"]);
        assert_eq!(told("a\n", "a\n"), Vec::<String>::new());
    }

    #[test]
    fn a_mark_ends_with_its_line() {
        let shown = told("k\na b c d\ne f g h\nk\n", "k\na b c xx g h\nk\n");
        assert!(shown.iter().all(|line| line.matches("[-").count() == line.matches("-]").count()), "{shown:?}");
        assert!(shown.iter().any(|line| line.contains("{+xx+}")), "{shown:?}");
    }

    #[test]
    fn of_bytes_only_what_differs_is_told() {
        let mut a: Vec<u8> = (0..4_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
        let mut b = a.clone();
        b[2_000] ^= 1;
        b.splice(3_000..3_000, *b"inserted");
        let found = of_bytes(&a, &b).unwrap();
        let ranges: Vec<_> = found.hunks.iter().map(|h| (h.start_a, h.length_a, h.start_b, h.length_b)).collect();
        assert_eq!(ranges[0], (2_000, 1, 2_000, 1));
        assert_eq!((ranges.len(), ranges[1].1, ranges[1].3), (2, 0, 8));
        a.clear();
        assert_eq!(of_bytes(&a, b"x").unwrap().only_b, 1);
    }

    proptest! {
        #[test]
        fn lines_of_the_other_are_those_kept_and_those_that_came(a in "([abc]\n){0,12}", b in "([abcd]\n){0,12}") {
            let found = lines(&a, &b);
            let (left, right): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
            let (mut made, mut done) = (Vec::new(), 0);
            for hunk in &found.hunks {
                let place = |number: u64| usize::try_from(number).unwrap();
                let (start_a, start_b) = (place(hunk.start_a) - 1, place(hunk.start_b) - 1);
                made.extend_from_slice(&left[done..start_a]);
                made.extend_from_slice(&right[start_b..start_b + place(hunk.length_b)]);
                done = start_a + place(hunk.length_a);
            }
            made.extend_from_slice(&left[done..]);
            prop_assert_eq!(made, right);
            let shown: usize = found.hunks.iter().map(|hunk| hunk.lines.iter().filter(|line| line.starts_with(' ')).count()).sum();
            prop_assert!(shown <= left.len(), "no line is told twice");
        }

        #[test]
        fn what_differs_put_in_place_of_what_was_gives_the_other(
            a in proptest::collection::vec(any::<u8>(), 0..600), cut in 0usize..600, more in proptest::collection::vec(any::<u8>(), 0..50),
        ) {
            let mut b = a.clone();
            let at = cut.min(b.len());
            b.splice(at..(at + 20).min(a.len()).max(at), more);
            let found = of_bytes(&a, &b).unwrap();
            let (mut made, mut done) = (Vec::new(), 0usize);
            for hunk in &found.hunks {
                let place = |number: u64| usize::try_from(number).unwrap();
                made.extend_from_slice(&a[done..place(hunk.start_a)]);
                made.extend_from_slice(&b[place(hunk.start_b)..place(hunk.start_b + hunk.length_b)]);
                done = place(hunk.start_a + hunk.length_a);
            }
            made.extend_from_slice(&a[done..]);
            prop_assert_eq!(made, b);
        }
    }
}
