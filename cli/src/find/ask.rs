//! Sends a query in pieces, with as many documents as one find may hold, and joins the answers.
//!
//! A query goes without fine chunks at first. If the answer lists chunks that are left of a match, the query goes once more, with
//! the fine chunks of these and of no others.

use std::collections::BTreeMap;

use cognate_desk::find::{Answer, SearchedDocument, table};
use cognate_fingerprint::Tag;
use cognate_proto::fine::FineTables;
use cognate_proto::limits::{FIND_DOCUMENTS_MAX, FIND_FEATURES_MAX, FIND_PIECE_FEATURES};
use cognate_proto::options::Precision;
use cognate_proto::v1::find_request::Message as Up;
use cognate_proto::v1::{ChunkTable, FindOpen, FindPiece, FindRequest, RepositoryPlace};

use super::{HowArgs, Query};
use crate::exit::{Exit, coded, usage};
use crate::operator::client::{Operator, refusal};

/// Most features in one request of several documents.
const FEATURES_AT_ONCE: usize = 1 << 20;

/// Sends the query, and waits for the complete answer.
pub(super) async fn ask(operator: &Operator, query: &Query, how: &HowArgs, limit: u32) -> anyhow::Result<Answer> {
    let open = opening(query, how, limit)?;
    let (mut complete, mut reasons) = (Answer::default(), BTreeMap::new());
    let mut rest = query.documents.as_slice();
    while !rest.is_empty() {
        let (lot, after) = rest.split_at(lot(rest));
        rest = after;
        let mut answer = ask_once(operator, &open, lot, Vec::new()).await?;
        let fine = fine(query, &answer.wanted);
        if !fine.is_empty() {
            answer = ask_once(operator, &open, lot, fine).await?;
        }
        complete.documents.append(&mut answer.documents);
        (complete.coverage, complete.run_lengths) = (answer.coverage, answer.run_lengths);
        if complete.precision != Some(Precision::Coarse) {
            complete.precision = answer.precision;
        }
        for (coarse, matches) in answer.coarse {
            *reasons.entry(coarse).or_default() += matches;
        }
    }
    complete.coarse = reasons.into_iter().collect();
    Ok(complete)
}

/// The fine chunks that an answer lacks, as far as the query has them.
fn fine(query: &Query, wanted: &[Tag]) -> Vec<Up> {
    let mut tables = FineTables::default();
    for (tag, fine) in wanted.iter().filter_map(|tag| Some((tag, query.fine.get(tag)?))) {
        tables.push(*tag, fine.iter().copied());
    }
    tables.finish().into_iter().map(Up::Fine).collect()
}

async fn ask_once(
    operator: &Operator,
    open: &FindOpen,
    lot: &[SearchedDocument],
    fine: Vec<Up>,
) -> anyhow::Result<Answer> {
    let documents = std::iter::once(Up::Open(open.clone())).chain(lot.iter().flat_map(pieces));
    let requests: Vec<FindRequest> = documents.chain(fine).map(request).collect();
    let mut answers = operator
        .call(|mut client| {
            let requests = requests.clone();
            async move { client.find(tokio_stream::iter(requests)).await }
        })
        .await?;
    let mut answer = Answer::default();
    while let Some(message) = answers.message().await.map_err(|status| refusal(&status))? {
        let message = message.message.into_iter();
        message.into_iter().try_for_each(|message| answer.take(message))?;
    }
    if answer.documents.len() != lot.len() {
        return Err(coded(Exit::Protocol, "the coordinator answered for other documents than the query's"));
    }
    Ok(answer)
}

/// First message of a find.
pub(crate) fn opening(query: &Query, how: &HowArgs, limit: u32) -> anyhow::Result<FindOpen> {
    Ok(FindOpen {
        method: Some(query.spec.clone()),
        repositories: places(&how.sites)?,
        min_shared_bytes: how.min_shared_bytes.unwrap_or(0),
        min_containment: how.min_containment.map(|share| share.to_string()).unwrap_or_default(),
        matches_max: limit,
        precision: how.precision.clone().unwrap_or_default(),
        verifier: query.verifier.clone(),
    })
}

/// Places that `--site` names.
pub(super) fn places(sites: &[String]) -> anyhow::Result<Vec<RepositoryPlace>> {
    let place = |text: &String| {
        let (site, repository) = text.split_once('/').unwrap_or((text, ""));
        if site.is_empty() {
            return Err(usage(format!("--site: `{text}` is not SITE or SITE/REPOSITORY")));
        }
        Ok(RepositoryPlace { site: site.to_owned(), repository: repository.to_owned() })
    };
    sites.iter().map(place).collect()
}

fn request(message: Up) -> FindRequest {
    FindRequest { message: Some(message) }
}

/// Number of documents that go into one request.
fn lot(documents: &[SearchedDocument]) -> usize {
    let mut features = 0;
    let fits = |document: &&SearchedDocument| {
        features += document.features.len() + document.terms.len();
        features <= FEATURES_AT_ONCE.min(FIND_FEATURES_MAX)
    };
    documents.iter().take(FIND_DOCUMENTS_MAX).take_while(fits).count().max(1)
}

/// Splits a document into pieces.
fn pieces(document: &SearchedDocument) -> impl Iterator<Item = Up> {
    let tables = document.features.chunks(FIND_PIECE_FEATURES).zip(0_u32..).map(|(features, piece)| {
        let first = piece * u32::try_from(FIND_PIECE_FEATURES).unwrap_or(0);
        let last = first + u32::try_from(features.len()).unwrap_or(0);
        let from = document.repeated.partition_point(|place| *place < first);
        let repeated = document.repeated[from..].iter().take_while(|place| **place < last);
        ChunkTable { repeated_byte: repeated.map(|place| place - first).collect(), ..table(features) }
    });
    let tables = tables.map(|table| FindPiece { features: Some(table), ..FindPiece::default() });
    let terms = document.terms.chunks(FIND_PIECE_FEATURES);
    let terms = terms.map(|terms| FindPiece { terms: Some(table(terms)), ..FindPiece::default() });
    let last = FindPiece { end: Some(document.end()), ..FindPiece::default() };
    tables.chain(terms).chain(std::iter::once(last)).map(Up::Piece)
}
