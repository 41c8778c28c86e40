//! Finds by hashes of a person: within the sites that it may see, and a few at a time.

use std::sync::Arc;

use cognate_proto::calls::Messages;
use cognate_proto::name::SiteName;
use cognate_proto::v1::FindHashesRequest;
use cognate_proto::v1::find_hashes_request::Message as Up;
use tonic::Status;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use cognate_desk::find::hashes::{HashAnswer, HashQuery};

impl OperatorService {
    /// Receives the query, and asks the sites.
    pub(super) async fn search_hashes(
        &self,
        operator: Operator,
        mut pieces: Messages<FindHashesRequest>,
    ) -> Result<HashAnswer, Status> {
        let mut arrival = self.services.finder.arrivals.begin(operator.name.as_str()).await?;
        let Some(Up::Open(open)) = arrival.next(&mut pieces, |piece| piece.message).await? else {
            return Err(Error::Invalid("the first message of a find must open it".to_owned()).into());
        };
        let mut query = HashQuery::open(&open).map_err(Error::from)?;
        while let Some(message) = arrival.next(&mut pieces, |piece| piece.message).await? {
            match message {
                Up::Hashes(table) => query.take(&table).map_err(Error::from)?,
                Up::Open(_) => return Err(Error::Invalid("a find is opened once, and hashes follow".to_owned()).into()),
            }
        }
        self.searched_hashes(operator, query).await
    }

    /// The same for a query that arrived in another way.
    pub async fn searched_hashes(&self, operator: Operator, query: HashQuery) -> Result<HashAnswer, Status> {
        if query.list.hashes().is_empty() {
            return Err(Error::Invalid("a find by hashes needs at least one hash".to_owned()).into());
        }
        let _turn = self.services.finder.turns.acquire().await.map_err(|_| Status::unavailable("it is stopping"))?;
        tracing::info!(by = %operator.name, hashes = query.list.hashes().len(), "a find by hashes");
        let by = operator.name.to_string();
        let sees = |site: &SiteName| self.is_own(&operator, site.as_str());
        Ok(Arc::clone(&self.services.finder).find_hashes(query, &by, &sees).await?)
    }
}
