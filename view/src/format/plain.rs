//! Plain text in any encoding, source code and Markdown too, as it is: an empty line ends a paragraph.

use crate::charset::{Decoder, Encoding};
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::broken;
use crate::text::Text;

/// Reads plain text of any size in bounded memory. A document that turns out to be no text is not supported.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let encoding = Encoding::of(source).map_err(broken)?;
    let mut decoder = Decoder::new(source, encoding).map_err(broken)?;
    let mut lines = Lines { blank: true };
    while let Some(piece) = decoder.next().map_err(broken)? {
        if memchr::memchr(0, piece.as_bytes()).is_some() {
            return Err(Reason::Unsupported);
        }
        lines.push(piece, text)?;
    }
    text.end_paragraph()
}

/// Reads plain text that is at hand.
pub(super) fn extract_str(piece: &str, text: &mut dyn Text) -> Result<(), Reason> {
    Lines { blank: true }.push(piece, text)
}

/// Finds empty lines.
struct Lines {
    /// Nothing but white space has been seen of the present line.
    blank: bool,
}

impl Lines {
    /// More text, its paragraphs ended where lines are empty.
    fn push(&mut self, piece: &str, text: &mut dyn Text) -> Result<(), Reason> {
        let (mut paragraph, mut line) = (0, 0);
        for end in memchr::memchr_iter(b'\n', piece.as_bytes()) {
            if self.blank && is_blank(&piece[line..end]) {
                text.push(&piece[paragraph..end])?;
                text.end_paragraph()?;
                paragraph = end;
            }
            self.blank = true;
            line = end + 1;
        }
        self.blank &= is_blank(&piece[line..]);
        text.push(&piece[paragraph..])
    }
}

fn is_blank(line: &str) -> bool {
    line.trim_start().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;
    use crate::text::tests::text_of;

    fn check(bytes: &[u8], wanted: &str) {
        assert_eq!(text_of(Kind::Text, bytes).as_deref(), Ok(wanted));
    }

    #[test]
    fn empty_lines_end_paragraphs_and_other_lines_are_joined() {
        check(b"one\ntwo\r\n \t\r\n\n\nthree\n  four  \n", "one two\nthree four");
        check(b"", "");
        check(b"\n\n", "");
    }

    #[test]
    fn text_is_read_in_any_encoding() {
        let text = "Größe und Maß: 10 €, «façade», Ωmega\n";
        let wanted = text.trim_end();
        check(text.as_bytes(), wanted);
        check(format!("\u{FEFF}{text}").as_bytes(), wanted);
        for mark in ["", "\u{FEFF}"] {
            let text = format!("{mark}{text}");
            check(&text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(), wanted);
            check(&text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>(), wanted);
            check(&text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<_>>(), wanted);
            check(&text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect::<Vec<_>>(), wanted);
        }
        check(b"Die Gr\xF6\xDFe der Stra\xDFe \x96 sch\xF6n\n", "Die Größe der Straße – schön");
        let russian = "Съешь же ещё этих мягких французских булок, да выпей чаю";
        check(&encoding_rs::KOI8_R.encode(russian).0, russian);
        check(&encoding_rs::WINDOWS_1251.encode(russian).0, russian);
        let japanese = "これは日本語の文章です。文字コードを判定します。";
        check(&encoding_rs::SHIFT_JIS.encode(japanese).0, japanese);
        check(&encoding_rs::EUC_JP.encode(japanese).0, japanese);
        check(&encoding_rs::ISO_2022_JP.encode(japanese).0, japanese);
    }

    #[test]
    fn text_of_many_pieces_is_read_to_its_end() {
        let line = "Zeile für Zeile, und noch eine.\n";
        let wanted = vec![line.trim_end(); 5000].join(" ");
        check(line.repeat(5000).as_bytes(), &wanted);
        let wide = line.repeat(5000).chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<_>>();
        check(&wide, &wanted);
    }

    #[test]
    fn text_with_zeros_after_its_beginning_is_not_supported() {
        let bytes = ["echo hello\n".repeat(5000).as_bytes(), b"\0\0\x01"].concat();
        assert_eq!(text_of(Kind::Text, &bytes), Err(Reason::Unsupported));
    }
}
