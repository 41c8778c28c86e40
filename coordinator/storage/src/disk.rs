//! Work that waits for the disk. No task of the runtime does any: a thread that waits for a disk serves nobody meanwhile.
//!
//! The threads of the runtime for such work are limited (512), so each kind of work has its places among them, and more
//! of a kind waits for a place of its kind. Pushes are the kind of which there may be thousands. Administrative changes
//! have threads of their own: they wait for nothing but the journal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use crate::error::Error;

/// Pushes that wait for the disk at a time. More would not make a disk faster.
const PUSHES_AT_ONCE: usize = 64;
/// Administrative changes at a time; each waits for one record, one after the other.
const CHANGES_AT_ONCE: usize = 32;

/// The places of each kind of work.
pub struct DiskPlaces {
    pushes: Arc<Semaphore>,
    changes: Arc<Semaphore>,
}

impl Default for DiskPlaces {
    fn default() -> DiskPlaces {
        DiskPlaces {
            pushes: Arc::new(Semaphore::new(PUSHES_AT_ONCE)),
            changes: Arc::new(Semaphore::new(CHANGES_AT_ONCE)),
        }
    }
}

impl DiskPlaces {
    /// Does a part of a push.
    ///
    /// # Errors
    /// Fails if it panics.
    pub async fn push<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let place = Arc::clone(&self.pushes).acquire_owned().await.expect("it is never closed");
        off_tasks(move || {
            // Until it is over, also if nobody waits for it any more.
            let _place = place;
            work()
        })
        .await
    }

    /// Makes an administrative change, on a thread that nothing else can occupy.
    ///
    /// # Errors
    /// Fails if it fails, panics, or the system has no thread.
    pub async fn change<T: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let place = Arc::clone(&self.changes).acquire_owned().await.expect("it is never closed");
        let (done, result) = oneshot::channel();
        let runtime = Handle::current();
        let change: Work = Box::new(move || {
            let _place = place;
            // A change may begin a task, as a launch does.
            let _runtime = runtime.enter();
            // Nobody waits for it any more: it was made all the same.
            let _ = done.send(work());
        });
        let started = std::thread::Builder::new().name("change".to_owned()).spawn(change);
        started.map_err(|error| Error::Refused(format!("the system has no thread for it: {error}")))?;
        result.await.map_err(|_| Error::Crashed)?
    }
}

/// Does other work that waits for the disk.
///
/// # Errors
/// Fails if it fails or panics.
pub async fn blocking<T: Send + 'static, E: From<Error> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    off_tasks(work).await?
}

/// Work whose type is erased: the runtime's and the thread's code for it are compiled once, and not for each kind of work.
type Work = Box<dyn FnOnce() + Send>;

/// Begins work on a thread that may wait; the future is its result.
///
/// # Errors
/// Fails if it panics.
pub fn off_tasks<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, Error>> + Send + 'static {
    let result = Arc::new(Mutex::new(None));
    let given = Arc::clone(&result);
    let working = begin(Box::new(move || *lock(&given) = Some(work())));
    async move {
        working.await.map_err(|_| Error::Crashed)?;
        let result = lock(&result).take();
        result.ok_or(Error::Crashed)
    }
}

fn begin(work: Work) -> JoinHandle<()> {
    tokio::task::spawn_blocking(work)
}

fn lock<T>(result: &Mutex<T>) -> MutexGuard<'_, T> {
    result.lock().unwrap_or_else(PoisonError::into_inner)
}
