//! A view: the part of a document that is fingerprinted.

use std::fmt;
use std::str::FromStr;

use crate::method_error::MethodError;

/// The part of a document that is fingerprinted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The bytes of the file.
    Raw,
    /// The text that a reader sees, with white space folded. One document gives one content.
    Text,
    /// The same text, where each paragraph is a content of its own.
    Passages,
    /// The same text, of office files, PDF, RTF and mail alone, with what is attached to mail. Archives stay closed.
    Office,
}

impl View {
    /// The version of the text views. It changes when the text of any document changes by a byte.
    pub const TEXT_VERSION: u32 = 1;

    /// The mean length of a chunk that is used if none is given, in bytes.
    pub fn chunk_bytes_default(self) -> u64 {
        match self {
            View::Raw => 1000,
            View::Text | View::Office => 200,
            // A paragraph has a few hundred bytes: some chunks must survive when one of its sentences changes.
            View::Passages => 80,
        }
    }

    /// The bytes in common from which on two contents are linked whatever their sizes, if no threshold is given.
    pub fn min_shared_bytes_default(self) -> u64 {
        match self {
            View::Raw => 16_384,
            View::Text | View::Passages | View::Office => 2_048,
        }
    }

    /// True if the view reads text, false if it reads the bytes of files.
    pub fn is_text(self) -> bool {
        self != View::Raw
    }
}

impl FromStr for View {
    type Err = MethodError;

    fn from_str(text: &str) -> Result<View, MethodError> {
        match text {
            "raw" => Ok(View::Raw),
            "text" => Ok(View::Text),
            "passages" => Ok(View::Passages),
            "office" => Ok(View::Office),
            _ => Err(MethodError::UnknownView { view: text.to_owned() }),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            View::Raw => "raw",
            View::Text => "text",
            View::Passages => "passages",
            View::Office => "office",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_read_back_from_its_name_and_other_words_are_refused() {
        for view in [View::Raw, View::Text, View::Passages, View::Office] {
            assert_eq!(view.to_string().parse(), Ok(view));
            assert_eq!(view.is_text(), view != View::Raw);
        }
        for word in ["", "Raw", "bytes", "raw "] {
            let error = word.parse::<View>().unwrap_err();
            assert_eq!(error, MethodError::UnknownView { view: word.to_owned() });
            assert!(error.to_string().contains("raw, text, passages and office"), "{error}");
        }
    }

    #[test]
    fn default_means_are_in_the_range_of_tttd_and_shorter_for_smaller_contents() {
        let means = [View::Raw, View::Text, View::Passages].map(View::chunk_bytes_default);
        assert!(means.is_sorted_by(|a, b| a > b), "{means:?}");
        for view in [View::Raw, View::Text, View::Passages, View::Office] {
            assert!(crate::Method::tttd(view, view.chunk_bytes_default()).is_ok());
            assert!(view.min_shared_bytes_default() > view.chunk_bytes_default());
        }
    }
}
