//! Progress of a scan on a terminal: a bar for each folder, then one for the comparison. Silent if there is no terminal.

use std::time::Duration;

use cognate_analysis::spec::AnalysisPhase;
use cognate_server::{RepositoryProgress, ScanProgress};
use indicatif::{DecimalBytes, HumanCount, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bars of one scan.
pub(crate) struct Bars {
    all: MultiProgress,
    repositories: Vec<(String, ProgressBar)>,
    analysis: ProgressBar,
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
        Bars { all, repositories, analysis }
    }

    /// Shows the progress of the scan.
    pub(crate) fn show(&self, progress: &ScanProgress) {
        for ((name, bar), repository) in self.repositories.iter().zip(&progress.repositories) {
            show_repository(name, bar, repository);
        }
        let Some((phase, done, total)) = progress.analysis else { return };
        if let Some(waiting) = &progress.waiting {
            self.analysis.set_style(style("{prefix}"));
            self.analysis.set_prefix(waiting.clone());
            return self.analysis.tick();
        }
        let what = match phase {
            AnalysisPhase::Freezing => "putting documents together",
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

fn show_repository(name: &str, bar: &ProgressBar, repository: &RepositoryProgress) {
    let read = DecimalBytes(repository.read_bytes);
    let done = HumanCount(repository.documents_done);
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
            bar.set_message(format!("{done} of {} documents, {read} read", HumanCount(repository.entries_seen)));
        }
        None => {
            bar.set_style(style("{prefix:<20} {spinner} {msg}"));
            bar.set_message(format!("{done} documents, {read} read, still looking"));
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates above are well formed")
}
