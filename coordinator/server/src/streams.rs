//! Answers that are streams: no thread waits for their readers, and their number is limited.
//!
//! A producer that takes a while writes to a [`spool`], which the stream reads as far as its peer takes it. A stream
//! whose peer takes nothing for a minute ends with its connection. A person or a site has a few streams at a time.

mod outgoing;
mod slots;
pub mod spool;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tonic::{Request, Status};

pub use self::outgoing::Outgoing;
pub use self::slots::Slot;
use self::slots::Slots;
use self::spool::{SpoolReader, SpoolWriter, Spools};
use crate::connection::Connection;
use crate::error::Error;
use crate::identity::{Identity, Operator};
use crate::tasks::spawn;

/// The streams of all peers.
pub struct Streams {
    slots: Arc<Slots>,
    spools: Spools,
}

/// A stream that may begin.
pub(crate) struct Opening {
    slot: Slot,
    connection: Option<Arc<Notify>>,
}

impl Streams {
    /// No streams yet. Long answers are written to this folder, and end when less than the reserve is free there.
    ///
    /// # Errors
    /// Fails if the folder cannot be used.
    pub(crate) fn new(folder: PathBuf, disk_reserve_bytes: u64) -> Result<Streams, Error> {
        Ok(Streams { slots: Arc::default(), spools: Spools::new(folder, disk_reserve_bytes)? })
    }

    /// Lets the caller of a method begin a stream.
    ///
    /// # Errors
    /// Fails if the caller, or the address that it calls from, has too many.
    pub(crate) fn open<T>(&self, request: &Request<T>) -> Result<Opening, Status> {
        let connection = request.extensions().get::<Connection>();
        let slot = match request.extensions().get::<Identity>() {
            Some(Identity::Operator(operator)) => {
                self.slots.take(operator.name.as_str(), connection.and_then(|connection| connection.from))
            }
            // One address may stand for many sites.
            Some(Identity::Site { name, .. }) => self.slots.take(name.as_str(), None),
            Some(Identity::Anyone) | None => return Err(Status::unauthenticated("the connection is not a member's")),
        }?;
        Ok(Opening { slot, connection: connection.map(|connection| Arc::clone(&connection.end)) })
    }

    /// Lets a person begin a stream on a page.
    ///
    /// # Errors
    /// Fails if the person has too many.
    pub fn open_page(&self, operator: &Operator) -> Result<Slot, Status> {
        self.slots.take(operator.name.as_str(), None)
    }

    /// The output of `produce`, which never waits for the reader.
    pub fn spooled(&self, produce: impl FnOnce(&mut SpoolWriter) -> Result<(), Error> + Send + 'static) -> SpoolReader {
        self.spools.begin(Box::new(produce))
    }
}

impl Opening {
    /// The stream of what is sent to the other end of this channel.
    pub(crate) fn stream<T: Send + 'static>(self, messages: mpsc::Receiver<Result<T, Status>>) -> Outgoing<T> {
        Outgoing::new(messages, self.slot, self.connection)
    }

    /// The stream of these rows.
    pub(crate) fn rows<T: Send + 'static>(
        self,
        rows: impl IntoIterator<Item = T, IntoIter: Send> + 'static,
    ) -> Outgoing<T> {
        let (sender, stream) = mpsc::channel(1);
        let rows = rows.into_iter();
        spawn(async move {
            for row in rows {
                if sender.send(Ok(row)).await.is_err() {
                    return;
                }
            }
        });
        self.stream(stream)
    }

    /// The stream of the messages in a spool.
    pub(crate) fn spool<T: prost::Message + Default + 'static>(self, reader: SpoolReader) -> Outgoing<T> {
        let (sender, stream) = mpsc::channel(1);
        spawn(forward(reader, sender));
        self.stream(stream)
    }
}

/// Sends the messages in a spool through a channel.
pub(crate) async fn forward<T: prost::Message + Default>(reader: SpoolReader, sender: mpsc::Sender<Result<T, Status>>) {
    let mut messages = reader.messages();
    while let Some(message) = messages.next().await {
        if sender.send(message).await.is_err() {
            return;
        }
    }
}
