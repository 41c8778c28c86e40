//! Glyphs that are named by a number, as `a65` or `C41`: programs that make fonts of pictures, as those of TeX do, name each
//! glyph by its code in the font that they draw.

use hayro_cmap::BfString;

/// Codes below it are no letters of ASCII.
const FIRST_LETTER: u32 = 0x21;
/// The letters that fonts of TeX have below ASCII, from the code 0 on, without (OT1) and with (T1) letters above ASCII.
const OLD_TEX: [&str; 33] = [
    "Γ", "Δ", "Θ", "Λ", "Ξ", "Π", "Σ", "Υ", "Φ", "Ψ", "Ω", "ff", "fi", "fl", "ffi", "ffl", "ı", "ȷ", "`", "´", "ˇ",
    "˘", "¯", "˚", "¸", "ß", "æ", "œ", "ø", "Æ", "Œ", "Ø", "",
];
const NEW_TEX: [&str; 33] = [
    "`", "´", "ˆ", "˜", "¨", "˝", "˚", "ˇ", "˘", "¯", "˙", "¸", "˛", "‚", "‹", "›", "“", "”", "„", "«", "»", "–", "—",
    "", "", "ı", "ȷ", "ff", "fi", "fl", "ffi", "ffl", "␣",
];
/// Codes of letters that fonts of TeX have elsewhere than ASCII and Latin-1.
const OLD_TEX_MORE: [(u32, &str); 5] = [(0x22, "”"), (0x5C, "“"), (0x7B, "–"), (0x7C, "—"), (0x7F, "¨")];
const NEW_TEX_MORE: [(u32, &str); 5] = [(0x7F, "-"), (0xD7, "Œ"), (0xDF, "SS"), (0xF7, "œ"), (0xFF, "ß")];
/// The letters of T1 from the code 0x80 on, up to where those of Latin-1 begin.
const NEW_TEX_UPPER: &str = "ĂĄĆČĎĚĘĞĹĽŁŃŇŊŐŔŘŚŠŞŤŢŰŮŸŹŽŻĲİđ§ăąćčďěęğĺľłńňŋőŕřśšşťţűůÿźžżĳ¡¿£";
const NEW_TEX_UPPER_FIRST: u32 = 0x80;

/// Gives letters to the codes whose glyphs are named by a number, if they all are named in one way.
pub(super) fn fill(letters: &mut [Option<BfString>], names: &[Option<String>]) {
    let unknown = || names.iter().zip(letters.iter()).filter(|(name, letters)| is_unknown(name.as_deref(), letters));
    let Some(prefix) = unknown().find_map(|(name, _)| prefix(name.as_deref()?)) else {
        return;
    };
    let digits = || unknown().filter_map(|(name, _)| name.as_deref()?.strip_prefix(prefix));
    let radix = if digits().any(|digits| digits.contains(|digit: char| !digit.is_ascii_digit())) { 16 } else { 10 };
    let numbers: Vec<Option<u32>> = names
        .iter()
        .zip(letters.iter())
        .map(|(name, letters)| {
            let name = name.as_deref().filter(|_| is_unknown(name.as_deref(), letters))?;
            u32::from_str_radix(name.strip_prefix(prefix)?, radix).ok().filter(|number| *number <= 0xFF)
        })
        .collect();
    let is_new = numbers.iter().flatten().any(|number| *number >= 0x80);
    for (letters, number) in letters.iter_mut().zip(numbers) {
        if let Some(number) = number {
            *letters = letter(number, is_new);
        }
    }
}

fn is_unknown(name: Option<&str>, letters: &Option<BfString>) -> bool {
    letters.is_none() && name.is_some_and(|name| name != ".notdef")
}

/// One or two letters before a number.
fn prefix(name: &str) -> Option<&str> {
    let length = name.find(|letter: char| letter.is_ascii_digit())?;
    let (prefix, digits) = name.split_at(length);
    let is_named = (1..=2).contains(&length) && prefix.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_named && (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then_some(prefix)
}

/// The letter of a code of TeX.
fn letter(code: u32, is_new: bool) -> Option<BfString> {
    let (first, more): (_, &[_]) = if is_new { (&NEW_TEX, &NEW_TEX_MORE) } else { (&OLD_TEX, &OLD_TEX_MORE) };
    let special = first.get(code as usize).filter(|_| code < FIRST_LETTER).copied();
    let special = special.or_else(|| more.iter().find(|(of, _)| *of == code).map(|(_, letters)| *letters));
    match special {
        Some("") => None,
        Some(letters) => Some(BfString::String(letters.to_owned())),
        None => upper(code).filter(|_| is_new).or_else(|| char::from_u32(code)).map(BfString::Char),
    }
}

fn upper(code: u32) -> Option<char> {
    NEW_TEX_UPPER.chars().nth(code.checked_sub(NEW_TEX_UPPER_FIRST)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters_of(all: &[(usize, &str)]) -> String {
        let mut names = vec![None; 256];
        all.iter().for_each(|&(code, name)| names[code] = Some(name.to_owned()));
        let mut letters = vec![None; 256];
        fill(&mut letters, &names);
        let text = |code: &(usize, &str)| match &letters[code.0] {
            Some(BfString::Char(letter)) => letter.to_string(),
            Some(BfString::String(text)) => text.clone(),
            None => "?".to_owned(),
        };
        all.iter().map(text).collect()
    }

    #[test]
    fn glyphs_are_named_by_the_codes_of_their_letters() {
        assert_eq!(letters_of(&[(65, "a65"), (1, "a66"), (12, "a12"), (123, "a123")]), "ABfi–");
        assert_eq!(letters_of(&[(0, "C41"), (1, "C6F")]), "Ao");
        assert_eq!(letters_of(&[(65, "a65"), (28, "a28"), (0xE4, "a228"), (0xB6, "a182")]), "Afiäű");
    }

    #[test]
    fn names_that_are_no_numbers_stay_unknown() {
        for name in ["alpha", "abc12", "a1234", ".notdef", "a", "12", "a300"] {
            assert_eq!(letters_of(&[(65, name)]), "?", "{name}");
        }
        assert_eq!(letters_of(&[(65, "a65"), (66, "b66"), (67, ".notdef")]), "A??");
    }
}
