//! The experiments of Cherkasova, Eshghi, Morrey, Tucek and Veitch, "Applying syntactic similarity algorithms for
//! enterprise information management" (KDD 2009): four algorithms over windows of bytes.

pub(crate) mod collections;
mod edits;
pub(crate) mod false_similarity;
mod families;
pub(crate) mod four_algorithms;
pub(crate) mod long_files;
mod research;
pub(crate) mod runtime;
pub(crate) mod sampling;
pub(crate) mod sketch_functions;
pub(crate) mod window;

const PAPER: &str = "Cherkasova, Eshghi, Morrey, Tucek, Veitch 2009 (KDD'09)";
