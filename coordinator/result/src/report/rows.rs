//! The rows of a report. Fields are declared in the order of their names: see the module above.

use std::collections::BTreeMap;

use super::Ratio;

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
