//! Work that may wait for the disk, away from the threads that run tasks: there it would keep everything else waiting.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinHandle;

/// Does the work on a thread that may wait.
pub(crate) async fn off_tasks<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let result = Arc::new(Mutex::new(None));
    let given = Arc::clone(&result);
    let working = begin(Box::new(move || *given.lock().unwrap_or_else(PoisonError::into_inner) = Some(work())));
    if let Err(error) = working.await
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
    let result = result.lock().unwrap_or_else(PoisonError::into_inner).take();
    match result {
        Some(result) => result,
        // The runtime ends, and this task with it.
        None => std::future::pending().await,
    }
}

/// With the type of the work erased, so that the runtime's code for it is compiled once.
fn begin(work: Box<dyn FnOnce() + Send>) -> JoinHandle<()> {
    tokio::task::spawn_blocking(work)
}
