//! Work that may wait for the disk, away from the threads that run tasks: there it would keep everything else waiting.

/// Does the work on a thread that may wait.
pub(crate) async fn off_tasks<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
