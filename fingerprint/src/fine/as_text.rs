//! Fine chunks as text: three hexadecimal digits for each, its length less 1 and its tag.

use super::FineChunk;

/// The fine chunks of a chunk as they stand in a line of `cognate fingerprint`.
pub fn fine_to_text(fine: &[FineChunk]) -> String {
    fine.iter().map(|fine| format!("{:x}{:02x}", fine.length_bytes - 1, fine.tag)).collect()
}

/// The fine chunks of such a text; nothing if it is none.
pub fn fine_of_text(text: &str) -> Option<Vec<FineChunk>> {
    let (threes, rest) = text.as_bytes().as_chunks::<3>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let fine = |[length, high, low]: &[u8; 3]| {
        Some(FineChunk { length_bytes: digit(*length)? + 1, tag: digit(*high)? << 4 | digit(*low)? })
    };
    if rest.is_empty() { threes.iter().map(fine).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fine_chunks_are_read_as_they_are_written() {
        let fine = vec![FineChunk { tag: 0x0f, length_bytes: 1 }, FineChunk { tag: 0xa0, length_bytes: 16 }];
        assert_eq!(fine_to_text(&fine), "00ffa0");
        assert_eq!(fine_of_text("00ffa0"), Some(fine));
        assert_eq!(fine_of_text("00ffa"), None);
        assert_eq!(fine_of_text("00g"), None);
    }
}
