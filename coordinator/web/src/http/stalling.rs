//! A stream whose writes end when the client reads nothing for a while.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// The longest time in which a client takes nothing of its answer.
const STALL_MAX: Duration = Duration::from_secs(30);

/// A stream with this limit.
pub(super) struct Stalling<S> {
    stream: S,
    /// Runs while a write waits for the client.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalling<S> {
    pub(super) fn new(stream: S) -> Stalling<S> {
        Stalling { stream, stalled: None }
    }

    /// Passes the outcome of a write on, unless it has been pending for too long.
    fn limited<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        ready!(self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL_MAX))).as_mut().poll(context));
        self.stalled = None;
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client reads nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limited(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.limited(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.limited(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limited(polled, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_given_up_and_a_slow_one_is_not() {
        tokio::time::pause();
        let (ours, mut theirs) = tokio::io::duplex(8);
        let mut stalling = Stalling::new(ours);
        let reading = tokio::spawn(async move {
            for _ in 0..8 {
                let _ = tokio::time::timeout(STALL_MAX / 2, std::future::pending::<()>()).await;
                theirs.read_exact(&mut [0; 8]).await.unwrap();
            }
            theirs
        });
        let began = tokio::time::Instant::now();
        stalling.write_all(&[0; 64]).await.unwrap();
        assert!(began.elapsed() > 2 * STALL_MAX);
        let _theirs = reading.await.unwrap();
        let error = stalling.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
