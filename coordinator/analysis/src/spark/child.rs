//! The program `cognate-spark`, and how it is asked.
//!
//! It is started with a task and a folder. A line on its output is `progress STAGE DONE TOTAL`, or at the end `done KEPT POSTINGS`
//! or `joined LINKS POSTINGS`. The
//! last line that it writes on its error output is the reason of a failure. Its input stays open and empty; `cancel` there asks it to stop
//! and to remove everything, the end of the input to stop and to leave what is published.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use cognate_proto::name::one_line;

use crate::error::Error;
use crate::spec::{AnalysisPhase, ScanJob};

/// Time between looks at whether the scan is cancelled.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// Time for the program to end by itself once it is asked to.
const GRACE: Duration = Duration::from_secs(60);
/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 4096;

/// The end of the program.
pub(super) enum ChildExit {
    /// It left a run with `kept` postings of all.
    Grouped { kept: u64, postings: u64 },
    /// It left an analysis of all postings, and its links.
    Joined { links: u64, postings: u64 },
    /// It failed, for this reason.
    Failed(String),
    /// It was asked to stop.
    Stopped,
}

/// Runs the program until it ends, or the scan is cancelled.
pub(super) fn run(program: &Path, task: &str, folder: &Path, scan: &ScanJob) -> Result<ChildExit, Error> {
    let mut command = Command::new(program);
    command.arg(task).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        Error::Refused(format!(
            "Spark: the program `{}` cannot be started: {error}: install it, and name it as `spark.program` in the configuration",
            program.display()
        ))
    })?;
    let reason = Mutex::new(String::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let done = std::thread::scope(|scope| {
        let (lines, heard) = channel();
        scope.spawn(move || {
            out.into_iter().for_each(|out| each_line(out, |line| drop(lines.send(line))));
        });
        scope.spawn(|| {
            err.into_iter().for_each(|err| {
                each_line(err, |line| *reason.lock().expect("nothing panics while it is held") = line);
            });
        });
        let mut done = None;
        loop {
            match heard.recv_timeout(LOOK_INTERVAL) {
                Ok(line) => done = done.or(understood(&line, scan)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return done,
            }
            if scan.cancelled.load(Ordering::Relaxed) {
                stop(&mut child, scan.halted.load(Ordering::Relaxed));
                return None;
            }
        }
    });
    let status = child.wait().map_err(Error::state(program))?;
    if scan.cancelled.load(Ordering::Relaxed) {
        return Ok(ChildExit::Stopped);
    }
    match done {
        Some(done) if status.success() => Ok(done),
        _ => {
            let reason = reason.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            Ok(ChildExit::Failed(if reason.is_empty() {
                format!("`{}` ended with {status}", program.display())
            } else {
                reason
            }))
        }
    }
}

/// Asks the program to stop, and ends it if it does not.
fn stop(child: &mut Child, keeps: bool) {
    if let Some(mut input) = child.stdin.take()
        && !keeps
    {
        let _ = input.write_all(b"cancel\n");
    }
    let asked = Instant::now();
    while asked.elapsed() < GRACE {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    tracing::warn!("`cognate-spark` did not end when it was asked to");
    let _ = child.kill();
}

/// Hands over each line, cut where it is too long, as one for people.
fn each_line(from: impl Read, mut each: impl FnMut(String)) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                if !text.trim().is_empty() {
                    each(one_line(text.trim()));
                }
            }
        }
    }
}

/// Reports progress; returns the end that the last line tells of.
fn understood(line: &str, scan: &ScanJob) -> Option<ChildExit> {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["progress", stage, done, total] => {
            let phase = match *stage {
                "export" => AnalysisPhase::Exporting,
                "group" => AnalysisPhase::Grouping,
                _ => AnalysisPhase::Fetching,
            };
            (scan.progress)(phase, done.parse().unwrap_or(0), total.parse().unwrap_or(0));
            None
        }
        ["joins", place] => {
            tracing::info!(place = %place, "Spark: where the engine joins");
            None
        }
        ["done", kept, postings] => {
            Some(ChildExit::Grouped { kept: kept.parse().ok()?, postings: postings.parse().ok()? })
        }
        ["joined", links, postings] => {
            Some(ChildExit::Joined { links: links.parse().ok()?, postings: postings.parse().ok()? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;
    use std::sync::Arc;

    use cognate_proto::name::ScanId;
    use cognate_proto::options::ScanOptions;

    use super::*;
    use crate::spec::{AnalysisLimits, ScanSpec};

    type Step = (AnalysisPhase, u64, u64);

    /// A program of these lines of shell, and the phases that it reported.
    fn run_lines(lines: &str, cancelled: bool, halted: bool) -> (Result<ChildExit, Error>, Vec<Step>, PathBuf) {
        let folder = tempfile::tempdir().unwrap().keep();
        let program = folder.join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{lines}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let places = ["paris", "tokyo"].map(|site| (site.parse().unwrap(), "kb".parse().unwrap()));
        let options = ScanOptions { repositories: places.to_vec(), ..ScanOptions::default() };
        let one = std::num::NonZeroUsize::MIN;
        let limits = AnalysisLimits { memory_budget_bytes: 64 << 20, pairs_max: 0, threads: one };
        let mut scan = ScanJob::unwatched(ScanId(1), ScanSpec::new(options, &limits).unwrap());
        let phases = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&phases);
        scan.progress = Box::new(move |phase, done, total| seen.lock().unwrap().push((phase, done, total)));
        scan.cancelled.store(cancelled, Ordering::Relaxed);
        scan.halted.store(halted, Ordering::Relaxed);
        let ended = run(&program, "group", &folder, &scan);
        drop(scan);
        let phases = phases.lock().unwrap().clone();
        (ended, phases, folder)
    }

    #[test]
    fn progress_and_figures_of_the_program_are_understood() {
        let lines = "[ $1 = group ] && [ -d $2 ] || exit 9\necho progress export 1 2\necho noise\necho progress group 0 7\necho \
                     progress fetch 3 3\necho done 5 12";
        let (ended, phases, folder) = run_lines(lines, false, false);
        assert!(matches!(ended, Ok(ChildExit::Grouped { kept: 5, postings: 12 })));
        let expected =
            [(AnalysisPhase::Exporting, 1, 2), (AnalysisPhase::Grouping, 0, 7), (AnalysisPhase::Fetching, 3, 3)];
        assert_eq!(phases, expected);
        std::fs::remove_dir_all(folder).unwrap();
        let (ended, _, folder) = run_lines("echo joins workers\necho joined 7 12", false, false);
        assert!(matches!(ended, Ok(ChildExit::Joined { links: 7, postings: 12 })));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_last_line_of_errors_is_the_reason_as_one_line_and_figures_of_a_failure_do_not_count() {
        for (lines, expected) in [
            (
                "echo first >&2; printf 'the \\033[31mexchange is damaged\\n' >&2; exit 1",
                "the \\u{1b}[31mexchange is damaged",
            ),
            ("echo done 5 12; echo it broke >&2; exit 1", "it broke"),
            ("exit 3", "exit status: 3"),
            ("exit 0", "exit status: 0"),
            ("kill -9 $$", "signal: 9"),
        ] {
            let (ended, _, folder) = run_lines(lines, false, false);
            let Ok(ChildExit::Failed(reason)) = ended else { panic!("{lines}") };
            let shown = expected.replace("\\u{1b}", " ");
            assert!(reason.contains(expected) || reason.contains(&shown), "{lines}: {reason}");
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn a_program_that_is_to_stop_hears_whether_it_may_leave_anything() {
        for (halted, expected) in [(false, "cancel"), (true, "")] {
            let (ended, _, folder) = run_lines("read line; echo \"$line\" > $2/heard; exit 75", true, halted);
            assert!(matches!(ended, Ok(ChildExit::Stopped)));
            assert_eq!(std::fs::read_to_string(folder.join("heard")).unwrap().trim(), expected);
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_the_cure() {
        let limits =
            AnalysisLimits { memory_budget_bytes: 64 << 20, pairs_max: 0, threads: std::num::NonZeroUsize::MIN };
        let options =
            ScanOptions { repositories: vec![("a".parse().unwrap(), "b".parse().unwrap())], ..ScanOptions::default() };
        let scan = ScanJob::unwatched(ScanId(1), ScanSpec::new(options, &limits).unwrap());
        let error = run(Path::new("/nowhere/cognate-spark"), "group", Path::new("/"), &scan).err().unwrap().to_string();
        assert!(error.contains("/nowhere/cognate-spark") && error.contains("`spark.program`"), "{error}");
    }
}
