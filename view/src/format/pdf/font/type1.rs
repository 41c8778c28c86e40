//! The encoding of a Type 1 font, which is at its beginning in the clear.

use super::encoding::{CODES, Names, Predefined};

/// The names of the glyphs of all codes: `/Encoding StandardEncoding def`, `… dup 65 /A put … def` or `[/.notdef …]`.
pub(super) fn names(data: &[u8]) -> Option<Names> {
    let key = b"/Encoding";
    let start = data.windows(key.len()).position(|window| window == key)? + key.len();
    let mut tokens = Tokens(&data[start..]);
    match tokens.next()? {
        b"StandardEncoding" => {
            Some((0..=u8::MAX).map(|code| Predefined::Standard.name(code).map(str::to_owned)).collect())
        }
        b"[" => Some(listed(tokens)),
        _ => Some(put(tokens)),
    }
}

/// One name after the other.
fn listed(tokens: Tokens<'_>) -> Names {
    let names = tokens.take_while(|token| *token != b"]").filter_map(name).map(Some);
    let mut names: Names = names.take(CODES).collect();
    names.resize(CODES, None);
    names
}

/// Each name with its code; a font that defines something else is at the end of its encoding.
fn put(tokens: Tokens<'_>) -> Names {
    let mut names = vec![None; CODES];
    let mut last: [&[u8]; 2] = [b"", b""];
    for token in tokens {
        match token {
            b"def" | b"readonly" | b"eexec" if !last[1].starts_with(b"for") => break,
            b"put" => {
                if let (Some(code), Some(name)) = (number(last[0]), name(last[1]))
                    && let Some(place) = names.get_mut(code)
                {
                    *place = Some(name);
                }
            }
            _ => {}
        }
        last = [last[1], token];
    }
    names
}

fn name(token: &[u8]) -> Option<String> {
    let name = token.strip_prefix(b"/")?;
    std::str::from_utf8(name).ok().map(str::to_owned)
}

/// A number, which may be in another base: `8#101`.
fn number(token: &[u8]) -> Option<usize> {
    let token = std::str::from_utf8(token).ok()?;
    match token.split_once('#') {
        Some((base, digits)) => {
            let base = base.parse().ok().filter(|base| (2..=36).contains(base))?;
            usize::from_str_radix(digits, base).ok()
        }
        None => token.parse().ok(),
    }
}

/// The words of PostScript.
struct Tokens<'d>(&'d [u8]);

impl<'d> Iterator for Tokens<'d> {
    type Item = &'d [u8];

    fn next(&mut self) -> Option<&'d [u8]> {
        loop {
            self.0 = self.0.trim_ascii_start();
            let Some(rest) = self.0.strip_prefix(b"%") else { break };
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.0 = &rest[end.unwrap_or(rest.len())..];
        }
        let first = *self.0.first()?;
        let is_single = matches!(first, b'[' | b']' | b'{' | b'}');
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'[' | b']' | b'{' | b'}' | b'/' | b'%');
        let length = match is_single {
            true => 1,
            false => 1 + self.0[1..].iter().position(ends).unwrap_or(self.0.len() - 1),
        };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_of_a_font_is_read() {
        let sparse = "/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\ndup 65 /A put % a remark\ndup 8#102/B put\n\
                      dup 300 /C put\nreadonly def\ndup 67 /C put";
        let cases = [
            ("/FontName /X def\n/Encoding StandardEncoding def", 65, Some("A")),
            (sparse, 65, Some("A")),
            (sparse, 66, Some("B")),
            (sparse, 67, None),
            ("/Encoding [/.notdef /one\n/two] def", 2, Some("two")),
            ("/Encoding [/.notdef /one\n/two] def", 3, None),
        ];
        for (font, code, wanted) in cases {
            let names = names(font.as_bytes()).expect("an encoding");
            assert_eq!((names.len(), names[code].as_deref()), (CODES, wanted), "{font}");
        }
        assert_eq!(names(b"/FontName /X def"), None);
        assert_eq!(names(b"/Encoding"), None);
    }
}
