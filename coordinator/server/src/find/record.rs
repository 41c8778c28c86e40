//! An answer as one object, schema `cognate.find/1`: for programs, and for the files of cases.

use cognate_fingerprint::{Key, Method, MethodId, RunLengths};
use cognate_proto::path::escaped;
use cognate_proto::v1::FindRelation;
use serde_json::{Map, Value, json};

use super::{Answer, Coverage, Found, Match, Measure, Share};
pub use cognate_result::report::time;

/// The schema of the object.
pub const SCHEMA: &str = "cognate.find/1";

/// The method of a query.
#[derive(Clone, Copy, Debug)]
pub struct Under {
    /// The method.
    pub method: Method,
    /// Its id with the key.
    pub id: MethodId,
}

impl Under {
    /// The granularity: the mean chunk, or the parameters of a method that has others.
    pub fn fineness(&self) -> String {
        match self.method.capabilities().mean_is_parameter {
            true => self.method.chunk_bytes().to_string(),
            false => self.method.param(),
        }
    }

    /// The command that makes an index of repositories under this method.
    pub fn launch<'a>(&self, places: impl Iterator<Item = &'a Coverage>) -> String {
        let places: Vec<String> = places.map(|row| format!("{}/{}", row.site, row.repository)).collect();
        let method = &self.method;
        let mut line = format!("cognate scan launch --repositories {}", places.join(","));
        let mut add = |words: String| {
            line.push(' ');
            line.push_str(&words);
        };
        if method.name() != "tttd" {
            add(format!("--method {}", method.name()));
        }
        if method.view() != cognate_fingerprint::View::Raw {
            add(format!("--view {}", method.view()));
        }
        if method.capabilities().mean_is_parameter {
            add(format!("--chunk-bytes {}", method.chunk_bytes()));
        } else if !method.param().is_empty() {
            add(format!("--param {}", method.param()));
        }
        line
    }

    fn object(&self) -> Value {
        json!({
            "method": self.method.name(),
            "view": self.method.view().to_string(),
            "chunk_bytes": self.method.chunk_bytes(),
            "param": self.method.param(),
            "method_id": self.id.to_string(),
            "keyed": self.id != self.method.id(&Key::none()),
        })
    }
}

/// The word for a relation.
pub fn relation(relation: FindRelation) -> &'static str {
    match relation {
        FindRelation::Identical => "identical",
        FindRelation::Near => "near",
        FindRelation::Contains => "contains",
        FindRelation::Contained => "contained",
        FindRelation::Candidate => "candidate",
        FindRelation::Shares | FindRelation::Unspecified => "shares",
    }
}

/// The full answer. `names`: the names of the query's documents.
pub fn object(under: &Under, answer: &Answer, names: &[String]) -> Value {
    let mut whole = head(under, answer);
    let coverage: Vec<Value> = answer.coverage.iter().map(|row| coverage(under, row)).collect();
    let documents = names.iter().zip(&answer.documents).map(|(name, found)| document(name, found));
    whole.insert("coverage".into(), coverage.into());
    whole.insert("documents".into(), documents.collect());
    whole.into()
}

/// The part that occurs once.
pub fn head(under: &Under, answer: &Answer) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("schema".into(), SCHEMA.into());
    head.insert("under".into(), under.object());
    head.insert("run_lengths".into(), run_lengths(answer.run_lengths));
    head
}

/// A repository, and its search.
pub fn coverage(under: &Under, row: &Coverage) -> Value {
    let Coverage { party, site, repository, searched, other_key } = row;
    let place = json!({"party": party, "site": site, "repository": repository, "covered": searched.is_some()});
    let more = match searched {
        Some(searched) => json!({
            "documents": searched.documents,
            "unread": searched.unread,
            "sealed": time(searched.sealed),
        }),
        None => json!({
            "reason": reason(row),
            "launch": (!other_key).then(|| under.launch(std::iter::once(row))),
        }),
    };
    joined(place, more)
}

/// The reason for which a repository was not searched.
pub fn reason(row: &Coverage) -> &'static str {
    match row.other_key {
        true => "its index under this method was made with another key, or with none",
        false => "it has no index under this method",
    }
}

/// One document of the query, with its matches.
pub fn document(name: &str, found: &Found) -> Value {
    let matches: Vec<Value> = found.matches.iter().map(one).collect();
    joined(document_head(name, found), json!({"matches": matches}))
}

/// The same without its matches.
pub fn document_head(name: &str, found: &Found) -> Value {
    json!({
        "path": name,
        "size_bytes": found.size_bytes,
        "template_bytes": found.template_bytes,
        "run_lengths": run_lengths(found.run_lengths),
        "documents": found.documents,
        "documents_omitted": found.documents_omitted,
    })
}

/// A match.
pub fn one(found: &Match) -> Value {
    let Match { digest, size_bytes, measure, documents, holders } = found;
    let Measure { shared_bytes, resemblance, sought_in_found, found_in_sought, estimated, .. } = measure;
    let ratio = |share: &Option<Share>| share.map(|share| share.ratio);
    let mut value = json!({
        "content": digest.to_string(),
        "relation": relation(measure.relation),
        "size_bytes": size_bytes,
        "shared_bytes": shared_bytes,
        "resemblance": ratio(resemblance),
        "sought_in_found": ratio(sought_in_found),
        "found_in_sought": ratio(found_in_sought),
        "documents": documents,
    });
    if *estimated {
        let interval = |share: &Option<Share>| share.and_then(|share| share.interval);
        let intervals = json!({
            "resemblance": interval(resemblance),
            "sought_in_found": interval(sought_in_found),
            "found_in_sought": interval(found_in_sought),
        });
        value = joined(value, json!({"estimated": true, "intervals": intervals}));
    }
    let holder = |holder: &super::Holder| {
        let (path, is_escaped) = escaped(holder.path.as_bytes());
        let mut row = json!({
            "party": holder.party,
            "site": holder.site.as_str(),
            "repository": holder.repository.as_str(),
            "path": path,
            "modified": time(holder.modified),
        });
        if is_escaped {
            row = joined(row, json!({"path_escaped": true}));
        }
        row
    };
    joined(value, json!({"holders": holders.iter().map(holder).collect::<Vec<Value>>()}))
}

fn run_lengths(lengths: Option<RunLengths>) -> Value {
    lengths.map_or(Value::Null, |RunLengths { p50, p95, p99 }| json!({"p50": p50, "p95": p95, "p99": p99}))
}

/// One object of two.
fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}
