//! A fingerprint as one line of JSON, which finds, watches and cases read.

use std::io::{self, Write};

use cognate_fingerprint::{Chunk, Feature, FeatureKind, Key, Method, MethodId, fine_to_text};
use serde::Serialize;

use crate::machine::{Became, verifier};

/// The method that documents are fingerprinted under, and its id with the key.
#[derive(Clone, Copy)]
pub struct Under<'a> {
    /// The method.
    pub method: &'a Method,
    /// Its id.
    id: MethodId,
    /// The id of the method that verifies its proposals by words, if there is one.
    verifier_id: Option<MethodId>,
}

impl<'a> Under<'a> {
    /// A method with a key.
    pub fn new(method: &'a Method, key: &Key) -> Under<'a> {
        let verifier_id = verifier(method).map(|verifier| verifier.id(key));
        Under { method, id: method.id(key), verifier_id }
    }
}

#[derive(Serialize, Default)]
struct FileLine<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_escaped: Option<bool>,
    size_bytes: u64,
    method: &'a str,
    view: String,
    chunk_bytes: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    param: String,
    /// Includes the key: only fingerprints with the same method id are comparable.
    method_id: String,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    windows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<(u64, u32, String)>>,
    /// The fine chunks of each chunk, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fine: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<(String, u32)>>,
    /// The words of the document under their keyed hashes, each with its count, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<String>,
    /// The id of the method that `terms` are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    verifier_id: Option<String>,
    /// Indexes, from 0, of chunks that repeat one byte.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repeated: Vec<usize>,
    /// The values of the window sample, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sample: Vec<u64>,
    /// For the method that makes numbers: the number, or `null` if a document is too short for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Option<i128>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Writes the line of a document with its end. `is_escaped` tells if bytes of the path were escaped.
///
/// # Errors
/// Those of the writer.
pub fn write_line(
    out: &mut impl Write,
    (path, is_escaped): (&str, bool),
    under: Under<'_>,
    became: &Became,
) -> io::Result<()> {
    let line = FileLine { path_escaped: is_escaped.then_some(true), ..line(path, under, became) };
    serde_json::to_writer(&mut *out, &line)?;
    writeln!(out)
}

fn line<'a>(path: &'a str, under: Under<'a>, became: &Became) -> FileLine<'a> {
    let method = under.method;
    let tag_and_length = |chunk: &Chunk| (chunk.tag.to_string(), chunk.length_bytes);
    let place = |chunk: &Chunk| (chunk.offset, chunk.length_bytes, chunk.tag.to_string());
    let feature = |feature: &Feature| (feature.tag.to_string(), feature.weight);
    let (size_bytes, digest) = became.identity();
    let line = FileLine {
        path,
        size_bytes,
        method: method.name(),
        view: method.view().to_string(),
        chunk_bytes: method.chunk_bytes(),
        param: method.param(),
        method_id: under.id.to_string(),
        content: digest.to_string(),
        repeated: became.repeated(),
        ..FileLine::default()
    };
    match became {
        Became::Chunks(chunks, content, fine) if method.name() == "tttd" => {
            let of_chunk = |chunk: &Chunk| fine.get(&chunk.tag).map(|fine| fine_to_text(fine)).unwrap_or_default();
            let fine = if fine.is_empty() { Vec::new() } else { chunks.iter().map(of_chunk).collect() };
            let chunks = Some(chunks.iter().map(place).collect());
            FileLine { chunks, fine, sample: content.sample.values().collect(), ..line }
        }
        Became::Chunks(chunks, content, _) => FileLine {
            windows: Some(content.chunk_count),
            features: Some(chunks.iter().map(tag_and_length).collect()),
            ..line
        },
        Became::Signature(signature, terms) => {
            let is_number = method.capabilities().features == FeatureKind::Index;
            FileLine {
                windows: Some(signature.windows),
                terms: terms.iter().map(|term| term.tag.to_string()).collect(),
                verifier_id: under.verifier_id.filter(|_| !terms.is_empty()).map(|id| id.to_string()),
                features: (!is_number).then(|| signature.features.iter().map(feature).collect()),
                index: is_number.then_some(signature.index),
                note: signature.shortage.map(|shortage| shortage.to_string()),
                ..line
            }
        }
    }
}
