//! The work of a daemon besides its sessions: scheduled syncs and the renewal of the certificate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_proto::name::RepositoryName;
use tokio::time::Instant;

use super::dialer::Dialer;
use super::handle::Daemon;
use super::renewal::Renewal;

/// Longest interval between two checks.
const CHECK_INTERVAL_MAX: Duration = Duration::from_secs(30);
const CHECK_INTERVAL_MIN: Duration = Duration::from_millis(500);

/// Checks the schedule and the certificate again and again.
pub(super) async fn run_schedule<D: Dialer>(
    daemon: Arc<Daemon>,
    dialer: Arc<Mutex<D>>,
    schedule: Vec<(RepositoryName, Duration)>,
) {
    let interval = check_interval(&schedule);
    let mut requested: HashMap<RepositoryName, Instant> = HashMap::new();
    let mut renewal = Renewal::default();
    loop {
        tokio::time::sleep(interval).await;
        let Some(connection) = daemon.connection() else { continue };
        renewal.check(&daemon, &dialer, &connection).await;
        for (repository, every) in &schedule {
            let is_new = requested.get(repository).is_none_or(|last| last.elapsed() >= *every);
            if is_new && !daemon.site.pace.is_paused() && daemon.is_due(repository, *every) {
                requested.insert(repository.clone(), Instant::now());
                // The status shows the outcome of the syncs.
                if let Err(error) = daemon.request_syncs(repository, false) {
                    tracing::warn!(%error, %repository, "a scheduled sync cannot be done");
                }
            }
        }
    }
}

/// Half of the shortest interval of the schedule, within limits.
fn check_interval(schedule: &[(RepositoryName, Duration)]) -> Duration {
    let shortest = schedule.iter().map(|(_, every)| *every / 2).min().unwrap_or(CHECK_INTERVAL_MAX);
    shortest.clamp(CHECK_INTERVAL_MIN, CHECK_INTERVAL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_interval_of_the_schedule_decides_on_the_checks() {
        let check = |seconds: &[u64], expected: Duration| {
            let every = |seconds: &u64| (RepositoryName::main(), Duration::from_secs(*seconds));
            let schedule: Vec<_> = seconds.iter().map(every).collect();
            assert_eq!(check_interval(&schedule), expected, "{seconds:?}");
        };
        check(&[], CHECK_INTERVAL_MAX);
        check(&[3600], CHECK_INTERVAL_MAX);
        check(&[3600, 10], Duration::from_secs(5));
        check(&[0], CHECK_INTERVAL_MIN);
    }
}
