//! Finds of a person: within the sites that it may see, and a few at a time.

use std::time::Duration;

use cognate_proto::name::SiteName;
use cognate_proto::v1::find_request::Message as Up;
use cognate_proto::v1::{self, FindResponse};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{OperatorService, blocking};
use crate::error::Error;
use crate::find::stored::sees;
use crate::find::{Answer, Arriving, FindQuery};
use crate::identity::Operator;

/// The site and the party that a search is bound to; nothing: no such bounds.
pub type Bounds = (String, String);

/// The longest time between two pieces of a find.
const SILENCE_MAX: Duration = Duration::from_secs(30);

impl OperatorService {
    /// Receives the query, searches, and sends the answer.
    pub(super) async fn search(
        &self,
        operator: Operator,
        mut pieces: Streaming<v1::FindRequest>,
    ) -> Result<ReceiverStream<Result<FindResponse, Status>>, Status> {
        // Limits the size of a query, and the number of queries in memory at a time.
        let turn = self.services.finder.turns.acquire().await.map_err(|_| Status::unavailable("it is stopping"))?;
        let Some(Up::Open(open)) = next(&mut pieces, |piece| piece.message).await? else {
            return Err(Error::Invalid("the first message of a find must open it".to_owned()).into());
        };
        let mut arriving = Arriving::open(&open)?;
        while let Some(message) = next(&mut pieces, |piece| piece.message).await? {
            match message {
                Up::Piece(piece) => arriving.take(&piece)?,
                Up::Open(_) => return Err(Error::Invalid("a find is opened once, and pieces follow".to_owned()).into()),
            }
        }
        let answer = self.look(operator, arriving.finish()?, Bounds::default()).await?;
        drop(turn);
        let (sender, stream) = mpsc::channel(4);
        tokio::spawn(async move {
            for message in answer.into_wire() {
                if sender.send(Ok(FindResponse { message: Some(message) })).await.is_err() {
                    return;
                }
            }
        });
        Ok(ReceiverStream::new(stream))
    }
}

impl OperatorService {
    /// The same for a query that arrived in another way, within these bounds.
    pub async fn searched(&self, operator: Operator, query: FindQuery, bounds: Bounds) -> Result<Answer, Status> {
        let _turn = self.services.finder.turns.acquire().await.map_err(|_| Status::unavailable("it is stopping"))?;
        self.look(operator, query, bounds).await
    }

    async fn look(&self, operator: Operator, query: FindQuery, (site, party): Bounds) -> Result<Answer, Status> {
        tracing::info!(by = %operator.name, documents = query.documents.len(), method = query.method.name(), "a find");
        let service = self.clone();
        blocking(move || {
            let store = &service.services.records.store;
            let sees = |name: &SiteName| service.is_own(&operator, name.as_str()) && sees(store, (&site, &party), name);
            service.services.finder.find(&query, &sees)
        })
        .await
    }
}

/// The next message. A silent client is cut off after a time limit, so that others get their turn.
pub(super) async fn next<T, M>(
    pieces: &mut Streaming<T>,
    message: impl FnOnce(T) -> Option<M>,
) -> Result<Option<M>, Status> {
    let came = tokio::time::timeout(SILENCE_MAX, pieces.message()).await;
    let came = came.map_err(|_| Status::deadline_exceeded("a find must not pause while others wait: send it again"))?;
    let Some(piece) = came? else { return Ok(None) };
    let empty = || Status::from(Error::Invalid("a message of a find is empty".to_owned()));
    message(piece).map(Some).ok_or_else(empty)
}
