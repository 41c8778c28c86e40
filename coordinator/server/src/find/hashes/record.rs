//! An answer by hashes as one object, schema `cognate.find-hashes/1`.

use cognate_proto::file_hash::FileHash;
use cognate_proto::path::escaped;
use cognate_proto::v1::FileHashState;
use serde_json::{Value, json};

use super::{HashAnswer, HashCoverage, HashHit, HashHolder, Listed};
pub use cognate_result::report::time;

/// The schema of the object.
pub const SCHEMA: &str = "cognate.find-hashes/1";

/// The full answer.
pub fn object(listed: &Listed, answer: &HashAnswer) -> Value {
    let mut whole = head(listed, answer);
    let coverage: Vec<Value> = answer.coverage.iter().map(coverage).collect();
    let matches: Vec<Value> = answer.hits.iter().map(|(number, hit)| one(listed, *number, hit)).collect();
    if let Value::Object(fields) = &mut whole {
        fields.insert("coverage".into(), coverage.into());
        fields.insert("matches".into(), matches.into());
    }
    whole
}

/// The part that occurs once.
pub fn head(listed: &Listed, answer: &HashAnswer) -> Value {
    json!({
        "schema": SCHEMA,
        "hashes": listed.list.hashes().len(),
        "kinds": listed.list.kinds().iter().map(|kind| kind.name()).collect::<Vec<_>>(),
        "hashes_found": answer.hits.len(),
        "files": answer.files(),
    })
}

/// A repository, and the coverage of the query in it.
pub fn coverage(row: &HashCoverage) -> Value {
    json!({
        "party": row.party,
        "site": row.site,
        "repository": row.repository,
        "covered": row.reason.is_empty(),
        "kinds": row.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
        "reason": Some(&row.reason).filter(|reason| !reason.is_empty()),
        "files": row.files,
        "files_without": row.files_without,
        "synced": (row.synced != 0).then(|| time(row.synced)),
    })
}

/// A hash that files have.
pub fn one(listed: &Listed, number: u32, hit: &HashHit) -> Value {
    let hash = hash(listed, number);
    json!({
        "kind": hash.kind().name(),
        "hash": hash.to_string(),
        "listed_as": listed.names.get(&number).cloned().unwrap_or_default(),
        "files": hit.files,
        "files_omitted": hit.omitted(),
        "holders": hit.holders.iter().map(holder).collect::<Vec<_>>(),
    })
}

fn holder(holder: &HashHolder) -> Value {
    let (path, is_escaped) = escaped(holder.path.as_bytes());
    let mut row = json!({
        "party": holder.party,
        "site": holder.site.as_str(),
        "repository": holder.repository.as_str(),
        "path": path,
        "size_bytes": holder.size_bytes,
        "modified": time(holder.modified),
        "state": state(holder.state),
    });
    if let (true, Value::Object(fields)) = (is_escaped, &mut row) {
        fields.insert("path_escaped".into(), true.into());
    }
    row
}

/// The hash with a number.
pub fn hash(listed: &Listed, number: u32) -> &FileHash {
    &listed.list.hashes()[number as usize]
}

/// The word for the state of a file since it was hashed.
pub fn state(state: FileHashState) -> &'static str {
    match state {
        FileHashState::Unchanged | FileHashState::Unspecified => "unchanged",
        FileHashState::Changed => "changed",
        FileHashState::Gone => "gone",
    }
}
