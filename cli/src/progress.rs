//! Progress of a scan on a terminal: a bar for each folder, then one for the comparison. Silent if there is no terminal.

use std::time::{Duration, Instant};

use cognate_analysis::spec::AnalysisPhase;
use cognate_server::{RepositoryProgress, ScanProgress};
use indicatif::{
    DecimalBytes, HumanCount, HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle,
};

/// The speed and the time left of the first seconds are a guess that nobody needs.
const SPEED_AFTER: Duration = Duration::from_secs(2);

/// The bars of one scan.
pub(crate) struct Bars {
    all: MultiProgress,
    repositories: Vec<(String, ProgressBar)>,
    analysis: ProgressBar,
    begun: Instant,
}

impl Bars {
    /// Makes bars for repositories of these names. They are drawn on standard error, if that is a terminal.
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Bars {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let repositories = names
            .into_iter()
            .map(|name| {
                let bar = all.add(ProgressBar::new_spinner());
                bar.enable_steady_tick(Duration::from_millis(100));
                (name, bar)
            })
            .collect();
        let analysis = all.add(ProgressBar::new_spinner());
        Bars { all, repositories, analysis, begun: Instant::now() }
    }

    /// Shows the progress of the scan.
    pub(crate) fn show(&self, progress: &ScanProgress) {
        for ((name, bar), repository) in self.repositories.iter().zip(&progress.repositories) {
            show_repository(name, bar, repository, self.begun.elapsed());
        }
        let named = self.repositories.iter().map(|(name, _)| name.as_str()).zip(&progress.repositories);
        let waits = |(name, repository): (&str, &RepositoryProgress)| {
            (!repository.waiting.is_empty())
                .then(|| format!("waits for finer chunks of {name}: {}", repository.waiting))
        };
        if let Some(waiting) = progress.waiting.clone().or_else(|| named.clone().find_map(waits)) {
            self.analysis.set_style(style("{prefix}"));
            self.analysis.set_prefix(waiting);
            return self.analysis.tick();
        }
        let Some((phase, done, total)) = progress.analysis else { return };
        let chunks =
            |of: fn(&RepositoryProgress) -> u64| named.clone().map(|(_, repository)| of(repository)).sum::<u64>();
        let (fine_chunks, fine_done) = (chunks(|one| one.fine_chunks), chunks(|one| one.fine_chunks_done));
        if phase == AnalysisPhase::Comparing && fine_done < fine_chunks {
            self.analysis.set_style(style("{prefix:<20} {bar:30} {percent:>3} %"));
            self.analysis.set_length(fine_chunks);
            self.analysis.set_position(fine_done);
            self.analysis.set_prefix("asking for details");
            return self.analysis.tick();
        }
        let what = match phase {
            AnalysisPhase::Freezing => "putting documents together",
            AnalysisPhase::Exporting => "writing chunks for Spark",
            AnalysisPhase::Grouping => "the Spark cluster works",
            AnalysisPhase::Fetching => "reading what Spark returns",
            AnalysisPhase::Comparing => "comparing",
            AnalysisPhase::Publishing => "writing the result",
        };
        if total > 0 {
            self.analysis.set_style(style("{prefix:<20} {bar:30} {percent:>3} %"));
            self.analysis.set_length(total);
            self.analysis.set_position(done);
        }
        self.analysis.set_prefix(what);
        self.analysis.tick();
    }

    /// Removes the bars, so that later output has the terminal to itself.
    pub(crate) fn clear(&self) {
        // Errors are ignored: progress is not essential.
        let _ = self.all.clear();
    }
}

fn show_repository(name: &str, bar: &ProgressBar, repository: &RepositoryProgress, elapsed: Duration) {
    let read = DecimalBytes(repository.read_bytes);
    let speed = Speed::of(repository, elapsed);
    // A sync that begins anew counts some documents once more.
    let most = if repository.walk_finished { repository.entries_seen } else { u64::MAX };
    let done = HumanCount(repository.documents_done.min(most));
    bar.set_prefix(name.to_owned());
    match &repository.ended {
        Some(Ok(())) => bar.finish_with_message(format!("{done} documents, {read} read")),
        Some(Err(reason)) => bar.abandon_with_message(reason.clone()),
        None if !repository.attached => {
            bar.set_style(style("{prefix:<20} {spinner} {msg}"));
            bar.set_message(format!("{done} documents, {read} read, waiting for the site"));
        }
        None if repository.walk_finished => {
            bar.set_style(style("{prefix:<20} {bar:30} {msg}"));
            bar.set_length(repository.entries_seen);
            bar.set_position(repository.documents_done);
            let all = HumanCount(repository.entries_seen);
            bar.set_message(format!(
                "{done} of {all} documents, {read} read{}",
                speed.map(in_words).unwrap_or_default()
            ));
        }
        None => {
            bar.set_style(style("{prefix:<20} {spinner} {msg}"));
            let speed = speed.map(|speed| in_words(Speed { left: None, ..speed }));
            bar.set_message(format!("{done} documents, {read} read{}, still looking", speed.unwrap_or_default()));
        }
    }
}

/// The speed of reading a repository, and the time until all of it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Speed {
    bytes_per_second: u64,
    /// Nothing where it cannot be known yet.
    left: Option<Duration>,
}

impl Speed {
    /// Documents that are left take as long as those that are done, and the rest of open files as long as what was read: a single large
    /// file has a time left as well.
    fn of(repository: &RepositoryProgress, elapsed: Duration) -> Option<Speed> {
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        if elapsed < SPEED_AFTER || repository.read_bytes == 0 {
            return None;
        }
        let RepositoryProgress { entries_seen, documents_done, read_bytes, open_bytes, .. } = *repository;
        let open_documents = u64::from(open_bytes > 0);
        let waiting = entries_seen.saturating_sub(documents_done + open_documents);
        // Milliseconds for so much of a kind, where `done` of it took all the time until now.
        let time_of = |rest: u64, done: u64| match (rest, done) {
            (0, _) => Some(0),
            (_, 0) => None,
            (rest, done) => u64::try_from(u128::from(elapsed_ms) * u128::from(rest) / u128::from(done)).ok(),
        };
        let left = time_of(waiting, documents_done).zip(time_of(open_bytes, read_bytes));
        Some(Speed {
            bytes_per_second: read_bytes.saturating_mul(1000) / elapsed_ms,
            left: left.map(|(documents, open)| Duration::from_millis(documents.max(open))),
        })
    }
}

fn in_words(speed: Speed) -> String {
    let Speed { bytes_per_second, left } = speed;
    let left = left.map(|left| format!(", {} left", HumanDuration(left))).unwrap_or_default();
    format!(", {}/s{left}", DecimalBytes(bytes_per_second))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates above are well formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(numbers: [u64; 4], seconds: u64) -> Option<(u64, Option<u64>)> {
        let [entries_seen, documents_done, read_bytes, open_bytes] = numbers;
        let progress = RepositoryProgress {
            entries_seen,
            documents_done,
            read_bytes,
            open_bytes,
            ..RepositoryProgress::default()
        };
        let speed = Speed::of(&progress, Duration::from_secs(seconds))?;
        Some((speed.bytes_per_second, speed.left.map(|left| left.as_secs())))
    }

    #[test]
    fn a_single_large_file_has_a_speed_and_a_time_left() {
        assert_eq!(speed([1, 0, 300, 1200], 3), Some((100, Some(12))));
    }

    #[test]
    fn many_documents_take_as_long_as_those_before_them() {
        assert_eq!(speed([1000, 250, 5000, 0], 10), Some((500, Some(30))));
        assert_eq!(speed([1000, 250, 5000, 20_000], 10), Some((500, Some(40))), "the open file takes longer");
    }

    #[test]
    fn nobody_knows_the_end_before_anything_is_done() {
        assert_eq!(speed([10, 0, 0, 100], 10), None);
        assert_eq!(speed([10, 0, 5, 100], 1), None);
        assert_eq!(speed([10, 0, 500, 100], 5), Some((100, None)));
        assert_eq!(speed([10, 10, 500, 0], 5), Some((100, Some(0))));
    }
}
