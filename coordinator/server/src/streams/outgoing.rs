//! A stream of answers that ends when its peer stops reading.

use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_stream::Stream;
use tonic::Status;

use super::slots::Slot;

/// The longest time in which a peer takes nothing of a stream that has something for it.
const UNREAD_MAX: Duration = Duration::from_secs(60);

/// Messages for a peer. The next is asked for only when the peer has room for it.
pub struct Outgoing<T> {
    state: Arc<Mutex<Option<Sending<T>>>>,
}

struct Sending<T> {
    messages: mpsc::Receiver<Result<T, Status>>,
    /// The time since which the peer has not asked for more; nothing: it waits for a message.
    unread_since: Option<Instant>,
    _slot: Slot,
}

impl<T: Send + 'static> Outgoing<T> {
    /// Sends what comes through the channel. A peer that does not read loses the stream, and its connection with it:
    /// only that frees what it has buffered.
    pub(super) fn new(
        messages: mpsc::Receiver<Result<T, Status>>,
        slot: Slot,
        connection: Option<Arc<Notify>>,
    ) -> Outgoing<T> {
        let sending = Sending { messages, unread_since: Some(Instant::now()), _slot: slot };
        let state = Arc::new(Mutex::new(Some(sending)));
        let expires: Arc<dyn Expires> = Arc::clone(&state) as _;
        tokio::spawn(expire(Arc::downgrade(&expires), connection));
        Outgoing { state }
    }
}

/// A stream as far as its end is concerned, whatever it sends: the task that watches it is compiled once.
trait Expires: Send + Sync {
    /// Ends the stream if its peer has not read for too long.
    fn expire(&self) -> Expiry;
}

enum Expiry {
    /// The stream is read, and expires at this time if it is not read before.
    Later(Instant),
    Now,
    /// The stream has ended.
    Never,
}

impl<T: Send> Expires for Mutex<Option<Sending<T>>> {
    fn expire(&self) -> Expiry {
        let mut sending = self.lock().expect("nothing panics while it is held");
        let Some(unread_since) = sending.as_ref().map(|sending| sending.unread_since) else { return Expiry::Never };
        let end = unread_since.unwrap_or_else(Instant::now) + UNREAD_MAX;
        if end > Instant::now() {
            return Expiry::Later(end);
        }
        *sending = None;
        Expiry::Now
    }
}

/// Ends the stream when its peer has not read for too long.
async fn expire(state: Weak<dyn Expires>, connection: Option<Arc<Notify>>) {
    let mut check = Instant::now() + UNREAD_MAX;
    loop {
        tokio::time::sleep_until(check).await;
        let Some(state) = state.upgrade() else { return };
        match state.expire() {
            Expiry::Later(end) => check = end,
            Expiry::Never => return,
            Expiry::Now => break,
        }
    }
    tracing::info!(unread = ?UNREAD_MAX, "a stream was not read, and its connection is closed");
    if let Some(connection) = connection {
        connection.notify_one();
    }
}

impl<T> Stream for Outgoing<T> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.state.lock().expect("nothing panics while it is held");
        let Some(sending) = &mut *state else {
            return Poll::Ready(None);
        };
        let polled = sending.messages.poll_recv(context);
        sending.unread_since = polled.is_ready().then(Instant::now);
        if matches!(polled, Poll::Ready(None)) {
            *state = None;
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use tokio_stream::StreamExt as _;

    use super::super::slots::Slots;
    use super::*;

    type Ends = (mpsc::Sender<Result<u8, Status>>, Outgoing<u8>, Arc<Notify>);

    fn stream() -> Ends {
        let (sender, receiver) = mpsc::channel(1);
        let connection = Arc::new(Notify::new());
        let slot = Arc::<Slots>::default().take("anna", None).unwrap();
        (sender, Outgoing::new(receiver, slot, Some(Arc::clone(&connection))), connection)
    }

    #[tokio::test]
    async fn a_stream_that_is_not_read_ends_with_its_connection() {
        tokio::time::pause();
        let (sender, mut unread, connection) = stream();
        sender.send(Ok(1)).await.unwrap();
        let began = Instant::now();
        connection.notified().await;
        assert_eq!(began.elapsed().as_secs(), UNREAD_MAX.as_secs());
        assert!(sender.send(Ok(2)).await.is_err(), "the producer ends");
        assert!(unread.next().await.is_none());
    }

    #[tokio::test]
    async fn a_stream_that_waits_for_its_producer_goes_on() {
        tokio::time::pause();
        let (sender, mut read, connection) = stream();
        let reading = tokio::spawn(async move { read.next().await.unwrap().unwrap() });
        assert!(tokio::time::timeout(5 * UNREAD_MAX, connection.notified()).await.is_err());
        sender.send(Ok(1)).await.unwrap();
        assert_eq!(reading.await.unwrap(), 1);
    }
}
