//! The hexadecimal form of the 16-byte identities and of key files.
//!
//! The crate `data-encoding` does the work: it has no dependencies, and other crates of the workspace use it already.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};

/// Defines a 16-byte identity that is shown as 32 lower-case hexadecimal digits.
macro_rules! identity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 16]);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::hex::write(&self.0, f)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}
pub(crate) use identity;

/// Writes 32 lower-case digits.
pub(crate) fn write(bytes: &[u8; 16], f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    write!(f, "{}", HEXLOWER.encode_display(bytes))
}

/// Reads exactly `2 * N` hexadecimal digits of either case.
pub(crate) fn parse<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let bytes = HEXLOWER_PERMISSIVE.decode(text).ok()?;
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chunk::Tag;

    proptest! {
        #[test]
        fn an_identity_is_read_back_from_its_digits_in_either_case(bytes: [u8; 16]) {
            let digits = Tag(bytes).to_string();
            prop_assert_eq!(digits.len(), 32);
            prop_assert_eq!(&digits, &bytes.map(|byte| format!("{byte:02x}")).concat());
            prop_assert_eq!(parse(digits.as_bytes()), Some(bytes));
            prop_assert_eq!(parse(digits.to_uppercase().as_bytes()), Some(bytes));
        }
    }

    #[test]
    fn other_lengths_and_other_characters_are_refused() {
        for text in ["", "a", "abc", "abcdef", "xy12", "12 4", "0x12", "\u{e9}a"] {
            assert_eq!(parse::<2>(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse::<2>(b"aBc1"), Some([0xab, 0xc1]));
        assert_eq!(format!("{:?}", Tag([0; 16])), format!("Tag({})", "0".repeat(32)));
    }
}
