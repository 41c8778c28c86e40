//! Calls over gRPC, compiled once for all messages.
//!
//! tonic's machinery is generic over the messages of a call, so that each of a hundred calls brings a copy of its own: 40 % of the code of the
//! program. Here it carries bytes ([`Bytes`] in, messages of no known type out), and only the step from bytes to a message depends on the message. The code that
//! `tests/generated.rs` makes from the `.proto` files calls the functions of [`server`] and the methods of [`Calls`].

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use prost::Message;
use prost::bytes::{Buf as _, Bytes};
use tonic::codec::{DecodeBuf, Decoder, EncodeBuf, Encoder, Streaming};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::tokio_stream::{self, Stream, StreamExt as _};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

pub mod server;

/// A message on its way out, whichever it is.
pub(crate) type Outgoing = Box<dyn Encode + Send + Sync>;
/// Messages on their way out.
type Requests = Pin<Box<dyn Stream<Item = Outgoing> + Send>>;

/// The answer to a call, once it comes.
type Reply<'a, A> = Pin<Box<dyn Future<Output = Result<Response<A>, Status>> + Send + 'a>>;

/// [`Message`] as far as a trait object can have it.
pub(crate) trait Encode {
    fn encode_into(&self, buffer: &mut EncodeBuf<'_>) -> Result<(), Status>;
}

impl<M: Message> Encode for M {
    fn encode_into(&self, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        self.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }
}

fn decoded<M: Message + Default>(bytes: Bytes) -> Result<M, Status> {
    M::decode(bytes).map_err(|error| Status::internal(error.to_string()))
}

/// The codec of all calls.
#[derive(Default)]
pub(crate) struct BytesCodec;

impl tonic::codec::Codec for BytesCodec {
    type Encode = Outgoing;
    type Decode = Bytes;
    type Encoder = BytesCodec;
    type Decoder = BytesCodec;

    fn encoder(&mut self) -> BytesCodec {
        BytesCodec
    }

    fn decoder(&mut self) -> BytesCodec {
        BytesCodec
    }
}

impl Encoder for BytesCodec {
    type Item = Outgoing;
    type Error = Status;

    fn encode(&mut self, message: Outgoing, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode_into(buffer)
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}

/// Messages as they arrive.
#[derive(Debug)]
pub struct Messages<M> {
    bytes: Streaming<Bytes>,
    is_broken: bool,
    message: PhantomData<fn() -> M>,
}

impl<M: Message + Default> Messages<M> {
    fn new(bytes: Streaming<Bytes>) -> Messages<M> {
        Messages { bytes, is_broken: false, message: PhantomData }
    }

    /// The next message; none at the end.
    ///
    /// # Errors
    /// The status with which the sender ended the call, or one that names what cannot be decoded; nothing comes after it.
    pub async fn message(&mut self) -> Result<Option<M>, Status> {
        self.next().await.transpose()
    }
}

impl<M: Message + Default> Stream for Messages<M> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<M, Status>>> {
        if self.is_broken {
            return Poll::Ready(None);
        }
        let arrived = ready!(Pin::new(&mut self.bytes).poll_next(context)).map(|bytes| bytes.and_then(decoded));
        self.is_broken = matches!(arrived, Some(Err(_)));
        Poll::Ready(arrived)
    }
}

/// The client's end of all calls of a service.
#[derive(Clone, Debug)]
pub struct Calls {
    grpc: tonic::client::Grpc<Channel>,
}

impl Calls {
    pub(crate) fn new(channel: Channel) -> Calls {
        Calls { grpc: tonic::client::Grpc::new(channel) }
    }

    /// Limits what is received: a longer message ends its call.
    pub(crate) fn max_decoding_message_size(self, bytes: usize) -> Calls {
        Calls { grpc: self.grpc.max_decoding_message_size(bytes) }
    }

    /// One message for one message.
    pub(crate) async fn unary<Q, A>(&mut self, path: &'static str, request: Request<Q>) -> Result<Response<A>, Status>
    where
        Q: Message + 'static,
        A: Message + Default,
    {
        answer(self.ask(path, request.map(once)).await?)
    }

    /// One message for many.
    pub(crate) async fn server_streaming<Q, A>(
        &mut self,
        path: &'static str,
        request: Request<Q>,
    ) -> Result<Response<Messages<A>>, Status>
    where
        Q: Message + 'static,
        A: Message + Default,
    {
        Ok(self.ask_for_many(path, request.map(once)).await?.map(Messages::new))
    }

    /// Many messages for one.
    pub(crate) async fn client_streaming<S, A>(
        &mut self,
        path: &'static str,
        request: Request<S>,
    ) -> Result<Response<A>, Status>
    where
        S: Stream<Item: Message + 'static> + Send + 'static,
        A: Message + Default,
    {
        answer(self.ask(path, request.map(many)).await?)
    }

    /// Many messages for many.
    pub(crate) async fn streaming<S, A>(
        &mut self,
        path: &'static str,
        request: Request<S>,
    ) -> Result<Response<Messages<A>>, Status>
    where
        S: Stream<Item: Message + 'static> + Send + 'static,
        A: Message + Default,
    {
        Ok(self.ask_for_many(path, request.map(many)).await?.map(Messages::new))
    }

    // Behind pointers, and so compiled here: an asynchronous function is compiled where somebody awaits it.

    fn ask(&mut self, path: &'static str, requests: Request<Requests>) -> Reply<'_, Bytes> {
        Box::pin(async move {
            self.ready().await?;
            self.grpc.client_streaming(requests, PathAndQuery::from_static(path), BytesCodec).await
        })
    }

    fn ask_for_many(&mut self, path: &'static str, requests: Request<Requests>) -> Reply<'_, Streaming<Bytes>> {
        Box::pin(async move {
            self.ready().await?;
            self.grpc.streaming(requests, PathAndQuery::from_static(path), BytesCodec).await
        })
    }

    async fn ready(&mut self) -> Result<(), Status> {
        self.grpc.ready().await.map_err(|error| Status::unknown(format!("Service was not ready: {error}")))
    }
}

fn answer<A: Message + Default>(response: Response<Bytes>) -> Result<Response<A>, Status> {
    let (metadata, bytes, extensions) = response.into_parts();
    Ok(Response::from_parts(metadata, decoded(bytes)?, extensions))
}

fn once<Q: Message + 'static>(request: Q) -> Requests {
    Box::pin(tokio_stream::once(Box::new(request) as Outgoing))
}

fn many<S>(requests: S) -> Requests
where
    S: Stream<Item: Message + 'static> + Send + 'static,
{
    Box::pin(requests.map(|request| Box::new(request) as Outgoing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::FileHashTable;

    /// Bytes that are no message.
    struct Garbage;

    impl Encode for Garbage {
        fn encode_into(&self, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
            prost::bytes::BufMut::put_slice(buffer, &[0xff; 3]);
            Ok(())
        }
    }

    #[tokio::test]
    async fn messages_arrive_as_they_were_sent_and_nothing_comes_after_one_that_cannot_be_decoded() {
        let sent = |bytes: &[u8]| Box::new(FileHashTable { md5: bytes.into(), ..FileHashTable::default() });
        let outgoing: [Outgoing; 4] = [sent(&[7; 9]), sent(&[]), Box::new(Garbage), sent(&[9])];
        let encoded =
            tonic::codec::EncodeBody::new_client(BytesCodec, tokio_stream::iter(outgoing).map(Ok), None, None);
        let mut messages: Messages<FileHashTable> =
            Messages::new(Streaming::new_request(BytesCodec, encoded, None, None));
        assert_eq!(messages.message().await.unwrap().unwrap().md5, [7; 9]);
        assert_eq!(messages.message().await.unwrap().unwrap().md5, [0; 0], "an empty message is a message");
        assert_eq!(messages.message().await.unwrap_err().code(), tonic::Code::Internal);
        assert!(messages.message().await.unwrap().is_none());
    }
}
