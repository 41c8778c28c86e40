//! Tasks of the runtime, compiled once.

use tokio::task::JoinHandle;

/// Begins a task. Its type is erased: the runtime's code for a task, some thousand lines, would be there for each type of task.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    begin(Box::pin(task))
}

fn begin(task: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>) -> JoinHandle<()> {
    tokio::spawn(task)
}
