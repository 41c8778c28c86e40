//! The server's end of calls, for the generated services.

use std::convert::Infallible;
use std::pin::Pin;

use prost::Message;
use prost::bytes::Bytes;
use tonic::body::Body;
use tonic::codec::Streaming;
use tonic::codegen::tokio_stream::{self, Stream, StreamExt as _};
use tonic::codegen::{BoxFuture, http};
use tonic::server::{Grpc, StreamingService};
use tonic::{Request, Response, Status};

use super::{BytesCodec, Messages, Outgoing, decoded};

/// The response of HTTP to a call.
pub(crate) type Answering = BoxFuture<http::Response<Body>, Infallible>;
/// The response of a method of a service.
type Reply<A> = BoxFuture<Response<A>, Status>;
type Responses = Pin<Box<dyn Stream<Item = Result<Outgoing, Status>> + Send>>;

/// A request of HTTP for one call, and the longest message that it may bring.
pub(crate) struct Incoming {
    pub(crate) request: http::Request<Body>,
    pub(crate) message_bytes_max: usize,
}

impl Incoming {
    /// One message for one message.
    pub(crate) fn unary<Q, A>(self, call: impl FnOnce(Request<Q>) -> Reply<A> + Send + 'static) -> Answering
    where
        Q: Message + Default + 'static,
        A: Message + 'static,
    {
        self.serve(Box::new(|request| Box::pin(async { Ok(call(only(request).await?).await?.map(once)) })))
    }

    /// One message for many.
    pub(crate) fn server_streaming<Q, S, A>(
        self,
        call: impl FnOnce(Request<Q>) -> Reply<S> + Send + 'static,
    ) -> Answering
    where
        Q: Message + Default + 'static,
        S: Stream<Item = Result<A, Status>> + Send + 'static,
        A: Message + 'static,
    {
        self.serve(Box::new(|request| Box::pin(async { Ok(call(only(request).await?).await?.map(many)) })))
    }

    /// Many messages for one.
    pub(crate) fn client_streaming<Q, A>(
        self,
        call: impl FnOnce(Request<Messages<Q>>) -> Reply<A> + Send + 'static,
    ) -> Answering
    where
        Q: Message + Default + 'static,
        A: Message + 'static,
    {
        self.serve(Box::new(|request| Box::pin(async { Ok(call(request.map(Messages::new)).await?.map(once)) })))
    }

    /// Many messages for many.
    pub(crate) fn streaming<Q, S, A>(
        self,
        call: impl FnOnce(Request<Messages<Q>>) -> Reply<S> + Send + 'static,
    ) -> Answering
    where
        Q: Message + Default + 'static,
        S: Stream<Item = Result<A, Status>> + Send + 'static,
        A: Message + 'static,
    {
        self.serve(Box::new(|request| Box::pin(async { Ok(call(request.map(Messages::new)).await?.map(many)) })))
    }

    fn serve(self, call: Call) -> Answering {
        Box::pin(async move {
            let mut grpc = Grpc::new(BytesCodec).max_decoding_message_size(self.message_bytes_max);
            Ok(grpc.streaming(Method { call: Some(call) }, self.request).await)
        })
    }
}

/// The answer to the name of a method that the service does not have.
pub(crate) fn unknown_method() -> Answering {
    Box::pin(async { Ok(Status::unimplemented("").into_http()) })
}

type Call = Box<dyn FnOnce(Request<Streaming<Bytes>>) -> Reply<Responses> + Send>;

struct Method {
    call: Option<Call>,
}

impl StreamingService<Bytes> for Method {
    type Response = Outgoing;
    type ResponseStream = Responses;
    type Future = Reply<Responses>;

    fn call(&mut self, request: Request<Streaming<Bytes>>) -> Reply<Responses> {
        let call = self.call.take().expect("a request is served once");
        call(request)
    }
}

/// The only message of a request.
fn only<Q: Message + Default>(
    request: Request<Streaming<Bytes>>,
) -> impl Future<Output = Result<Request<Q>, Status>> + Send {
    let bytes = only_bytes(request);
    async {
        let (metadata, extensions, bytes) = bytes.await?.into_parts();
        Ok(Request::from_parts(metadata, extensions, decoded(bytes)?))
    }
}

fn only_bytes(request: Request<Streaming<Bytes>>) -> BoxFuture<Request<Bytes>, Status> {
    Box::pin(async {
        let (metadata, extensions, mut stream) = request.into_parts();
        let message = stream.message().await?.ok_or_else(|| Status::internal("Missing request message."))?;
        // The end of the request.
        stream.trailers().await?;
        Ok(Request::from_parts(metadata, extensions, message))
    })
}

fn once<A: Message + 'static>(response: A) -> Responses {
    Box::pin(tokio_stream::once(Ok(Box::new(response) as Outgoing)))
}

fn many<A: Message + 'static>(responses: impl Stream<Item = Result<A, Status>> + Send + 'static) -> Responses {
    Box::pin(responses.map(|response| response.map(|response| Box::new(response) as Outgoing)))
}
