//! The output of `cognate fingerprint --format ndjson`, read as a query: pages have no other way to leave the key and
//! the documents with the person who asks.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use cognate_fingerprint::{ContentDigest, Feature, FineChunk, Method, Tag, WindowSample, fine_of_text};
use cognate_proto::limits::{FIND_DOCUMENTS_MAX, FIND_FEATURES_MAX};
use cognate_proto::v1::MethodSpec;
use serde::Deserialize;

use super::SearchedDocument;

/// No line of a file is longer: each feature takes at most 70 bytes of it.
const LINE_BYTES_MAX: u64 = 70 * FIND_FEATURES_MAX as u64;

/// Documents in the output of `cognate fingerprint`, all under one method.
#[derive(Clone, Debug)]
pub struct Fingerprints {
    /// The method with its id.
    pub method: MethodSpec,
    /// The method that verifies what `method` proposes, with its id, if the documents have terms.
    pub verifier: Option<MethodSpec>,
    /// Each with its path, as it was given.
    pub documents: Vec<(String, SearchedDocument)>,
    /// Fine chunks of chunks of the documents, if `--fine` was given.
    pub fine: BTreeMap<Tag, Vec<FineChunk>>,
}

/// A line: the fields that matter here.
#[derive(Deserialize)]
struct Line {
    path: String,
    size_bytes: u64,
    method: String,
    view: Option<String>,
    #[serde(default)]
    chunk_bytes: u64,
    #[serde(default)]
    param: String,
    method_id: Option<String>,
    content: String,
    #[serde(default)]
    windows: u64,
    #[serde(default)]
    chunks: Vec<(u64, u32, String)>,
    /// Fine chunks of each chunk.
    #[serde(default)]
    fine: Vec<String>,
    #[serde(default)]
    features: Vec<(String, u32)>,
    #[serde(default)]
    repeated: Vec<u32>,
    #[serde(default)]
    sample: Vec<u64>,
    index: Option<i128>,
    /// Features under the method that verifies, and its id.
    #[serde(default)]
    terms: Vec<String>,
    verifier_id: Option<String>,
}

impl Fingerprints {
    /// Reads all lines.
    ///
    /// # Errors
    /// In one line what is wrong with which line.
    pub fn read(mut from: impl BufRead) -> Result<Fingerprints, String> {
        let mut method: Option<MethodSpec> = None;
        let mut verifier: Option<MethodSpec> = None;
        let (mut documents, mut fine) = (Vec::new(), BTreeMap::new());
        for number in 1_u64.. {
            let mut bytes = Vec::new();
            let wrong = |why: &dyn std::fmt::Display| format!("line {number}: {why}");
            let read = from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
            if read.map_err(|error| wrong(&error))? == 0 {
                break;
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let nonsense = |error: serde_json::Error| {
                wrong(&format!("it is not a line of `cognate fingerprint --format ndjson` ({error})"))
            };
            let line: Line = serde_json::from_slice(&bytes).map_err(nonsense)?;
            let own = line.method().ok_or_else(|| wrong(&"it does not contain its method and its id"))?;
            if *method.get_or_insert_with(|| own.clone()) != own {
                return Err(wrong(&"its method or key differs from that of the earlier lines"));
            }
            if let Some(own) = line.verifier().map_err(|why| wrong(&why))?
                && *verifier.get_or_insert_with(|| own.clone()) != own
            {
                return Err(wrong(&"its `verifier_id` differs from that of the earlier lines"));
            }
            if documents.len() == FIND_DOCUMENTS_MAX {
                return Err(wrong(&format!("one find is about at most {FIND_DOCUMENTS_MAX} documents")));
            }
            let path = line.path.clone();
            fine.extend(line.fine().ok_or_else(|| wrong(&"`fine` does not have the fine chunks of each chunk"))?);
            let queried = line.queried().ok_or_else(|| wrong(&"a tag or a digest is not 32 hexadecimal digits"))?;
            documents.push((path, queried));
        }
        let method = method.ok_or("it has no lines: `cognate fingerprint --format ndjson -- FILE…` writes them")?;
        Ok(Fingerprints { method, verifier, documents, fine })
    }
}

impl Line {
    fn method(&self) -> Option<MethodSpec> {
        Some(MethodSpec {
            name: self.method.clone(),
            view: self.view.clone()?,
            chunk_bytes: self.chunk_bytes,
            method_id: sixteen(self.method_id.as_ref()?)?.to_vec(),
            param: self.param.clone(),
        })
    }

    /// The method that the terms are of.
    fn verifier(&self) -> Result<Option<MethodSpec>, &'static str> {
        let Some(id) = &self.verifier_id else {
            let has_terms = !self.terms.is_empty();
            return if has_terms { Err("it has `terms` and no `verifier_id`") } else { Ok(None) };
        };
        let method = self.method().and_then(|spec| Method::try_from(&spec).ok());
        let verifier = method.and_then(|method| method.verifier()).ok_or("no method verifies what its method finds")?;
        let id = sixteen(id).ok_or("`verifier_id` is not 32 hexadecimal digits")?;
        Ok(Some(MethodSpec { method_id: id.to_vec(), ..MethodSpec::from(&verifier) }))
    }

    /// Fine chunks by the tags of their chunks. A chunk without any is one whose fine chunks are not in the file.
    fn fine(&self) -> Option<Vec<(Tag, Vec<FineChunk>)>> {
        if !self.fine.is_empty() && self.fine.len() != self.chunks.len() {
            return None;
        }
        let with_fine = self.chunks.iter().zip(&self.fine).filter(|(_, fine)| !fine.is_empty());
        with_fine.map(|((_, _, tag), fine)| Some((Tag(sixteen(tag)?), fine_of_text(fine)?))).collect()
    }

    fn queried(self) -> Option<SearchedDocument> {
        let chunks = self.chunks.iter().map(|(_, length, tag)| (tag, *length));
        let all = chunks.chain(self.features.iter().map(|(tag, weight)| (tag, *weight)));
        let features = all.map(|(tag, weight)| Some(Feature { tag: Tag(sixteen(tag)?), weight }));
        let terms = self.terms.iter().map(|tag| Some(Feature { tag: Tag(sixteen(tag)?), weight: 1 }));
        Some(SearchedDocument {
            size_bytes: self.size_bytes,
            digest: ContentDigest(sixteen(&self.content)?),
            windows: self.windows,
            index: self.index,
            features: features.collect::<Option<_>>()?,
            terms: terms.collect::<Option<_>>()?,
            repeated: self.repeated,
            sample: WindowSample::new(&self.sample)?,
        })
    }
}

fn sixteen(text: &str) -> Option<[u8; 16]> {
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use cognate_fingerprint::fine_to_text;

    use super::*;

    const LINE: &str = r#"{"path":"a","size_bytes":5,"method":"tttd","view":"raw","chunk_bytes":1000,"method_id":"000102030405060708090a0b0c0d0e0f","content":"ffffffffffffffffffffffffffffffff","chunks":[[0,3,"00000000000000000000000000000001"],[3,2,"00000000000000000000000000000002"]],"repeated":[1],"later":{}}"#;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let read = Fingerprints::read(format!("{LINE}\n\n{LINE}").as_bytes()).unwrap();
        assert_eq!((read.documents.len(), read.method.name.as_str(), read.method.chunk_bytes), (2, "tttd", 1000));
        let (path, queried) = &read.documents[1];
        assert_eq!((path.as_str(), queried.size_bytes, queried.features.len()), ("a", 5, 2));
        assert_eq!((queried.features[1].weight, queried.features[1].tag.0[15], &queried.repeated), (2, 2, &vec![1]));
    }

    #[test]
    fn fine_chunks_are_read_as_they_are_written() {
        let fine = vec![FineChunk { tag: 0x0f, length_bytes: 1 }, FineChunk { tag: 0xa0, length_bytes: 16 }];
        assert_eq!(fine_to_text(&fine), "00ffa0");
        let line = LINE.replace("\"later\":{}", "\"fine\":[\"00ffa0\",\"\"]");
        let read = Fingerprints::read(line.as_bytes()).unwrap();
        assert_eq!(read.fine.into_iter().collect::<Vec<_>>(), [(Tag(sixteen(&format!("{:032x}", 1)).unwrap()), fine)]);
        assert!(Fingerprints::read(LINE.as_bytes()).unwrap().fine.is_empty());
    }

    #[test]
    fn what_is_no_fingerprint_is_refused_by_its_line() {
        let check = |text: String, says: &str| {
            let error = Fingerprints::read(text.as_bytes()).unwrap_err();
            assert!(error.contains(says), "{error}");
        };
        check(String::new(), "no line");
        check(format!("{LINE}\nx\n"), "line 2");
        check(LINE.replace("000102", "zz0102"), "method");
        check(LINE.replace("ffff", "fff"), "32 hexadecimal");
        for fine in ["[\"000\"]", "[\"000\",\"0\"]", "[\"00x\",\"\"]"] {
            check(LINE.replace("\"later\":{}", &format!("\"fine\":{fine}")), "fine chunks of each chunk");
        }
        check(format!("{LINE}\n{}", LINE.replace("1000", "500")), "method or key differs");
    }
}
