//! A method: the recipe that turns a view of a document into features, and the id under which they may be compared.

pub(crate) mod bsw;
pub(crate) mod bsw_chunk;
pub(crate) mod fuzzy;
pub(crate) mod labels;
pub(crate) mod levels;
pub(crate) mod min_n;
pub(crate) mod mod_n;
pub(crate) mod shingle;
pub(crate) mod similarity_index;
pub(crate) mod sketch;
pub(crate) mod term_vector;

use std::fmt;

use crate::estimate::{self, Likeness};
use crate::fingerprinter::Fingerprinter;
use crate::hex::identity;
use crate::key::{Key, first_16};
use crate::param::ParamError;
use crate::recipe::Recipe;
use crate::signature::Signature;
use crate::signer::Signer;
use crate::tttd::{self, Tttd};

/// What of a document is fingerprinted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// Its bytes as they lie in the file.
    Raw,
    /// The text that a reader sees, with white space folded: one content for the whole of it.
    Text,
    /// The same text, each paragraph a content of its own.
    Passages,
}

impl View {
    /// The version of the text views: what a document's text is, to the byte.
    pub const TEXT_VERSION: u32 = 1;

    /// The mean length of a chunk where none is asked for, in bytes.
    pub fn chunk_bytes_default(self) -> u64 {
        match self {
            View::Raw => 1000,
            View::Text => 200,
            // A paragraph is a few hundred bytes: there must be something left of it when a sentence changes.
            View::Passages => 80,
        }
    }

    /// How much two contents share at least to be linked whatever their sizes, where nothing else is asked for.
    pub fn min_shared_bytes_default(self) -> u64 {
        match self {
            View::Raw => 16_384,
            View::Text | View::Passages => 2_048,
        }
    }

    /// Whether it reads text, not the bytes of files.
    pub fn is_text(self) -> bool {
        self != View::Raw
    }
}

impl std::str::FromStr for View {
    type Err = MethodError;

    fn from_str(text: &str) -> Result<View, MethodError> {
        match text {
            "raw" => Ok(View::Raw),
            "text" => Ok(View::Text),
            "passages" => Ok(View::Passages),
            _ => Err(MethodError::UnknownView { view: text.to_owned() }),
        }
    }
}

/// A recipe with its parameters. A value that exists is in range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Two thresholds, two divisors: content-defined chunks (Forman et al. 2005, section 2.2).
    Tttd {
        /// What is chunked.
        view: View,
        /// The wanted mean length of a chunk.
        chunk_bytes: u32,
    },
    /// Any of the others.
    Other {
        /// What is read.
        view: View,
        /// Which, with its parameters.
        recipe: Recipe,
    },
}

identity! {
    /// The digest of a method, its view, its parameters, their versions, and the key's fingerprint.
    ///
    /// Fingerprints can be compared only under the same id.
    MethodId
}

/// Why a method cannot be had with these parameters.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MethodError {
    /// The wanted mean is out of range.
    #[error(
        "a mean chunk of {chunk_bytes} bytes is out of range: {min} to {max} bytes",
        min = tttd::CHUNK_BYTES_LEAST, max = tttd::CHUNK_BYTES_MOST
    )]
    ChunkBytesOutOfRange {
        /// The mean that was asked for.
        chunk_bytes: u64,
    },
    /// There is no such view.
    #[error("there is no view `{view}`: there are raw, text and passages")]
    UnknownView {
        /// What was asked for.
        view: String,
    },
    /// There is no such method.
    #[error("there is no method `{method}`: there are {}", Method::NAMES.join(", "))]
    UnknownMethod {
        /// What was asked for.
        method: String,
    },
    /// A parameter is unknown, out of range, or makes no sense.
    #[error("{0}")]
    Param(#[from] ParamError),
    /// `tttd` has a parameter of its own.
    #[error("`tttd` has no parameter `{param}`; its one parameter is --chunk-bytes")]
    TttdParam {
        /// What was asked for.
        param: String,
    },
    /// The wanted sampling is out of range.
    #[error("`{method}` cannot keep one feature in {chunk_bytes} bytes: 1 to {most} bytes")]
    SamplingOutOfRange {
        /// Whose.
        method: &'static str,
        /// What was asked for.
        chunk_bytes: u64,
        /// The most that can be.
        most: u64,
    },
    /// Containment was asked of a method that cannot tell it.
    #[error("`{method}` cannot say how much of a document another one contains, only how alike they are: {instead}")]
    NoContainment {
        /// Which.
        method: &'static str,
        /// What can.
        instead: &'static str,
    },
}

impl Method {
    /// The methods, as they are typed and stored.
    pub const NAMES: [&str; 9] =
        ["tttd", "mod", "min", "sketch", "bsw", "bsw-chunk", "shingle", "fuzzy", "similarity-index"];

    /// A method that only verifies what another one proposes. People do not type it.
    pub const TERMS: &str = "terms";

    /// The method of a name, with a mean of `chunk_bytes` and the parameters `param`, `k=v,k=v`; what is not given is as
    /// usual. Methods with signatures of a fixed size take no heed of the mean ([`Method::has_fixed_size`]).
    ///
    /// # Errors
    /// When there is no such method or parameter, or a value is out of range.
    pub fn parse(name: &str, view: View, chunk_bytes: Option<u64>, param: &str) -> Result<Method, MethodError> {
        let default = view.chunk_bytes_default();
        if name == "tttd" {
            return match param {
                "" => Method::tttd(view, chunk_bytes.unwrap_or(default)),
                _ => Err(MethodError::TttdParam { param: param.to_owned() }),
            };
        }
        let default = u32::try_from(default).expect("a few hundred bytes");
        Ok(Method::Other { view, recipe: Recipe::parse(name, default, chunk_bytes, param)? })
    }

    /// Content-defined chunks of about `chunk_bytes` bytes, 80 to 1 MiB.
    ///
    /// # Errors
    /// When the mean is out of range.
    pub fn tttd(view: View, chunk_bytes: u64) -> Result<Method, MethodError> {
        let refused = MethodError::ChunkBytesOutOfRange { chunk_bytes };
        match u32::try_from(chunk_bytes) {
            Ok(mean) if (tttd::CHUNK_BYTES_LEAST..=tttd::CHUNK_BYTES_MOST).contains(&mean) => {
                Ok(Method::Tttd { view, chunk_bytes: mean })
            }
            _ => Err(refused),
        }
    }

    /// The method's name, as it is typed and stored.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Tttd { .. } => "tttd",
            Method::Other { recipe, .. } => recipe.name(),
        }
    }

    /// The parameters, `k=v,k=v`, as [`Method::parse`] takes them; nothing for `tttd`.
    pub fn param(&self) -> String {
        match self {
            Method::Tttd { .. } => String::new(),
            Method::Other { recipe, .. } => {
                let lines = recipe.to_string();
                let given = lines.lines().filter(|line| !line.starts_with("unicode="));
                given.collect::<Vec<_>>().join(",")
            }
        }
    }

    /// The view that the method reads.
    pub fn view(&self) -> View {
        match self {
            Method::Tttd { view, .. } | Method::Other { view, .. } => *view,
        }
    }

    /// The mean length of a chunk in bytes, or how many bytes there are to a feature; 0 where the signature has a fixed size.
    pub fn chunk_bytes(&self) -> u32 {
        match self {
            Method::Tttd { chunk_bytes, .. } => *chunk_bytes,
            Method::Other { recipe, .. } => recipe.sampling_bytes().unwrap_or(0),
        }
    }

    /// About how many features a document of so many bytes becomes.
    pub fn features_expected(&self, size_bytes: u64) -> u64 {
        match u64::from(self.chunk_bytes()) {
            // Those that only propose make a handful.
            0 => u64::from(self.signature_features_max().unwrap_or(3)).min(size_bytes),
            bytes => size_bytes.div_ceil(bytes),
        }
    }

    /// Whether a signature does not grow with its document, so that a mean says nothing.
    pub fn has_fixed_size(&self) -> bool {
        self.chunk_bytes() == 0
    }

    /// Whether features are chunks: runs that tile the document, each with its length.
    pub fn has_chunks(&self) -> bool {
        matches!(self, Method::Tttd { .. } | Method::Other { recipe: Recipe::BswChunk(_), .. })
    }

    /// Whether one can say how much of a document is in another one.
    ///
    /// # Errors
    /// When the method cannot, with what can.
    pub fn check_containment(&self) -> Result<(), MethodError> {
        let refused = |instead| Err(MethodError::NoContainment { method: self.name(), instead });
        match self {
            Method::Other { recipe, .. } if !recipe.has_containment() => match recipe {
                Recipe::Shingle(_) => refused("use sample=mod, levels or all"),
                _ => refused("use tttd, mod, bsw, bsw-chunk or shingle"),
            },
            _ => Ok(()),
        }
    }

    /// Whether a signature is all that the document consists of, and no sample of it.
    pub fn takes_all(&self) -> bool {
        match self {
            Method::Tttd { .. } => true,
            Method::Other { recipe, .. } => recipe.takes_all(),
        }
    }

    /// What looks at the pairs that this method only proposes, where it does no more: `tttd`, or the cosine of the angle
    /// between term vectors.
    pub fn verified_by(&self) -> Option<&'static str> {
        match self {
            Method::Other { recipe: Recipe::SimilarityIndex(_), .. } => Some("tttd"),
            Method::Other { recipe: Recipe::Fuzzy(_), .. } => Some("cosine"),
            _ => None,
        }
    }

    /// Under which method the documents of candidates are read again, where the method only proposes pairs.
    pub fn verifier(&self) -> Option<Method> {
        let view = self.view();
        match self.verified_by()? {
            "tttd" => Method::tttd(view, view.chunk_bytes_default()).ok(),
            _ => Some(Method::Other { view, recipe: Recipe::Terms }),
        }
    }

    /// How many bytes of a document a feature is made from: of a chunk and of what is no run of bytes nothing is told.
    pub fn window_bytes(&self) -> Option<u32> {
        match self {
            Method::Tttd { .. } => None,
            Method::Other { recipe, .. } => recipe.window_bytes(),
        }
    }

    /// How many features a signature of a fixed size has at most.
    pub fn signature_features_max(&self) -> Option<u32> {
        match self {
            Method::Tttd { .. } => None,
            Method::Other { recipe, .. } => recipe.signature_features_max(),
        }
    }

    /// No chunk of this method is longer.
    pub fn chunk_bytes_max(&self) -> u32 {
        match self {
            Method::Tttd { chunk_bytes, .. } => tttd::Parameters::for_mean(*chunk_bytes).chunk_bytes_max,
            Method::Other { recipe, .. } => recipe.chunk_bytes_max(),
        }
    }

    /// What two signatures, both made under this method with the same key, say of their documents.
    pub fn likeness(&self, a: &Signature, b: &Signature) -> Likeness {
        match self {
            Method::Tttd { .. } => estimate::by_weights(a, b),
            Method::Other { recipe, .. } => recipe.likeness(a, b),
        }
    }

    /// Under which id the features made with `key` may be compared.
    pub fn id(&self, key: &Key) -> MethodId {
        let recipe = format!("{self}\nkey={}\n", key.fingerprint());
        MethodId(first_16(blake3::derive_key("cognate method v1", recipe.as_bytes())))
    }

    /// What a text that everybody knows becomes under this method and `key`, by the same way as every document. Two sites
    /// whose canaries differ would find nothing in common, whatever they hold.
    pub fn canary(&self, key: &Key) -> [u8; 16] {
        let mut text = vec![0; (64 << 10) + 4 * self.chunk_bytes() as usize];
        blake3::Hasher::new_derive_key("cognate canary v1").finalize_xof().fill(&mut text);
        if self.has_chunks() {
            return self.fingerprinter(key).slice(&text, |_| {}).digest.0;
        }
        // Some methods read words, and the digest of a sampling method says nothing of its features.
        text.iter_mut().for_each(|byte| *byte = b"abcdefghijklmnopqrstuvwxyz    .\n"[usize::from(*byte % 32)]);
        let mut features = Vec::new();
        let content = self.fingerprinter(key).slice(&text, |feature| features.extend_from_slice(&feature.tag.0));
        features.extend_from_slice(&content.digest.0);
        first_16(blake3::derive_key("cognate canary v1", &features))
    }

    /// A machine that carries the method out; one serves any number of documents, one after the other.
    pub fn fingerprinter(&self, key: &Key) -> Fingerprinter {
        match self {
            Method::Tttd { chunk_bytes, .. } => Fingerprinter::new(Tttd::new(*chunk_bytes, key), key),
            Method::Other { recipe, .. } => recipe.fingerprinter(key),
        }
    }

    /// A machine that makes signatures, the form in which every method's documents are compared.
    pub fn signer(&self, key: &Key) -> Signer {
        match self {
            Method::Tttd { .. } => Signer::of_chunks(self.fingerprinter(key), key),
            Method::Other { recipe, .. } => recipe.signer(key),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            View::Raw => write!(f, "raw"),
            View::Text => write!(f, "text"),
            View::Passages => write!(f, "passages"),
        }
    }
}

impl fmt::Display for Method {
    /// The canonical form that the method's id is the digest of: one `name=value` a line, each recipe with its version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view = self.view();
        let view_version = if view.is_text() { View::TEXT_VERSION } else { 1 };
        write!(f, "method={}/1\nview={view}/{view_version}\n", self.name())?;
        let chunk_bytes = match self {
            Method::Tttd { chunk_bytes, .. } => *chunk_bytes,
            Method::Other { recipe, .. } => return write!(f, "{recipe}"),
        };
        let parameters = tttd::Parameters::for_mean(chunk_bytes);
        write!(
            f,
            "chunk_bytes_min={}\nchunk_bytes_max={}\ndivisor_main={}\ndivisor_backup={}",
            parameters.chunk_bytes_min, parameters.chunk_bytes_max, parameters.divisor_main, parameters.divisor_backup,
        )
    }
}

#[cfg(test)]
mod by_definition;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_out_of_range_is_refused_with_the_range() {
        for chunk_bytes in [0, 79, (1 << 20) + 1, u64::MAX] {
            let error = Method::tttd(View::Raw, chunk_bytes).unwrap_err();
            assert!(error.to_string().contains("80 to 1048576"), "{error}");
        }
    }

    #[test]
    fn a_method_can_be_said_in_words_and_had_back() {
        for name in Method::NAMES {
            for view in [View::Raw, View::Text] {
                let method = Method::parse(name, view, None, "").unwrap();
                let mean = matches!(method, Method::Tttd { .. }).then(|| method.chunk_bytes().into());
                assert_eq!(Method::parse(name, view, mean, &method.param()), Ok(method), "{}", method.param());
            }
        }
        for param in ["sample=levels", "sample=min-of-mod,tokens=letters", "sample=all,option=a,tokens=lines"] {
            let method = Method::parse("shingle", View::Text, None, param).unwrap();
            assert_eq!(Method::parse("shingle", View::Text, None, &method.param()), Ok(method), "{param}");
        }
    }

    #[test]
    fn the_id_changes_with_the_mean_and_with_the_key() {
        let ids = [
            Method::tttd(View::Raw, 1000).unwrap().id(&Key::none()),
            Method::tttd(View::Raw, 1001).unwrap().id(&Key::none()),
            Method::tttd(View::Raw, 1000).unwrap().id(&Key::parse(&[1; 32]).unwrap()),
        ];
        assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2], "{ids:?}");
    }

    #[test]
    fn canaries_meet_only_under_the_same_key_and_mean() {
        let canary = |mean, key: &Key| Method::tttd(View::Raw, mean).unwrap().canary(key);
        let key = Key::parse(&[1; 32]).unwrap();
        assert_eq!(canary(1000, &key), canary(1000, &key));
        assert_ne!(canary(1000, &key), canary(1000, &Key::none()));
        assert_ne!(canary(1000, &key), canary(200, &key));
        assert_ne!(canary(1 << 20, &key), canary(1 << 20, &Key::none()));
    }

    fn parsed(name: &str, chunk_bytes: Option<u64>, param: &str) -> Result<Method, MethodError> {
        Method::parse(name, View::Raw, chunk_bytes, param)
    }

    #[test]
    fn the_canonical_form_has_a_line_for_every_parameter() {
        let check = |name: &str, chunk_bytes, param: &str, expected: &str| {
            let method = parsed(name, chunk_bytes, param).unwrap();
            let (major, minor, update) = char::UNICODE_VERSION;
            let form = method.to_string().replace(&format!("unicode={major}.{minor}.{update}"), "unicode");
            assert_eq!(form.replace('\n', " "), format!("method={name}/1 view=raw/1 {expected}"));
        };
        check("mod", None, "", "w=20 n=1000");
        check("mod", Some(200), "w=5", "w=5 n=200");
        check("bsw", None, "n=100", "w=20 n=100");
        check("bsw-chunk", Some(100), "", "w=20 n=100");
        check("min", Some(5), "", "w=20 n=100");
        check("sketch", None, "n=10,w=40", "w=40 n=10");
        check("shingle", None, "", "unicode tokens=words w=7 option=b sample=mod m=167");
        check("shingle", Some(120), "w=3,option=A", "unicode tokens=words w=3 option=a sample=mod m=20");
        check("shingle", Some(120), "tokens=lines", "unicode tokens=lines w=7 option=b sample=mod m=3");
        check("shingle", Some(1), "", "unicode tokens=words w=7 option=b sample=mod m=1");
        check("shingle", None, "sample=min-of-mod", "unicode tokens=words w=7 option=b sample=min-of-mod m=25 s=200");
        check("shingle", None, "sample=levels", "unicode tokens=words w=7 option=b sample=levels s=100");
        check("fuzzy", None, "", "unicode r=3 rho=3 step=30 words=0");
        let index = "w=100 sample=400 words=200 seed=1";
        check("similarity-index", None, "", &format!("unicode way=43B k=40 {index} hash=signed"));
        check(
            "similarity-index",
            None,
            "way=3d,k=4,hash=unsigned",
            &format!("unicode way=3D k=4 {index} hash=unsigned"),
        );
        assert_eq!(Method::parse("mod", View::Text, None, "").unwrap().chunk_bytes(), 200);
    }

    #[test]
    fn parameters_are_read_back_as_they_are_written() {
        for (name, param) in [
            ("tttd", ""),
            ("mod", "w=5,n=3"),
            ("min", "n=7"),
            ("sketch", "n=7"),
            ("bsw", "n=7"),
            ("bsw-chunk", "n=77"),
            ("shingle", "tokens=lines,w=3,option=a,sample=min-of-mod,m=3,s=9"),
            ("shingle", "sample=levels"),
            ("shingle", "sample=all"),
            ("fuzzy", "words=200,r=2"),
            ("similarity-index", "way=14C,k=4,hash=unsigned"),
        ] {
            let method = parsed(name, None, param).unwrap();
            assert_eq!(parsed(name, None, &method.param()), Ok(method), "{name} {param}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        let check = |name: &str, chunk_bytes, param: &str, parts: &[&str]| {
            let error = parsed(name, chunk_bytes, param).unwrap_err().to_string();
            parts.iter().for_each(|part| assert!(error.contains(part), "`{part}` is not said: {error}"));
        };
        check("sha1", None, "", &["sha1", "tttd, mod, min"]);
        check("tttd", None, "w=20", &["`tttd`", "--chunk-bytes"]);
        check("mod", None, "w=1", &["w=1", "from 2 to 1024"]);
        check("mod", None, "w=-1", &["w=-1", "from 2 to 1024"]);
        check("mod", None, "n=0", &["n=0", "from 1 to 1048576"]);
        check("mod", None, "m=3", &["no parameter `m`", "w and n"]);
        check("mod", None, "w=20,w=20", &["`w` is given twice"]);
        check("mod", None, "w=20,", &["`` is not a parameter"]);
        check("mod", Some(100), "n=100", &["--chunk-bytes and n="]);
        check("mod", Some(2 << 20), "", &["2097152", "1 to 1048576"]);
        check("bsw-chunk", Some(5), "", &["n=5", "from 16"]);
        check("min", None, "n=65537", &["from 1 to 65536"]);
        check("sketch", None, "n=4097", &["from 1 to 4096"]);
        check("shingle", None, "tokens=bytes", &["words, letters or lines"]);
        check("shingle", None, "option=c", &["b or a"]);
        check("shingle", None, "sample=min,m=3", &["no parameter `m`", "sample and s"]);
        check("fuzzy", None, "r=4", &["from 2 to 3"]);
        check("fuzzy", None, "words=49", &["from 50"]);
        check("similarity-index", None, "way=13A", &["13A"]);
        check("similarity-index", None, "way=14A,k=1", &["from 2"]);
    }

    #[test]
    fn ids_differ_with_every_parameter() {
        let parameters = [
            ("mod", ""),
            ("mod", "w=21"),
            ("mod", "n=999"),
            ("min", ""),
            ("sketch", ""),
            ("bsw", ""),
            ("bsw-chunk", ""),
            ("shingle", ""),
            ("shingle", "w=8"),
            ("shingle", "option=a"),
            ("shingle", "sample=all"),
            ("fuzzy", ""),
            ("fuzzy", "step=26"),
            ("similarity-index", ""),
            ("similarity-index", "seed=2"),
        ];
        let ids: std::collections::BTreeSet<MethodId> =
            parameters.iter().map(|(name, param)| parsed(name, None, param).unwrap().id(&Key::none())).collect();
        assert_eq!(ids.len(), parameters.len());
    }

    #[test]
    fn canaries_of_every_method_meet_only_under_the_same_key() {
        let key = Key::parse(&[1; 32]).unwrap();
        for name in Method::NAMES {
            let method = parsed(name, None, "").unwrap();
            assert_eq!(method.canary(&key), method.canary(&key), "{name}");
            assert_ne!(method.canary(&key), method.canary(&Key::none()), "{name}");
        }
        let canary = |param| parsed("shingle", None, param).unwrap().canary(&key);
        assert_ne!(canary("w=2"), canary("w=3"), "the canary has words");
    }

    #[test]
    fn what_has_a_fixed_size_says_so() {
        for (name, param, fixed) in [
            ("tttd", "", false),
            ("mod", "", false),
            ("bsw", "", false),
            ("bsw-chunk", "", false),
            ("shingle", "", false),
            ("shingle", "sample=levels", true),
            ("min", "", true),
            ("sketch", "", true),
            ("fuzzy", "", true),
            ("similarity-index", "", true),
        ] {
            assert_eq!(parsed(name, None, param).unwrap().has_fixed_size(), fixed, "{name} {param}");
        }
    }
}
