//! The stored query of watches and cases, on the command line.

use std::path::PathBuf;

use clap::Args;
use cognate_proto::name::one_line;
use cognate_proto::v1;

use cognate_desk::find::stored::stored_fine;

use crate::find::{HowArgs, Query, opening, prepare};
use crate::operator::client::Operator;

/// The documents to search for.
#[derive(Args, Debug)]
pub(crate) struct QueryArgs {
    /// Files to search for
    #[arg(value_name = "FILE", required_unless_present = "fingerprints", conflicts_with = "fingerprints")]
    files: Vec<PathBuf>,
    /// Search for the output of `cognate fingerprint --format ndjson` instead of files
    #[arg(long, value_name = "FILE")]
    fingerprints: Option<PathBuf>,
    #[command(flatten)]
    how: HowArgs,
    /// Most matches to store for each file, the strongest first
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Note for other operators
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) note: String,
}

impl QueryArgs {
    /// The stored query.
    pub(crate) async fn query(&self, operator: &Operator) -> anyhow::Result<v1::StoredQuery> {
        let query: Query = prepare(operator, &self.how, &self.files, self.fingerprints.as_deref()).await?;
        let open = opening(&query, &self.how, self.limit)?;
        let documents = query.names.iter().zip(&query.documents).map(|(name, document)| document.stored(name));
        let fine = stored_fine(&query.documents, &query.fine);
        if fine.iter().map(|table| table.counts.len()).sum::<usize>() < query.fine.len() {
            tell!("cognate: the query is too long for all fine chunks: some documents are searched by whole chunks");
        }
        Ok(v1::StoredQuery { open: Some(open), documents: documents.collect(), fine })
    }
}

/// The method of a query, in the words of people.
pub(crate) fn method(query: &v1::StoredQuery) -> String {
    let method = query.open.as_ref().and_then(|open| open.method.as_ref());
    crate::repo::method_words(method)
}

/// Names of the searched documents, for a table.
pub(crate) fn names(query: &v1::StoredQuery) -> String {
    let names: Vec<String> = query.documents.iter().take(3).map(|document| one_line(&document.name)).collect();
    let more = if query.documents.len() > names.len() { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}
