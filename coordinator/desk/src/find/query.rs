//! A query, as it arrives: piece by piece, within the limits of one find.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cognate_fingerprint::{ContentDigest, Feature, FineChunk, Method, MethodId, Tag, Verification, WindowSample};
use cognate_proto::fine::{FineTables, expansions};
use cognate_proto::limits::{
    FIND_DOCUMENTS_MAX, FIND_FEATURES_MAX, FIND_FINE_MAX, FIND_MATCHES_DEFAULT, FIND_MATCHES_MAX,
};
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::options::Precision;
use cognate_proto::v1::{self, FindEnd, FindOpen, FindPiece};
use cognate_similarity::Containment;

use super::{Fingerprints, method_id_of};
use crate::error::Error;

/// The longest decimal number that is taken.
const NUMBER_BYTES_MAX: usize = 48;

/// A query: its documents, repositories and thresholds.
#[derive(Clone, Debug)]
pub struct FindQuery {
    /// The method of the fingerprints.
    pub method: Method,
    /// The id of the method with the key, which the coordinator does not know.
    pub method_id: MethodId,
    /// The id, with the key, of the method that verifies what `method` proposes; nothing if the documents have no terms.
    pub verifier_id: Option<MethodId>,
    /// The sites and repositories to search; empty: all. A site without a repository: all of its repositories.
    pub repositories: Vec<(SiteName, Option<RepositoryName>)>,
    /// The thresholds of a match.
    pub least: Least,
    /// The number of matches that are listed for each document.
    pub matches_max: usize,
    /// The precision with which matches are measured, if the method has fine chunks or a verification.
    pub precision: Precision,
    /// The documents.
    pub documents: Vec<SearchedDocument>,
    /// Fine chunks of chunks of the documents.
    pub fine: HashMap<Tag, Arc<[FineChunk]>>,
}

/// The thresholds of a match: either is enough. Without both, any overlap counts.
#[derive(Clone, Copy, Default, Debug)]
pub struct Least {
    /// Bytes in common; 0: not given.
    pub shared_bytes: u64,
    /// The share of either document that is in the other.
    pub containment: Option<Containment>,
}

/// A document of a query.
#[derive(Clone, Debug)]
pub struct SearchedDocument {
    /// The size of the view.
    pub size_bytes: u64,
    /// Its content.
    pub digest: ContentDigest,
    /// The number of windows of which the features are a sample; 0: unknown.
    pub windows: u64,
    /// Its number under `similarity-index`.
    pub index: Option<i128>,
    /// Its features, in the order of the document where they are chunks.
    pub features: Vec<Feature>,
    /// The places among `features` of chunks of one repeated byte, ascending.
    pub repeated: Vec<u32>,
    /// Its features under the method that verifies, ascending; empty if the query has none.
    pub terms: Vec<Feature>,
    /// Its window sample; empty if the method has none, or its file does not tell it.
    pub sample: WindowSample,
}

impl SearchedDocument {
    /// The document as it goes over the wire, in one piece.
    pub fn piece(&self) -> FindPiece {
        let features = v1::ChunkTable { repeated_byte: self.repeated.clone(), ..table(&self.features) };
        let terms = (!self.terms.is_empty()).then(|| table(&self.terms));
        FindPiece { features: Some(features), end: Some(self.end()), terms }
    }

    /// What goes after all features.
    pub fn end(&self) -> FindEnd {
        FindEnd {
            digest: self.digest.0.to_vec(),
            size_bytes: self.size_bytes,
            windows: self.windows,
            index: self.index.map(|index| index.to_string()).unwrap_or_default(),
            sample: self.sample.as_bytes().to_vec(),
        }
    }
}

/// Features as they go over the wire.
pub fn table(features: &[Feature]) -> v1::ChunkTable {
    v1::ChunkTable {
        tags: features.iter().flat_map(|feature| feature.tag.0).collect(),
        length_bytes: features.iter().map(|feature| feature.weight).collect(),
        repeated_byte: Vec::new(),
    }
}

impl FindQuery {
    /// A query about fingerprints in a file.
    ///
    /// # Errors
    /// Fails if it is invalid, or is too much.
    pub fn of_fingerprints(open: &FindOpen, fingerprints: Fingerprints) -> Result<FindQuery, Error> {
        let mut arriving = Arriving::open(&FindOpen { verifier: fingerprints.verifier.clone(), ..open.clone() })?;
        for (_, document) in &fingerprints.documents {
            arriving.take(&document.piece())?;
        }
        let mut tables = FineTables::default();
        fingerprints.fine.iter().for_each(|(tag, fine)| tables.push(*tag, fine.iter().copied()));
        tables.finish().iter().try_for_each(|table| arriving.take_fine(table))?;
        arriving.finish()
    }

    /// True if matches are measured by fine chunks.
    pub fn is_fine(&self) -> bool {
        self.precision == Precision::Fine && self.method.capabilities().fine
    }

    /// True if what the method proposes is verified by the words of both.
    pub fn is_verified(&self) -> bool {
        self.precision == Precision::Fine && self.is_verifiable()
    }

    /// True if matches are measured by whole chunks or are proposals, and can be measured better.
    pub fn has_precision(&self) -> bool {
        self.method.capabilities().fine || self.is_verifiable()
    }

    fn is_verifiable(&self) -> bool {
        self.method.capabilities().verified_by == Some(Verification::Cosine)
    }

    /// Checks the opening message of a find; the documents come after it.
    fn open(open: &FindOpen) -> Result<FindQuery, Error> {
        let spec = open.method.clone().unwrap_or_default();
        let method = Method::try_from(&spec).map_err(|error| Error::Invalid(format!("`method`: {error}")))?;
        Ok(FindQuery {
            method,
            method_id: method_id_of(&spec)?,
            verifier_id: open.verifier.as_ref().map(|verifier| verifier_id(&method, verifier)).transpose()?,
            repositories: open.repositories.iter().map(place).collect::<Result<_, Error>>()?,
            least: Least { shared_bytes: open.min_shared_bytes, containment: share(&open.min_containment)? },
            matches_max: match open.matches_max as usize {
                0 => FIND_MATCHES_DEFAULT,
                wanted => wanted.min(FIND_MATCHES_MAX),
            },
            precision: precision(&open.precision)?,
            documents: Vec::new(),
            fine: HashMap::new(),
        })
    }
}

/// The id of the method that verifies, which has to be the one for `method`.
fn verifier_id(method: &Method, spec: &v1::MethodSpec) -> Result<MethodId, Error> {
    let wrong = || Error::Invalid(format!("`verifier`: `{}` is not verified by it", method.name()));
    match Method::try_from(spec) {
        Ok(verifier) if method.verifier() == Some(verifier) => method_id_of(spec),
        _ => Err(wrong()),
    }
}

fn precision(name: &str) -> Result<Precision, Error> {
    let unknown = || Error::Invalid("`precision`: it is `fine` or `coarse`".to_owned());
    match name {
        "" => Ok(Precision::Fine),
        name => Precision::ALL.into_iter().find(|precision| precision.name() == name).ok_or_else(unknown),
    }
}

/// A repository, or without one all of a site.
pub fn place(place: &v1::RepositoryPlace) -> Result<(SiteName, Option<RepositoryName>), Error> {
    let name = |error: cognate_proto::name::NameError| Error::Invalid(format!("`repositories`: {error}"));
    let repository = Some(&place.repository).filter(|name| !name.is_empty());
    let repository = repository.map(|name| name.parse()).transpose().map_err(name)?;
    Ok((place.site.parse().map_err(name)?, repository))
}

fn share(text: &str) -> Result<Option<Containment>, Error> {
    let refused = || Error::Invalid("`min_containment`: a decimal number from 0 to 1".to_owned());
    match text.len() {
        0 => Ok(None),
        1..=32 => text.parse().map(Some).map_err(|_| refused()),
        _ => Err(refused()),
    }
}

/// A query on its way.
#[derive(Debug)]
pub struct Arriving {
    query: FindQuery,
    /// The document that is arriving.
    features: Vec<Feature>,
    repeated: Vec<u32>,
    terms: Vec<Feature>,
    total: usize,
    /// Once fine chunks arrive: the chunks of the documents that have none yet, and the length of each chunk.
    without_fine: Option<(HashSet<Tag>, HashMap<Tag, u32>)>,
    fine_total: usize,
}

impl Arriving {
    /// Checks the opening message.
    pub fn open(open: &FindOpen) -> Result<Arriving, Error> {
        Ok(Arriving {
            query: FindQuery::open(open)?,
            features: Vec::new(),
            repeated: Vec::new(),
            terms: Vec::new(),
            total: 0,
            without_fine: None,
            fine_total: 0,
        })
    }

    /// Receives the next piece of a document.
    ///
    /// # Errors
    /// Fails if it is too large, or not an output of the method.
    pub fn take(&mut self, piece: &FindPiece) -> Result<(), Error> {
        if self.without_fine.is_some() {
            return Err(Error::Invalid("fine chunks come after all documents".to_owned()));
        }
        if let Some(table) = &piece.features {
            self.check_table(table)?;
            for (tag, weight, repeated_byte) in table.iter() {
                if repeated_byte {
                    self.repeated.push(u32::try_from(self.features.len()).expect("fewer than four million"));
                }
                self.features.push(Feature { tag, weight });
            }
        }
        if let Some(table) = &piece.terms {
            if self.query.verifier_id.is_none() {
                return Err(Error::Invalid("`terms`: the query names no method that they are of".to_owned()));
            }
            self.check_table(table)?;
            self.terms.extend(table.iter().map(|(tag, weight, _)| Feature { tag, weight }));
        }
        match &piece.end {
            None => Ok(()),
            Some(end) => self.end(end),
        }
    }

    /// Checks a table of features, and counts its rows.
    fn check_table(&mut self, table: &v1::ChunkTable) -> Result<(), Error> {
        table.check(self.query.method.chunk_bytes_max()).map_err(|error| Error::Invalid(error.to_string()))?;
        self.total += table.rows();
        if self.total > FIND_FEATURES_MAX {
            return Err(Error::Invalid(format!(
                "a find is about at most {FIND_FEATURES_MAX} chunks or features: ask for fewer files at once, or under a \
                 method with a larger --chunk-bytes"
            )));
        }
        Ok(())
    }

    /// Receives fine chunks of chunks of the documents.
    ///
    /// # Errors
    /// Fails if they are too many, of another chunk, not as long as their chunk, or if the method has none.
    pub fn take_fine(&mut self, table: &v1::FineTable) -> Result<(), Error> {
        if !self.query.method.capabilities().fine {
            return Err(Error::Invalid("`fine`: the method has no fine chunks".to_owned()));
        }
        self.fine_total += table.fine_tags.len();
        if self.fine_total > FIND_FINE_MAX {
            return Err(Error::Invalid(format!(
                "a find has at most {FIND_FINE_MAX} fine chunks: ask for fewer files at once"
            )));
        }
        let documents = &self.query.documents;
        let (left, lengths) = self.without_fine.get_or_insert_with(|| {
            let features = documents.iter().flat_map(|document| &document.features);
            let lengths: HashMap<Tag, u32> = features.map(|feature| (feature.tag, feature.weight)).collect();
            (lengths.keys().copied().collect(), lengths)
        });
        for expansion in expansions(table, left).map_err(|error| Error::Invalid(format!("`fine`: {error}")))? {
            let length_bytes: u32 = expansion.fine.iter().map(|fine| u32::from(fine.length_bytes)).sum();
            if lengths.get(&expansion.tag) != Some(&length_bytes) {
                return Err(Error::Invalid("`fine`: fine chunks that are not as long as their chunk".to_owned()));
            }
            self.query.fine.insert(expansion.tag, expansion.fine.into());
        }
        Ok(())
    }

    fn end(&mut self, end: &FindEnd) -> Result<(), Error> {
        if self.query.documents.len() == FIND_DOCUMENTS_MAX {
            return Err(Error::Invalid(format!("a find is about at most {FIND_DOCUMENTS_MAX} documents")));
        }
        let digest = end.digest.as_slice().try_into().map(ContentDigest);
        let digest = digest.map_err(|_| Error::Invalid("`digest`: it has 16 bytes".to_owned()))?;
        let (features, repeated) = (std::mem::take(&mut self.features), std::mem::take(&mut self.repeated));
        let terms = std::mem::take(&mut self.terms);
        if !terms.is_sorted_by(|a, b| a.tag < b.tag) {
            return Err(Error::Invalid("`terms`: they ascend".to_owned()));
        }
        let sum: u64 = features.iter().map(|feature| u64::from(feature.weight)).sum();
        if self.query.method.capabilities().has_chunks() && sum != end.size_bytes {
            return Err(Error::Invalid(format!(
                "`size_bytes`: it is {}, and the chunks come to {sum}",
                end.size_bytes
            )));
        }
        let index = Some(&end.index).filter(|text| !text.is_empty());
        let number = |text: &String| text.parse().ok().filter(|_| text.len() <= NUMBER_BYTES_MAX);
        let refused = || Error::Invalid("`index`: an integer".to_owned());
        let index = index.map(|text| number(text).ok_or_else(refused)).transpose()?;
        let sample = WindowSample::from_bytes(end.sample.clone());
        let sample = sample.ok_or_else(|| Error::Invalid("`sample`: values of 5 bytes that ascend".to_owned()))?;
        let FindEnd { size_bytes, windows, .. } = *end;
        let document = SearchedDocument { size_bytes, digest, windows, index, features, repeated, terms, sample };
        self.query.documents.push(document);
        Ok(())
    }

    /// The query, once it is complete.
    ///
    /// # Errors
    /// Fails if a document is incomplete, or there is none.
    pub fn finish(self) -> Result<FindQuery, Error> {
        if !(self.features.is_empty() && self.terms.is_empty()) {
            return Err(Error::Invalid("the last document is incomplete".to_owned()));
        }
        if self.query.documents.is_empty() {
            return Err(Error::Invalid("the query has no document".to_owned()));
        }
        Ok(self.query)
    }
}
