//! Finds of a person: within the sites that it may see, and a few at a time.

use std::sync::Arc;

use cognate_proto::calls::Messages;
use cognate_proto::name::SiteName;
use cognate_proto::v1;
use cognate_proto::v1::find_request::Message as Up;
use tokio::sync::SemaphorePermit;
use tonic::Status;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use cognate_desk::find::stored::sees;
use cognate_desk::find::{Answer, Arriving, FindQuery, deadline};

/// The site and the party that a search is bound to; nothing: no such bounds.
pub type Bounds = (String, String);

impl OperatorService {
    /// Receives the query, and searches.
    pub(super) async fn search(
        &self,
        operator: Operator,
        mut pieces: Messages<v1::FindRequest>,
    ) -> Result<Answer, Status> {
        let mut arrival = self.services.finder.arrivals.begin(operator.name.as_str()).await?;
        let Some(Up::Open(open)) = arrival.next(&mut pieces, |piece| piece.message).await? else {
            return Err(Error::Invalid("the first message of a find must open it".to_owned()).into());
        };
        let mut arriving = Arriving::open(&open).map_err(Error::from)?;
        while let Some(message) = arrival.next(&mut pieces, |piece| piece.message).await? {
            match message {
                Up::Piece(piece) => arriving.take(&piece).map_err(Error::from)?,
                Up::Fine(table) => arriving.take_fine(&table).map_err(Error::from)?,
                Up::Open(_) => return Err(Error::Invalid("a find is opened once, and pieces follow".to_owned()).into()),
            }
        }
        let query = arriving.finish().map_err(Error::from)?;
        // Others arrive while this one waits, as far as there is memory.
        let turn = self.services.finder.turns.acquire().await.map_err(|_| Status::unavailable("it is stopping"))?;
        drop(arrival);
        self.look(operator, query, Bounds::default(), turn).await
    }
}

impl OperatorService {
    /// The same for a query that arrived in another way, within these bounds.
    pub async fn searched(&self, operator: Operator, query: FindQuery, bounds: Bounds) -> Result<Answer, Status> {
        let turn = self.services.finder.turns.acquire().await.map_err(|_| Status::unavailable("it is stopping"))?;
        self.look(operator, query, bounds, turn).await
    }

    async fn look(
        &self,
        operator: Operator,
        query: FindQuery,
        (site, party): Bounds,
        turn: SemaphorePermit<'_>,
    ) -> Result<Answer, Status> {
        tracing::info!(by = %operator.name, documents = query.documents.len(), method = query.method.name(), "a find");
        let service = self.clone();
        let sees = move |name: &SiteName| {
            let store = &service.services.records.store;
            service.is_own(&operator, name.as_str()) && sees(store, (&site, &party), name)
        };
        Ok(self.services.finder.find(Arc::new(query), Arc::new(sees), Some(turn), deadline()).await?)
    }
}
