//! Queries on their way: a few at a time, one of each person, and none for ever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_proto::calls::Messages;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tonic::Status;

use crate::error::Error;

/// Queries that arrive or wait for their turn at the same time: each may have 80 MB.
const ALL_MAX: usize = 4;
/// The longest time without anything, and the slowest pace of what comes.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const BYTES_PER_SECOND_MIN: u32 = 64 << 10;

/// The places of queries on their way.
pub(crate) struct Arrivals {
    all: Arc<Semaphore>,
    people: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A query on its way, until it is dropped.
pub(crate) struct Arrival {
    until: Instant,
    _person: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals { all: Arc::new(Semaphore::new(ALL_MAX)), people: Mutex::default() }
    }
}

impl Arrivals {
    /// Waits until there is a place for a query of this person.
    ///
    /// # Errors
    /// Fails when the coordinator stops.
    pub(crate) async fn begin(&self, person: &str) -> Result<Arrival, Status> {
        let stopping = |_| Status::unavailable("it is stopping");
        let own = {
            let mut people = self.people.lock().expect("nothing panics while it is held");
            Arc::clone(people.entry(person.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1))))
        };
        let person = own.acquire_owned().await.map_err(stopping)?;
        let all = Arc::clone(&self.all).acquire_owned().await.map_err(stopping)?;
        Ok(Arrival { until: Instant::now() + SILENCE_MAX, _person: person, _all: all })
    }
}

impl Arrival {
    /// The next message. What comes adds to the time that is left for the rest, by its bytes: empty messages add none.
    ///
    /// # Errors
    /// Fails if it comes too late, or has nothing in it.
    pub(crate) async fn next<T: prost::Message + Default, M>(
        &mut self,
        pieces: &mut Messages<T>,
        message: impl FnOnce(T) -> Option<M>,
    ) -> Result<Option<M>, Status> {
        let came = tokio::time::timeout_at(self.until, pieces.message()).await;
        let came =
            came.map_err(|_| Status::deadline_exceeded("a find came too slowly while others wait: send it again"))?;
        let Some(piece) = came? else { return Ok(None) };
        let bytes = u32::try_from(piece.encoded_len()).unwrap_or(u32::MAX);
        self.has_come(bytes);
        let empty = || Status::from(Error::Invalid("a message of a find is empty".to_owned()));
        message(piece).map(Some).ok_or_else(empty)
    }

    fn has_come(&mut self, bytes: u32) {
        let more = self.until + Duration::from_secs(bytes.into()) / BYTES_PER_SECOND_MIN;
        self.until = more.min(Instant::now() + SILENCE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queries_of_one_person_wait_for_each_other_and_not_for_those_of_others() {
        let arrivals = Arrivals::default();
        let first = arrivals.begin("anna").await.unwrap();
        let mut second = Box::pin(arrivals.begin("anna"));
        tokio::select! {
            biased;
            _ = &mut second => panic!("one query of a person arrives at a time"),
            other = arrivals.begin("ben") => drop(other.unwrap()),
        }
        drop(first);
        second.await.unwrap();
    }

    #[tokio::test]
    async fn empty_messages_keep_no_place_and_a_steady_query_arrives() {
        tokio::time::pause();
        let mut arrival = Arrivals::default().begin("anna").await.unwrap();
        for _ in 0..100 {
            tokio::time::advance(Duration::from_secs(1)).await;
            arrival.has_come(2 * BYTES_PER_SECOND_MIN);
        }
        assert!(arrival.until > Instant::now() + SILENCE_MAX / 2);
        for _ in 0..SILENCE_MAX.as_secs() {
            tokio::time::advance(Duration::from_secs(1)).await;
            arrival.has_come(2);
        }
        assert!(arrival.until <= Instant::now() + Duration::from_secs(1));
    }
}
