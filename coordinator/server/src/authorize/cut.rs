//! Bodies that can be ended from outside.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Bytes;
use tonic::codegen::http::HeaderMap;

/// Resolves when a body has to end, with the reason.
pub(super) type Cut = Pin<Box<dyn Future<Output = Status> + Send>>;

/// A body that ends when its [`Cut`] says so.
pub(super) struct CutBody {
    body: Body,
    cut: Option<Cut>,
    end: End,
}

/// The recipient of the reason for which a body ended.
enum End {
    /// To the handler: as the error of its next message.
    Error,
    /// To the peer: as the status of the call.
    Trailers,
}

impl CutBody {
    pub(super) fn request(body: Body, cut: Cut) -> CutBody {
        CutBody { body, cut: Some(cut), end: End::Error }
    }

    pub(super) fn response(body: Body, cut: Cut) -> CutBody {
        CutBody { body, cut: Some(cut), end: End::Trailers }
    }
}

impl http_body::Body for CutBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let Some(cut) = &mut this.cut else { return Poll::Ready(None) };
        if let Poll::Ready(status) = cut.as_mut().poll(context) {
            this.cut = None;
            // Further messages of the handler are dropped.
            this.body = Body::empty();
            return Poll::Ready(Some(match this.end {
                End::Error => Err(status),
                End::Trailers => {
                    let mut trailers = HeaderMap::new();
                    status.add_header(&mut trailers).map(|()| Frame::trailers(trailers))
                }
            }));
        }
        Pin::new(&mut this.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.cut.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;

    use super::*;

    /// A body of which nothing comes.
    struct Silent;

    impl http_body::Body for Silent {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Pending
        }
    }

    fn cut(is_cut: bool) -> Cut {
        Box::pin(async move {
            if !is_cut {
                std::future::pending::<()>().await;
            }
            Status::permission_denied("revoked")
        })
    }

    fn next(body: &mut CutBody) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(body).poll_frame(&mut Context::from_waker(std::task::Waker::noop()))
    }

    #[test]
    fn a_body_is_at_its_end_when_it_has_ended_or_was_cut_and_not_before() {
        assert!(CutBody::response(Body::empty(), cut(false)).is_end_stream(), "it ended by itself");
        assert_eq!(CutBody::response(Body::empty(), cut(false)).size_hint().exact(), Some(0));
        for make in [CutBody::request, CutBody::response] {
            let mut open = make(Body::new(Silent), cut(false));
            assert!(next(&mut open).is_pending() && !open.is_end_stream());
            let mut ended = make(Body::new(Silent), cut(true));
            assert!(!ended.is_end_stream());
            assert!(matches!(next(&mut ended), Poll::Ready(Some(_))), "it says why");
            assert!(ended.is_end_stream() && matches!(next(&mut ended), Poll::Ready(None)));
        }
    }
}
