//! What is kept between runs: only what changed is read, and nothing that happens to the state or to the process makes
//! a result wrong.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::dice::seed;
use cognate_integration_tests::sandbox::{compare_args, contents, copy, names, wait_until};
use cognate_integration_tests::tree::{edited, varied};
use cognate_integration_tests::{Corpus, Dice, Files, Rules, Run, Sandbox};
use rustix::process::Signal;
use serde_json::Value;

/// Two sites with a state folder beside them.
struct Kept {
    sandbox: Sandbox,
    dice: Dice,
    a: PathBuf,
    b: PathBuf,
    state: String,
}

impl Kept {
    fn new(own_seed: u64, documents: usize) -> Kept {
        let seed = seed(own_seed);
        let mut dice = Dice::new(seed);
        let trees = varied(&mut dice, 2, documents);
        Kept::of(Sandbox::seeded(seed), dice, &trees)
    }

    /// So many documents of so many bytes: enough work to be interrupted.
    fn long(own_seed: u64, documents: usize, size_bytes: usize) -> Kept {
        let seed = seed(own_seed);
        let mut dice = Dice::new(seed);
        let mut trees = [Files::new(), Files::new()];
        for number in 0..documents {
            let content = dice.bytes(size_bytes);
            trees[number % 2].insert(format!("d{}/{number}", number % 7), content.clone());
            if number % 5 == 0 {
                trees[1 - number % 2].insert(format!("edited/{number}"), edited(&mut dice, content));
            }
        }
        Kept::of(Sandbox::seeded(seed), dice, &trees)
    }

    fn of(sandbox: Sandbox, dice: Dice, trees: &[Files]) -> Kept {
        let (a, b) = (sandbox.tree("a", &trees[0]), sandbox.tree("b", &trees[1]));
        let state = sandbox.path("state").to_str().unwrap().to_owned();
        sandbox.settle();
        Kept { sandbox, dice, a, b, state }
    }

    fn folders(&self) -> [(&str, &Path); 2] {
        [("a", &self.a), ("b", &self.b)]
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["--state", &self.state], more].concat()
    }

    /// A run with the state.
    fn run(&self, more: &[&str]) -> Run {
        self.sandbox.compare(&self.folders(), &self.args(more))
    }

    /// A run without any.
    fn fresh(&self, more: &[&str]) -> Value {
        self.sandbox.report(&self.folders(), more)
    }

    /// A run with the state whose report is that of a fresh run, and which reads just so many documents.
    #[track_caller]
    fn check_reads(&self, documents: u64, bytes: u64) {
        let report = self.run(&[]).report();
        assert_eq!(comparable(&report), comparable(&self.fresh(&[])));
        assert_eq!(reads(&report), (documents, bytes));
    }

    /// Starts a run with the state.
    fn start(&self, more: &[&str]) -> cognate_integration_tests::Running {
        self.sandbox.start(compare_args(&self.folders(), &[&self.args(more)[..], &["--format", "json"]].concat()))
    }
}

/// Documents and bytes that a run has read.
fn reads(report: &Value) -> (u64, u64) {
    let sites = report["scan"]["run"]["sites"].as_array().unwrap();
    let sum = |name: &str| sites.iter().map(|site| site[name].as_u64().unwrap()).sum();
    (sum("read_documents"), sum("read_bytes"))
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

#[test]
fn a_second_run_reads_nothing_and_says_the_same() {
    let kept = Kept::new(21, 200);
    let first = kept.run(&[]).report();
    let bytes: u64 = first["sites"].as_array().unwrap().iter().map(|site| site["bytes"].as_u64().unwrap()).sum();
    assert_eq!(reads(&first), (200, bytes));
    kept.check_reads(0, 0);
    kept.check_reads(0, 0);
    // Other thresholds are another question about the same documents.
    let other = kept.run(&["--min-containment", "0.9", "--across-only"]).report();
    assert_eq!(reads(&other), (0, 0));
    assert_eq!(comparable(&other), comparable(&kept.fresh(&["--min-containment", "0.9", "--across-only"])));
}

#[test]
fn only_what_was_added_or_changed_is_read_again() {
    let mut kept = Kept::new(22, 120);
    kept.run(&[]).report();
    let files: Vec<PathBuf> = contents(&kept.a)
        .into_iter()
        .filter(|(_, bytes)| bytes.len() > 10)
        .map(|(path, _)| kept.a.join(path))
        .collect();
    let mut read = Vec::new();
    for path in &files[..3] {
        let content = std::fs::read(path).unwrap();
        std::fs::write(path, edited(&mut kept.dice, content)).unwrap();
        read.push(path.clone());
    }
    for (name, size_bytes) in [("new-1", 5000), ("deep/er/new-2", 0)] {
        let path = kept.b.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, kept.dice.bytes(size_bytes)).unwrap();
        read.push(path);
    }
    std::fs::remove_file(&files[3]).unwrap();
    kept.sandbox.settle();
    kept.check_reads(5, read.iter().map(|path| length(path)).sum());
    kept.check_reads(0, 0);
}

#[test]
fn a_file_that_was_touched_is_read_again_and_nothing_else_changes() {
    let kept = Kept::new(23, 60);
    let first = kept.run(&[]).report();
    let (path, _) = contents(&kept.a).into_iter().next().unwrap();
    let path = kept.a.join(path);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    kept.sandbox.settle();
    kept.check_reads(1, length(&path));
    assert_eq!(
        kept.run(&[]).report()["clusters"].as_array().unwrap().len(),
        first["clusters"].as_array().unwrap().len()
    );
}

#[test]
fn new_content_of_the_same_size_with_its_old_time_is_not_missed() {
    let kept = Kept::new(24, 40);
    kept.run(&[]).report();
    let (path, bytes) = contents(&kept.b).into_iter().find(|(_, bytes)| bytes.len() > 1000).unwrap();
    let path = kept.b.join(path);
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    std::fs::write(&path, reversed).unwrap();
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
    kept.sandbox.settle();
    kept.check_reads(1, length(&path));
}

#[test]
fn a_moved_file_is_followed_and_a_removed_folder_is_gone() {
    let kept = Kept::new(25, 80);
    kept.run(&[]).report();
    let (path, _) = contents(&kept.a).into_iter().next().unwrap();
    std::fs::rename(kept.a.join(&path), kept.a.join("moved")).unwrap();
    std::fs::remove_dir_all(kept.b.join("d0")).unwrap();
    kept.sandbox.settle();
    let report = kept.run(&[]).report();
    assert_eq!(comparable(&report), comparable(&kept.fresh(&[])));
}

#[test]
fn another_mean_over_the_same_state_is_right_and_so_stays_the_first() {
    // Brute force counts whole chunks.
    const SMALL: [&str; 4] = ["--chunk-bytes", "200", "--precision", "coarse"];
    let kept = Kept::new(26, 100);
    let first = kept.run(&[]).report();
    let small = kept.run(&SMALL).report();
    assert_eq!(comparable(&small), comparable(&kept.fresh(&SMALL)));
    let corpus = Corpus::read(&kept.sandbox, &kept.folders(), 200);
    assert_eq!(small["overlap"], corpus.overlap(Rules::default()));
    for args in [&[][..], &SMALL] {
        let again = kept.run(args).report();
        assert_eq!(reads(&again), (0, 0), "{args:?}");
        assert_eq!(again["scan"]["digest"], if args.is_empty() { &first } else { &small }["scan"]["digest"]);
    }
}

#[test]
fn other_keys_over_the_same_state_do_not_mix() {
    let kept = Kept::new(27, 60);
    let first = kept.run(&[]).report();
    let key = kept.sandbox.path("key");
    std::fs::write(&key, "ab".repeat(32)).unwrap();
    let keyed = kept.run(&["--key", key.to_str().unwrap()]).report();
    assert_eq!(keyed["scan"]["keyed"], true);
    assert_eq!(keyed["scan"]["digest"], kept.fresh(&["--key", key.to_str().unwrap()])["scan"]["digest"]);
    assert_eq!(kept.run(&[]).report()["scan"]["digest"], first["scan"]["digest"]);
}

#[test]
fn without_a_sync_the_last_state_is_compared() {
    let kept = Kept::new(28, 60);
    let refused = kept.run(&["--no-sync"]).refusal(1);
    assert!(refused.contains("no sync of it has completed"), "{refused}");
    let first = kept.run(&[]).report();
    std::fs::write(kept.a.join("new"), "not looked at").unwrap();
    let last = kept.run(&["--no-sync"]).report();
    assert_eq!(comparable(&last), comparable(&first));
    kept.sandbox.settle();
    kept.check_reads(1, 13);
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_a_state_that_is_gone_on_from() {
    let mut kept = Kept::long(29, 160, 60_000);
    let undisturbed = kept.fresh(&[]);
    let began = Instant::now();
    kept.run(&[]).report();
    let whole = began.elapsed();
    std::fs::remove_dir_all(&kept.state).unwrap();
    for attempt in 0..8 {
        let share = u32::try_from(kept.dice.between(5, 95)).unwrap();
        let mut running = kept.start(&[]);
        running.ends_within(whole * share / 100);
        running.signal(Signal::KILL);
        let killed = running.ended();
        assert!(killed.signal == Some(9) || killed.code == Some(0), "{killed:?}");
        // Every other time the next attempt goes on from what two killed runs have left.
        if attempt % 2 == 1 {
            let report = kept.run(&[]).report();
            assert_eq!(report["scan"]["digest"], undisturbed["scan"]["digest"], "attempt {attempt}, {share} %");
            assert_eq!(comparable(&report), comparable(&undisturbed));
            std::fs::remove_dir_all(&kept.state).unwrap();
        }
    }
    // The same on top of a whole state, while a changed folder is brought up to date.
    kept.run(&[]).report();
    for attempt in 0..4 {
        let content = kept.dice.bytes(30_000);
        std::fs::write(kept.a.join(format!("added{attempt}")), content).unwrap();
        kept.sandbox.settle();
        let share = u32::try_from(kept.dice.between(5, 95)).unwrap();
        let mut running = kept.start(&[]);
        running.ends_within(whole * share / 100);
        running.signal(Signal::KILL);
        running.ended();
    }
    assert_eq!(comparable(&kept.run(&[]).report()), comparable(&kept.fresh(&[])));
    kept.check_reads(0, 0);
}

#[test]
fn an_interrupted_run_ends_with_130_and_leaves_nothing_behind() {
    let kept = Kept::long(30, 300, 200_000);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut running = kept.sandbox.start(compare_args(&kept.folders(), &["--threads", "1"]));
        wait_until("the coordinator has written much", || {
            let states = kept.sandbox.temporary_files();
            states.iter().any(|state| is_under_way(state)) || running.ends_within(Duration::ZERO)
        });
        running.signal(signal);
        let run = running.ended();
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stdout.is_empty(), "{run:?}");
        // A push that ends with its session is no fault.
        assert!(!run.stderr.contains("WARN"), "{run:?}");
        assert_eq!(kept.sandbox.temporary_files(), Vec::<PathBuf>::new(), "after {signal:?}");
    }
    let mut running = kept.start(&[]);
    wait_until("the coordinator has written much", || is_under_way(Path::new(&kept.state)));
    running.signal(Signal::INT);
    running.ended().expect(130);
    assert_eq!(comparable(&kept.run(&[]).report()), comparable(&kept.fresh(&[])));
}

/// Whether a run has got so far that its coordinator has taken in some batches.
fn is_under_way(state: &Path) -> bool {
    // Files may vanish between listing and looking.
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
    names(&state.join("coordinator/indexes")).iter().any(|path| size(path) > 32 << 10)
}

#[test]
fn a_run_that_is_interrupted_as_it_begins_leaves_nothing_behind_either() {
    let kept = Kept::long(36, 40, 100_000);
    for _ in 0..3 {
        let mut running = kept.sandbox.start(compare_args(&kept.folders(), &[]));
        wait_until("there is a temporary folder", || !kept.sandbox.temporary_files().is_empty());
        running.signal(Signal::INT);
        let run = running.ended();
        assert_eq!(kept.sandbox.temporary_files(), Vec::<PathBuf>::new(), "{run:?}");
        assert_eq!(run.code, Some(130), "{run:?}");
    }
}

#[test]
fn a_run_that_ends_leaves_no_temporary_files() {
    let kept = Kept::new(31, 30);
    kept.fresh(&[]);
    kept.run(&[]).report();
    kept.sandbox.cognate(["compare", "/nothing/here"]).refusal(1);
    assert_eq!(kept.sandbox.temporary_files(), Vec::<PathBuf>::new());
}

#[test]
fn a_folder_that_is_not_a_state_is_refused_and_left_as_it_was() {
    let kept = Kept::new(32, 10);
    let state = kept.sandbox.folder("state", &[("thesis.tex", b"ten years of work"), ("sub/conf", b"x")]);
    let before = contents(&state);
    let refused = kept.run(&[]).refusal(1);
    assert!(refused.contains("not empty") && refused.contains(state.to_str().unwrap()), "{refused}");
    assert_eq!(contents(&state), before);
    let file = state.join("thesis.tex");
    let refused = kept.sandbox.compare(&kept.folders(), &["--state", file.to_str().unwrap()]).refusal(1);
    assert!(refused.contains("thesis.tex"), "{refused}");
    assert_eq!(contents(&state), before);
    // What another version has made is not touched either.
    std::fs::remove_dir_all(&state).unwrap();
    let state = kept.sandbox.folder("state", &[("cognate-state", b"cognate compare state 2\n")]);
    let refused = kept.run(&[]).refusal(1);
    assert!(refused.contains("another version"), "{refused}");
    assert_eq!(contents(&state).len(), 1);
}

#[test]
fn a_second_process_on_the_same_state_is_refused() {
    let kept = Kept::long(33, 60, 100_000);
    let mut first = kept.start(&[]);
    wait_until("the first process holds the state", || !names(&Path::new(&kept.state).join("coordinator")).is_empty());
    first.signal(Signal::STOP);
    let refused = kept.run(&[]).refusal(1);
    assert!(refused.contains("another process"), "{refused}");
    first.signal(Signal::CONT);
    assert_eq!(comparable(&first.ended().report()), comparable(&kept.fresh(&[])));
}

#[test]
fn an_emptied_folder_is_taken_for_an_unmounted_one_until_something_is_put_into_it() {
    let kept = Kept::new(34, 40);
    let first = kept.run(&[]).report();
    std::fs::remove_dir_all(&kept.a).unwrap();
    std::fs::create_dir(&kept.a).unwrap();
    let run = kept.run(&[]).expect(3);
    assert!(run.stderr.contains("is it mounted"), "{run:?}");
    let report = run.json();
    assert_eq!(report["scan"]["status"], "partial");
    assert_eq!(report["scan"]["missing"][0]["site"], "a");
    kept.run(&["--require-complete"]).expect(1);
    // What was known of it is still there.
    assert_eq!(comparable(&kept.run(&["--no-sync"]).report()), comparable(&first));
    let alone = kept.sandbox.compare(&[("a", &kept.a)], &kept.args(&[])).refusal(1);
    assert!(alone.contains("is it mounted"), "{alone}");
    std::fs::write(kept.a.join("marker"), "x").unwrap();
    kept.sandbox.settle();
    kept.check_reads(1, 1);
}

#[test]
fn a_state_whose_halves_are_of_different_ages_makes_no_result_wrong() {
    let mut kept = Kept::new(37, 60);
    kept.run(&[]).report();
    let old = kept.sandbox.path("old");
    copy(Path::new(&kept.state), &old);
    let (path, _) = contents(&kept.a).into_iter().next().unwrap();
    std::fs::write(kept.a.join(path), kept.dice.bytes(20_000)).unwrap();
    std::fs::write(kept.b.join("added"), kept.dice.bytes(20_000)).unwrap();
    kept.sandbox.settle();
    kept.run(&[]).report();
    let new = kept.sandbox.path("new");
    std::fs::rename(&kept.state, &new).unwrap();
    let right = kept.fresh(&[]);
    let mut wrong = Vec::new();
    for part in [
        "coordinator",
        "coordinator/store",
        "coordinator/indexes",
        "sites",
        "sites/a",
        "sites/a/cache",
        "sites/a/lists",
        "sites/b/sent",
    ] {
        for replacement in [Some(&old), None] {
            copy(&new, Path::new(&kept.state));
            std::fs::remove_dir_all(Path::new(&kept.state).join(part)).unwrap();
            if let Some(old) = replacement {
                copy(&old.join(part), &Path::new(&kept.state).join(part));
            }
            let what = if replacement.is_some() { "older" } else { "lost" };
            if let Err(told) = after_damage(&kept.run(&[]), &right) {
                wrong.push(format!("{part} {what}: {told}"));
            } else if let Err(told) = after_damage(&kept.run(&[]), &right) {
                wrong.push(format!("{part} {what}, the run after: {told}"));
            }
            std::fs::remove_dir_all(&kept.state).unwrap();
        }
    }
    assert!(wrong.is_empty(), "wrong:\n{}", wrong.join("\n"));
}

/// What is done to a file of the state.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Delete,
    Empty,
    Truncate,
    FlipFirst,
    FlipMiddle,
    FlipLast,
}

impl Damage {
    fn inflict(self, path: &Path) {
        let mut bytes = std::fs::read(path).unwrap();
        let last = bytes.len().saturating_sub(1);
        match self {
            Damage::Delete => return std::fs::remove_file(path).unwrap(),
            Damage::Empty => bytes.clear(),
            Damage::Truncate => bytes.truncate(bytes.len() / 2),
            Damage::FlipFirst => flip(&mut bytes, 0),
            Damage::FlipMiddle => flip(&mut bytes, last / 2),
            Damage::FlipLast => flip(&mut bytes, last),
        }
        std::fs::write(path, bytes).unwrap();
    }
}

fn flip(bytes: &mut [u8], place: usize) {
    if let Some(byte) = bytes.get_mut(place) {
        *byte ^= 0x10;
    }
}

#[test]
fn a_damaged_state_is_refused_or_mended_but_never_makes_a_result_wrong() {
    let mut kept = Kept::new(35, 40);
    kept.run(&[]).report();
    let (path, _) = contents(&kept.a).into_iter().next().unwrap();
    std::fs::write(kept.a.join(path), "changed since").unwrap();
    kept.sandbox.settle();
    kept.run(&[]).report();
    let right = kept.fresh(&[]);
    let whole = kept.sandbox.path("whole");
    std::fs::rename(&kept.state, &whole).unwrap();
    let mut wrong = Vec::new();
    let mut endings = [0; 4];
    for (place, file) in contents(&whole).into_keys().enumerate() {
        // The rarer kinds take turns, for the sake of time.
        let rare = [Damage::Empty, Damage::FlipFirst, Damage::FlipLast][place % 3];
        for damage in [Damage::Delete, Damage::Truncate, Damage::FlipMiddle, rare] {
            copy(&whole, Path::new(&kept.state));
            damage.inflict(&Path::new(&kept.state).join(&file));
            let args = compare_args(&kept.folders(), &[&kept.args(&[])[..], &["--format", "json"]].concat());
            let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kept.sandbox.cognate(&args)));
            match run.map_err(|_| "a panic or a hang".to_owned()).and_then(|run| after_damage(&run, &right)) {
                Ok(code) => endings[code] += 1,
                Err(what) => wrong.push(format!("{damage:?} {}: {what}", file.display())),
            }
            std::fs::remove_dir_all(&kept.state).unwrap();
        }
    }
    // Then bytes anywhere, of any file.
    let files: Vec<PathBuf> = contents(&whole).into_keys().collect();
    for _ in 0..20 {
        copy(&whole, Path::new(&kept.state));
        let file = kept.dice.pick(&files).clone();
        let path = Path::new(&kept.state).join(&file);
        let mut bytes = std::fs::read(&path).unwrap();
        let place = kept.dice.below(bytes.len());
        flip(&mut bytes, place);
        std::fs::write(&path, bytes).unwrap();
        if let Err(what) = after_damage(&kept.run(&[]), &right) {
            wrong.push(format!("byte {place} of {}: {what}", file.display()));
        }
        std::fs::remove_dir_all(&kept.state).unwrap();
    }
    assert!(wrong.is_empty(), "runs by exit code: {endings:?}; wrong:\n{}", wrong.join("\n"));
    assert!(endings[0] > 0, "{endings:?}");
}

/// A run over a damaged state ends well in three ways: with the right result, with one line that refuses, or with a
/// partial result that names the damaged file as the reason.
fn after_damage(run: &Run, right: &Value) -> Result<usize, String> {
    let told = || run.stderr.lines().last().unwrap_or_default().to_owned();
    match run.code {
        Some(0) if comparable(&run.json()) == comparable(right) => Ok(0),
        Some(0) => Err("another result, and exit 0".to_owned()),
        Some(1) => {
            let lines = run.stderr.lines().filter(|line| line.starts_with("cognate: ")).count();
            if lines == 1 && run.stdout.is_empty() { Ok(1) } else { Err(told()) }
        }
        Some(3) => {
            let report = run.json();
            let missing = report["scan"]["missing"].as_array().cloned().unwrap_or_default();
            let names_file = |row: &Value| row["reason"].as_str().is_some_and(|reason| reason.contains("/state/"));
            let is_told =
                !missing.is_empty() && missing.iter().all(names_file) && report["scan"]["status"] == "partial";
            if is_told { Ok(3) } else { Err(told()) }
        }
        _ => Err(format!("{run:?}")),
    }
}

#[test]
fn a_large_content_that_was_cut_off_among_its_parts_is_in_nobodys_way() {
    let mut dice = Dice::new(seed(36));
    let mut trees = [Files::new(), Files::new()];
    let large = dice.bytes(8_000_000);
    trees[0].insert("large".into(), large.clone());
    trees[1].insert("edited".into(), edited(&mut dice, large));
    let kept = Kept::of(Sandbox::seeded(seed(36)), dice, &trees);
    // At this mean the file has more chunks than ten batches hold.
    let mean = ["--chunk-bytes", "80"];
    let undisturbed = kept.fresh(&mean);
    let indexes = Path::new(&kept.state).join("coordinator/indexes");
    for _ in 0..3 {
        let mut running = kept.start(&mean);
        // More than two batches are on the disk: the first of them counts.
        wait_until("parts have arrived, or the run has ended", || {
            let segments = names_of(&indexes, "seg");
            segments.iter().any(|path| length(path) > 400_000) || running.ends_within(Duration::ZERO)
        });
        running.signal(Signal::KILL);
        running.ended();
    }
    let report = kept.run(&mean).report();
    assert_eq!(comparable(&report), comparable(&undisturbed));
    // Nor is it when it is gone before it has come whole.
    std::fs::remove_file(kept.a.join("large")).unwrap();
    std::fs::write(kept.a.join("small"), "something else").unwrap();
    kept.sandbox.settle();
    assert_eq!(comparable(&kept.run(&mean).report()), comparable(&kept.fresh(&mean)));
}

/// The files of a folder with this ending; none where there is no folder yet.
fn names_of(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

#[test]
fn lists_that_are_lost_are_made_again_from_the_documents() {
    let kept = Kept::new(37, 60);
    let first = kept.run(&[]).report();
    for site in ["a", "b"] {
        let folder = Path::new(&kept.state).join("sites").join(site);
        for list in names(&folder.join("lists")) {
            std::fs::remove_file(list).unwrap();
        }
        // Without its sent state the site starts its index again, and needs the lists.
        std::fs::remove_dir_all(folder.join("sent")).unwrap();
    }
    let again = kept.run(&[]).report();
    assert_eq!(comparable(&again), comparable(&first));
    assert!(reads(&again).0 > 0);
    kept.check_reads(0, 0);
}

#[test]
fn without_a_sync_the_key_at_hand_says_which_state_is_compared() {
    let kept = Kept::new(38, 60);
    let key = kept.sandbox.path("key");
    std::fs::write(&key, "cd".repeat(32)).unwrap();
    let keyed_args = ["--key", key.to_str().unwrap()];
    let plain = kept.run(&[]).report();
    let keyed = kept.run(&keyed_args).report();
    kept.run(&[]).report();
    assert_eq!(comparable(&kept.run(&["--no-sync"]).report()), comparable(&plain));
    let last = kept.run(&["--no-sync", "--key", key.to_str().unwrap()]).report();
    assert_eq!(comparable(&last), comparable(&keyed));
    std::fs::write(&key, "ef".repeat(32)).unwrap();
    let refused = kept.run(&["--no-sync", "--key", key.to_str().unwrap()]).refusal(1);
    assert!(refused.contains("no sync of it has completed"), "{refused}");
}

#[test]
fn a_document_that_outgrew_the_selection_does_not_leave_its_old_version_behind() {
    let kept = Kept::new(39, 30);
    std::fs::write(kept.a.join("growing"), "small").unwrap();
    std::fs::write(kept.b.join("stays"), "small").unwrap();
    kept.sandbox.settle();
    kept.run(&[]).report();
    std::fs::write(kept.a.join("growing"), vec![b'x'; 50_000]).unwrap();
    kept.sandbox.settle();
    let selection = ["--size-max", "40000"];
    assert_eq!(comparable(&kept.run(&selection).report()), comparable(&kept.fresh(&selection)));
    assert_eq!(comparable(&kept.run(&[]).report()), comparable(&kept.fresh(&[])));
}
