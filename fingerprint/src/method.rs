//! A method: an algorithm applied to a view, and the id under which its fingerprints may be compared.

pub(crate) mod bsw;
pub(crate) mod bsw_chunk;
pub(crate) mod fuzzy;
pub(crate) mod labels;
pub(crate) mod levels;
pub(crate) mod min_n;
pub(crate) mod mod_n;
pub(crate) mod shingle;
pub(crate) mod shingle_extractor;
pub(crate) mod similarity_index;
pub(crate) mod sketch;
pub(crate) mod term_vector;

use std::fmt;

use crate::algorithm::{self, Algorithm};
use crate::capabilities::{Capabilities, Verification};
use crate::fingerprinter::{ChunkVisitor, Fingerprinter};
use crate::hex::identity;
use crate::key::{Key, first_16};
use crate::method_error::MethodError;
use crate::parse;
use crate::signer::Signer;
use crate::view::View;

/// An algorithm with its parameters, and the view that it reads. Every value is in range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Method {
    view: View,
    algorithm: Algorithm,
}

identity! {
    /// The digest of a method, its view, its parameters, their versions, and the fingerprint of the key.
    ///
    /// Fingerprints can be compared only under the same id.
    MethodId
}

impl Method {
    /// The names that people choose from, as they are typed and stored.
    pub const NAMES: [&str; 9] = algorithm::NAMES;

    /// The name of the method that only verifies what another one proposes. People do not choose it.
    pub const TERMS: &str = algorithm::TERMS;

    /// The method called `name` with a mean of `chunk_bytes` and the parameters `param` (`k=v,k=v`). Each parameter that
    /// is missing has its default. Methods of a fixed size ignore the mean ([`Capabilities::fixed_size`]).
    ///
    /// # Errors
    /// If there is no such method or parameter, or if a value is out of range.
    pub fn parse(name: &str, view: View, chunk_bytes: Option<u64>, param: &str) -> Result<Method, MethodError> {
        let algorithm = parse::algorithm(name, view.chunk_bytes_default(), chunk_bytes, param)?;
        Ok(Method { view, algorithm })
    }

    /// The method that was stored as its name, its [`Method::chunk_bytes`] and its [`Method::param`]: the mean counts only
    /// for a method whose parameter it is, since `param` holds it for the others.
    ///
    /// # Errors
    /// If there is no such method or parameter, or if a value is out of range.
    pub fn restore(name: &str, view: View, chunk_bytes: u64, param: &str) -> Result<Method, MethodError> {
        match Method::parse(name, view, None, param)? {
            method if method.capabilities().mean_is_parameter => Method::parse(name, view, Some(chunk_bytes), param),
            method => Ok(method),
        }
    }

    /// Content-defined chunks of about `chunk_bytes` bytes, 80 to 1 MiB.
    ///
    /// # Errors
    /// If the mean is out of range.
    pub fn tttd(view: View, chunk_bytes: u64) -> Result<Method, MethodError> {
        Ok(Method { view, algorithm: parse::tttd(chunk_bytes)? })
    }

    /// The algorithm with its parameters.
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// The capabilities of the method with its parameters.
    pub fn capabilities(&self) -> Capabilities {
        self.algorithm.capabilities()
    }

    /// The name, as it is typed and stored.
    pub fn name(&self) -> &'static str {
        self.algorithm.name()
    }

    /// The parameters, `k=v,k=v`, as [`Method::parse`] takes them; empty for `tttd`.
    pub fn param(&self) -> String {
        if self.capabilities().mean_is_parameter {
            return String::new();
        }
        let lines = self.algorithm.to_string();
        let parameters = lines.lines().filter(|line| !line.starts_with("unicode="));
        parameters.collect::<Vec<_>>().join(",")
    }

    /// The view that the method reads.
    pub fn view(&self) -> View {
        self.view
    }

    /// The mean length of a chunk, or the mean number of bytes to a feature; 0 where signatures have a fixed size.
    pub fn chunk_bytes(&self) -> u32 {
        self.algorithm.sampling_bytes().unwrap_or(0)
    }

    /// The expected number of features of a document of `size_bytes`, roughly.
    pub fn features_expected(&self, size_bytes: u64) -> u64 {
        match self.algorithm.sampling_bytes() {
            Some(bytes) => size_bytes.div_ceil(u64::from(bytes)),
            // Methods that only propose pairs make a handful.
            None => u64::from(self.signature_features_max().unwrap_or(3)).min(size_bytes),
        }
    }

    /// The method under which the documents of candidates are read again, for a method that only proposes pairs.
    pub fn verifier(&self) -> Option<Method> {
        let algorithm = match self.capabilities().verified_by? {
            Verification::Chunks => parse::tttd(self.view.chunk_bytes_default()).ok()?,
            Verification::Cosine => Algorithm::Terms,
        };
        Some(Method { view: self.view, algorithm })
    }

    /// The number of bytes that a feature is made from; `None` for chunks, and for features that are no run of bytes.
    pub fn window_bytes(&self) -> Option<u32> {
        self.algorithm.window_bytes()
    }

    /// The greatest number of features in a signature; `None` if it grows with the document.
    pub fn signature_features_max(&self) -> Option<u32> {
        self.algorithm.signature_features_max()
    }

    /// The length of the longest chunk in bytes; 1 where features are no chunks.
    pub fn chunk_bytes_max(&self) -> u32 {
        self.algorithm.chunk_bytes_max()
    }

    /// The id under which the features made with `key` may be compared.
    pub fn id(&self, key: &Key) -> MethodId {
        let recipe = format!("{self}\nkey={}\n", key.fingerprint());
        MethodId(first_16(blake3::derive_key("cognate method v1", recipe.as_bytes())))
    }

    /// The fingerprint of a public text under this method and `key`, made as that of any document. Two sites whose
    /// canaries differ would find nothing in common, whatever they hold.
    pub fn canary(&self, key: &Key) -> [u8; 16] {
        let mut text = vec![0; (64 << 10) + 4 * self.chunk_bytes() as usize];
        blake3::Hasher::new_derive_key("cognate canary v1").finalize_xof().fill(&mut text);
        if self.capabilities().has_chunks() {
            return self.fingerprinter(key).slice(&text, |_| {}).digest.0;
        }
        // Some methods read words, and the digest of a sampling method does not depend on its features.
        text.iter_mut().for_each(|byte| *byte = b"abcdefghijklmnopqrstuvwxyz    .\n"[usize::from(*byte % 32)]);
        let mut features = Vec::new();
        let content = self.fingerprinter(key).slice(&text, |feature| features.extend_from_slice(&feature.tag.0));
        features.extend_from_slice(&content.digest.0);
        first_16(blake3::derive_key("cognate canary v1", &features))
    }

    /// A fingerprinter of this method, for any number of documents.
    pub fn fingerprinter(&self, key: &Key) -> Fingerprinter {
        Fingerprinter::new(self.algorithm, key)
    }

    /// A fingerprinter that shows every chunk to `visitor` with its bytes, and hands none over; nothing if the features of the
    /// method are no chunks.
    pub fn visiting_fingerprinter(&self, key: &Key, visitor: Box<ChunkVisitor>) -> Option<Fingerprinter> {
        Fingerprinter::visited(self.algorithm, key, visitor)
    }

    /// A signer of this method, for any number of documents.
    pub fn signer(&self, key: &Key) -> Signer {
        Signer::new(self.algorithm, key)
    }
}

impl fmt::Display for Method {
    /// The canonical form that the method's id is the digest of: one `name=value` a line, with the version of the method
    /// and of the view.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view_version = if self.view.is_text() { View::TEXT_VERSION } else { 1 };
        write!(f, "method={}/1\nview={}/{view_version}\n{}", self.name(), self.view, self.algorithm)
    }
}

#[cfg(test)]
mod by_definition;
#[cfg(test)]
mod tests;
