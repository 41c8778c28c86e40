//! A query about contents: a site keeps where they are for the next query of the scan, and not for ever.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::runtime::Handle;

use super::site::Site;

/// Without another query for so long after one has ended, a site forgets where its contents are, and reads it again for the next one.
const NEXT_QUERY_WITHIN: Duration = Duration::from_secs(60);

/// A query that runs. It ends when this is dropped, whether it was answered or not.
pub(super) struct ContentQuery {
    site: Arc<Site>,
    /// The number of queries that have begun with this one.
    number: u64,
}

impl ContentQuery {
    pub(super) fn begin(site: &Arc<Site>) -> ContentQuery {
        let number = site.content_queries.fetch_add(1, Ordering::Relaxed) + 1;
        ContentQuery { site: Arc::clone(site), number }
    }
}

impl Drop for ContentQuery {
    fn drop(&mut self) {
        // Without a runtime, the process is about to end.
        let Ok(runtime) = Handle::try_current() else { return };
        let (site, number) = (Arc::downgrade(&self.site), self.number);
        runtime.spawn(async move {
            tokio::time::sleep(NEXT_QUERY_WITHIN).await;
            let Some(site) = site.upgrade() else { return };
            if site.content_queries.load(Ordering::Relaxed) == number {
                // Large memory takes time to be given back.
                tokio::task::spawn_blocking(move || site.syncs.forget_files());
            }
        });
    }
}
