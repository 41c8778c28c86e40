//! A stored query, as fingerprints alone: checked when it arrives, and asked again later.

use std::collections::{BTreeMap, BTreeSet};

use cognate_fingerprint::{FineChunk, Tag};
use cognate_proto::fine::FineTables;
use cognate_proto::limits::{STORED_DOCUMENTS_MAX, STORED_FEATURES_MAX, STORED_FINE_BYTES_MAX, TEXT_BYTES_MAX};
use cognate_proto::name::{SiteName, one_line};
use cognate_proto::v1::{FindOpen, FindPiece, FineTable, QueryDocument, StoredQuery};

use super::record::Under;
use super::{Arriving, FindQuery, Fingerprints, SearchedDocument};
use crate::error::Error;
use cognate_result::report::Viewer;
use cognate_storage::store::Store;

impl FindQuery {
    /// The query, to be asked now.
    ///
    /// # Errors
    /// Fails if it is invalid, or larger than a stored query may be.
    pub fn stored(stored: &StoredQuery) -> Result<FindQuery, Error> {
        let StoredQuery { open, documents, fine } = stored;
        let tables = documents.iter().flat_map(|one| [&one.features, &one.terms]).flatten();
        let features: usize = tables.map(|table| table.rows()).sum();
        if documents.len() > STORED_DOCUMENTS_MAX || features > STORED_FEATURES_MAX {
            return Err(Error::Invalid(format!(
                "a stored query has at most {STORED_DOCUMENTS_MAX} documents of {STORED_FEATURES_MAX} chunks, features and \
                 words together: name fewer files, or a larger --chunk-bytes"
            )));
        }
        let mut arriving = Arriving::open(&open.clone().unwrap_or_default())?;
        for QueryDocument { name, features, end, terms } in documents {
            if name.len() > TEXT_BYTES_MAX {
                return Err(Error::Invalid("`name`: it is too long".to_owned()));
            }
            let end = end.clone().ok_or_else(|| Error::Invalid("a document is incomplete".to_owned()))?;
            arriving.take(&FindPiece { features: features.clone(), end: Some(end), terms: terms.clone() })?;
        }
        let of_table = |table: &FineTable| fine_bytes(table.counts.len(), table.fine_tags.len());
        if features * FEATURE_BYTES + fine.iter().map(of_table).sum::<usize>() > STORED_FINE_BYTES_MAX {
            return Err(Error::Invalid("`fine`: a stored query has no space for so many fine chunks".to_owned()));
        }
        fine.iter().try_for_each(|table| arriving.take_fine(table))?;
        arriving.finish()
    }

    /// Its method.
    pub fn under(&self) -> Under {
        Under { method: self.method, id: self.method_id }
    }
}

/// The bytes that a chunk takes in a stored query.
const FEATURE_BYTES: usize = 24;

/// The bytes that chunks take with their fine chunks.
fn fine_bytes(chunks: usize, fine_chunks: usize) -> usize {
    chunks * 20 + (fine_chunks * 3).div_ceil(2)
}

/// The fine chunks that a stored query has: of one document after the other, all or none, as far as there is space.
pub fn stored_fine(documents: &[SearchedDocument], known: &BTreeMap<Tag, Vec<FineChunk>>) -> Vec<FineTable> {
    let features: usize = documents.iter().map(|document| document.features.len()).sum();
    let mut bytes = features * FEATURE_BYTES;
    let (mut stored, mut tables) = (BTreeSet::new(), FineTables::default());
    for document in documents {
        let tags: BTreeSet<Tag> = document.features.iter().map(|feature| feature.tag).collect();
        let new: Vec<(Tag, &Vec<FineChunk>)> =
            tags.difference(&stored).filter_map(|tag| Some((*tag, known.get(tag)?))).collect();
        let own = fine_bytes(new.len(), new.iter().map(|(_, fine)| fine.len()).sum());
        if bytes + own > STORED_FINE_BYTES_MAX {
            continue;
        }
        bytes += own;
        for (tag, fine) in &new {
            tables.push(*tag, fine.iter().copied());
        }
        stored.extend(new.into_iter().map(|(tag, _)| tag));
    }
    tables.finish()
}

impl SearchedDocument {
    /// The document as a stored query has it, under this name.
    pub fn stored(&self, name: &str) -> QueryDocument {
        let FindPiece { features, end, terms } = self.piece();
        QueryDocument { name: name.chars().take(TEXT_BYTES_MAX / 4).collect(), features, end, terms }
    }
}

impl Fingerprints {
    /// The stored query of these documents.
    pub fn into_stored(self, open: FindOpen) -> StoredQuery {
        let searched: Vec<SearchedDocument> = self.documents.iter().map(|(_, document)| document.clone()).collect();
        let fine = stored_fine(&searched, &self.fine);
        let open = FindOpen { verifier: self.verifier, ..open };
        let document = |(name, queried): (String, SearchedDocument)| queried.stored(&name);
        StoredQuery { open: Some(open), documents: self.documents.into_iter().map(document).collect(), fine }
    }
}

/// The names of the documents of a stored query.
pub fn names(stored: &StoredQuery) -> Vec<String> {
    stored.documents.iter().map(|document| one_line(&document.name)).collect()
}

/// A stored query as lists show it.
pub fn without_features(stored: &StoredQuery) -> StoredQuery {
    let document = |one: &QueryDocument| QueryDocument { features: None, terms: None, ..one.clone() };
    let documents = stored.documents.iter().map(document).collect();
    StoredQuery { open: stored.open.clone(), documents, fine: Vec::new() }
}

/// True if a person who is bound to this site or party, or to none, may see a site.
pub fn sees(store: &Store, (bound_site, bound_party): (&str, &str), site: &SiteName) -> bool {
    Viewer::stored(bound_site, bound_party).sees_site(site.as_str(), |_| store.party_of_data(site).ok().flatten())
}

/// Checks the name and the note of a stored query.
pub fn check_name(name: &str, note: &str) -> Result<(), Error> {
    // All typed names follow the rule for names of sites.
    name.parse::<SiteName>().map_err(|error| Error::Invalid(format!("`name`: {error}")))?;
    match note.len() {
        0..=TEXT_BYTES_MAX => Ok(()),
        _ => Err(Error::Invalid("`note`: it is too long".to_owned())),
    }
}
