//! Writing from right to left: a page draws its letters from left to right, as they are seen, and a text has them in the
//! order of reading (Unicode Standard Annex #9, rule L2, which is its own inverse).

/// True for the letters of scripts that are written from right to left, and for their marks.
pub(super) fn is_leftward(letter: char) -> bool {
    let is_number = matches!(letter, '\u{660}'..='\u{66C}' | '\u{6DD}' | '\u{6F0}'..='\u{6F9}');
    !is_number
        && matches!(letter,
            '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}'
            | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
}

/// True for the letters of Arabic, Persian and Urdu.
pub(super) fn is_arabic(letter: char) -> bool {
    matches!(letter, '\u{620}'..='\u{6FF}' | '\u{750}'..='\u{77F}' | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}')
}

/// Words that show by their first or last letter in which order a page has its letters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Votes {
    /// For the order in which they are seen, from left to right.
    seen: usize,
    /// For the order of reading.
    read: usize,
}

impl Votes {
    /// Counts the words of a line.
    pub(super) fn count(&mut self, line: &str) {
        for word in line.split(|letter: char| !is_leftward(letter)) {
            let (Some(first), Some(last)) = (word.chars().next(), word.chars().next_back()) else { continue };
            if word.chars().nth(1).is_none() {
                continue;
            }
            self.read += usize::from(ends_words(last)) + usize::from(word.starts_with("ال"));
            self.seen += usize::from(ends_words(first)) + usize::from(word.ends_with("لا"));
        }
    }

    /// True if the letters are in the order in which they are seen.
    pub(super) fn are_for_seen(self) -> bool {
        self.read <= self.seen
    }
}

/// True for letters, and forms of letters, that are only at the end of words.
fn ends_words(letter: char) -> bool {
    matches!(letter, 'ך' | 'ם' | 'ן' | 'ף' | 'ץ' | 'ة' | 'ى')
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Leftward,
    Rightward,
    Number,
    Neutral,
}

/// Puts the parts of a line, each a letter or a ligature, from the order in which they are seen to that of reading.
pub(super) fn put_in_order_of_reading(parts: &mut [&str]) {
    let mut classes: Vec<Class> = parts.iter().map(|part| class(part)).collect();
    join_numbers(parts, &mut classes);
    let words = |class| classes.chunk_by(|a, b| a == b).filter(|word| word.first() == Some(&class)).count();
    let is_leftward = words(Class::Leftward) >= words(Class::Rightward);
    let levels = levels(&classes, is_leftward);
    for level in [2, 1] {
        let mut start = 0;
        while start < parts.len() {
            let length = levels[start..].iter().take_while(|of| **of >= level).count();
            parts[start..start + length].reverse();
            start += length.max(1);
        }
    }
}

fn class(part: &str) -> Class {
    match part.chars().next() {
        Some(letter) if is_leftward(letter) => Class::Leftward,
        Some(letter) if letter.is_numeric() => Class::Number,
        Some(letter) if letter.is_alphabetic() => Class::Rightward,
        _ => Class::Neutral,
    }
}

/// A point or a sign between two numbers, or at one of them, belongs to the number.
fn join_numbers(parts: &[&str], classes: &mut [Class]) {
    for at in 1..parts.len().saturating_sub(1) {
        let is_between = classes[at - 1] == Class::Number && classes[at + 1] == Class::Number;
        if is_between && matches!(parts[at], "." | "," | ":" | "/" | "-" | "+" | "\u{66B}" | "\u{66C}") {
            classes[at] = Class::Number;
        }
    }
    // A number to the right of words that are written rightwards belongs to them.
    let mut is_after_rightward = false;
    for class in classes {
        match class {
            Class::Number if is_after_rightward => *class = Class::Rightward,
            Class::Leftward => is_after_rightward = false,
            Class::Rightward => is_after_rightward = true,
            Class::Number | Class::Neutral => {}
        }
    }
}

/// The level of each part: 1 where it is written leftwards, and 2 for what is written rightwards in it.
fn levels(classes: &[Class], is_leftward: bool) -> Vec<u8> {
    let base = u8::from(is_leftward);
    let strong = |class: &Class| match class {
        Class::Leftward => Some(true),
        Class::Rightward => Some(false),
        Class::Number | Class::Neutral => None,
    };
    let mut levels = Vec::with_capacity(classes.len());
    let mut before = None;
    for (at, class) in classes.iter().enumerate() {
        let after = || classes[at + 1..].iter().find_map(strong);
        let is_in_leftward = || before.unwrap_or(is_leftward) && after().unwrap_or(is_leftward);
        levels.push(match class {
            Class::Leftward => 1,
            Class::Rightward => 2 * base,
            Class::Number if is_leftward || is_in_leftward() => 2,
            Class::Number => 0,
            // What is between words of one direction has that direction.
            Class::Neutral => match (before.unwrap_or(is_leftward), after().unwrap_or(is_leftward)) {
                (true, true) => 1,
                (false, false) => 2 * base,
                _ => base,
            },
        });
        before = strong(class).or(before);
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(seen: &str) -> String {
        let mut parts: Vec<&str> = seen.split_inclusive(|_| true).collect();
        put_in_order_of_reading(&mut parts);
        parts.concat()
    }

    #[test]
    fn what_is_seen_from_left_to_right_comes_in_the_order_of_reading() {
        for (seen, read) in [
            ("םלוע םולש", "שלום עולם"),
            ("םולש abc 12.5 םלוע", "עולם abc 12.5 שלום"),
            ("say םלוע םולש to all", "say שלום עולם to all"),
            ("םולש (abc def) םלוע", "עולם )abc def( שלום"),
            ("2026 םולש", "שלום 2026"),
            ("plain words 12", "plain words 12"),
            ("", ""),
        ] {
            assert_eq!(ordered(seen), read, "{seen}");
        }
    }

    #[test]
    fn ligatures_keep_the_order_of_their_letters() {
        let mut parts = ["م", "لا", "س"];
        put_in_order_of_reading(&mut parts);
        assert_eq!(parts.concat(), "سلام");
    }

    #[test]
    fn the_ends_of_words_show_their_order() {
        let votes = |line| {
            let mut votes = Votes::default();
            votes.count(line);
            votes
        };
        assert!(votes("םולש םולח").are_for_seen() && !votes("שלום חלום").are_for_seen());
        assert!(votes("ةسردملا").are_for_seen() && !votes("المدرسة").are_for_seen());
        assert_eq!(votes("plain ם"), Votes::default());
    }
}
