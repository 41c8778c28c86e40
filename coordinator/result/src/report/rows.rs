//! The rows of a report. Fields are declared in the order of their names: see the module above.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ten_thousandths;

mod documents;
mod groups;
mod overlap;
mod scan;

pub use documents::*;
pub use groups::*;
pub use overlap::*;
pub use scan::*;

/// Counts by name.
pub type Counts = BTreeMap<String, u64>;

/// A ratio in ten-thousandths, written as a number with at most four decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ratio(pub i64);

impl Ratio {
    /// The ratio of two numbers of bytes, rounded.
    pub fn of(part: u64, whole: u64) -> Ratio {
        Ratio(ten_thousandths(part, whole))
    }

    /// The ratio that a decimal says, rounded.
    pub(super) fn parse(text: &str) -> Ratio {
        Ratio::rounded(text.parse().unwrap_or_default())
    }

    fn rounded(share: f64) -> Ratio {
        #[expect(clippy::cast_possible_truncation, reason = "a share is between 0 and 1")]
        Ratio((share * 10_000.0).round() as i64)
    }

    /// The ratio as a number.
    pub fn to_f64(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a ratio is 0 to 1")]
        let number = self.0 as f64 / 10_000.0;
        number
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ratio, D::Error> {
        f64::deserialize(deserializer).map(Ratio::rounded)
    }
}

impl Serialize for Ratio {
    /// Integers without a point, as in RFC 8785.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % 10_000 == 0 {
            serializer.serialize_i64(self.0 / 10_000)
        } else {
            serializer.serialize_f64(self.to_f64())
        }
    }
}
