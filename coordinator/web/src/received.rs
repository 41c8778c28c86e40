//! Bodies of requests, within limits of size and time that depend on the sender: strangers may send a few kilobytes.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::http::request::Parts;
use cognate_server::places::Turn;
use tokio_stream::StreamExt as _;

use crate::error::PageError;

/// A body from somebody who is not signed in.
pub(crate) const STRANGER: Limits = Limits { bytes_max: 8 << 10, within: Duration::from_secs(5) };
/// A body from a program with a credential.
pub(crate) const PROGRAM: Limits = Limits { bytes_max: 256 << 10, within: Duration::from_secs(15) };
/// A form of a person who is signed in.
pub(crate) const FORM: Limits = Limits { bytes_max: 64 << 10, within: Duration::from_secs(15) };
/// The same if it is large: these have a budget of memory.
pub(crate) const LARGE_FORM: Limits = Limits { bytes_max: 8 << 20, within: Duration::from_secs(60) };

/// The limits of a body.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    bytes_max: usize,
    /// The time from the head of the request to the end of its body.
    within: Duration,
}

impl Limits {
    /// The most bytes of a body.
    pub(crate) fn bytes_max(self) -> usize {
        self.bytes_max
    }
}

/// The body of a request, complete.
///
/// # Errors
/// Fails if it is too large, too slow, or cut off.
pub(crate) async fn received(parts: &Parts, body: Body, limits: Limits) -> Result<Vec<u8>, PageError> {
    let Limits { bytes_max, within } = limits;
    if announced(parts).is_some_and(|bytes| bytes > bytes_max) {
        return Err(PageError::too_large(bytes_max));
    }
    let collected = tokio::time::timeout(within, collected(body, bytes_max)).await;
    let bytes = collected.map_err(|_| PageError::too_slow(within))??;
    if let Some(turn) = parts.extensions.get::<Turn>() {
        turn.works();
    }
    Ok(bytes)
}

/// True if the head of a request says that the body is within these limits.
pub(crate) fn is_announced_within(parts: &Parts, limits: Limits) -> bool {
    announced(parts).is_some_and(|bytes| bytes <= limits.bytes_max)
}

/// The length of the body, as the head of the request has it.
fn announced(parts: &Parts) -> Option<usize> {
    parts.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn collected(body: Body, bytes_max: usize) -> Result<Vec<u8>, PageError> {
    let (mut pieces, mut bytes) = (body.into_data_stream(), Vec::new());
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| PageError::invalid("the request was cut off: send it again"))?;
        if piece.len() > bytes_max - bytes.len() {
            return Err(PageError::too_large(bytes_max));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(length: &str) -> Parts {
        Request::post("/").header(header::CONTENT_LENGTH, length).body(()).unwrap().into_parts().0
    }

    #[tokio::test]
    async fn a_body_ends_within_its_time_and_its_size() {
        tokio::time::pause();
        let silent = || Body::from_stream(tokio_stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let began = tokio::time::Instant::now();
        let error = received(&parts("100"), silent(), STRANGER).await.unwrap_err();
        assert_eq!((error.status.as_u16(), began.elapsed().as_secs()), (408, STRANGER.within.as_secs()));
        let error = received(&parts("9000"), silent(), STRANGER).await.unwrap_err();
        assert_eq!(error.status.as_u16(), 413, "the head alone says it");
        let error = received(&parts("1"), Body::from(vec![b'x'; 9000]), STRANGER).await.unwrap_err();
        assert_eq!(error.status.as_u16(), 413, "a head that lies");
        assert_eq!(received(&parts("3"), Body::from("a=b"), STRANGER).await.unwrap(), b"a=b");
    }
}
