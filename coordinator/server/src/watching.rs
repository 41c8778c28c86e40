//! Looking after watches: they are asked again whenever an index is sealed, and receivers hear of new matches.

use std::sync::Arc;

use cognate_desk::watch::{Notice, Watches};
use cognate_proto::v1;

use crate::find::Finder;
use crate::metrics::Metrics;
use crate::session::Sessions;
use crate::webhook::Webhooks;

/// Whoever hears of new matches.
pub(crate) struct Watching {
    pub(crate) watches: Arc<Watches<Finder>>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) webhooks: Webhooks,
}

impl Watching {
    /// Searches for the watches for as long as it is polled.
    pub(crate) async fn run(&self) {
        loop {
            self.look_after_all().await;
            self.sessions.seals.notified().await;
        }
    }

    async fn look_after_all(&self) {
        let watches = match self.watches.all() {
            Ok(watches) => watches,
            Err(error) => return tracing::error!(%error, "watches cannot be checked"),
        };
        for watch in watches {
            match self.watches.look(&watch).await {
                Ok(notices) => notices.iter().for_each(|notice| self.notify(&watch, notice)),
                Err(error) => tracing::error!(watch = watch.name, %error, "a watch cannot be checked"),
            }
        }
    }

    fn notify(&self, watch: &v1::Watch, notice: &Notice) {
        let Notice { site, repository, new, precision, .. } = notice;
        let precision = precision.map(tracing::field::display);
        tracing::info!(watch = watch.name, site, repository, new, precision, "a watch found something new");
        self.metrics.watch_hits.inc_by(*new);
        if !watch.webhook.is_empty() {
            self.webhooks.notify(watch.webhook.clone(), notice.clone(), format!("watch {}", watch.name));
        }
    }
}
