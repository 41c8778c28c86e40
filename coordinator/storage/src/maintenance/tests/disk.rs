//! Errors of the disk at the n-th call to each class of files, and losses of power, over the life of a small state.

use std::sync::Arc;

use cognate_disk_faults::{Disk, Fault, Operation, errors, inject};

use super::*;
use crate::harness::{batch, opened_again, root};
use crate::indexes::tests::key;
use crate::store::Store;

/// Says how much is tried: by default a part, so that it takes seconds; `all` tries every call, a number so many states.
const VARIABLE: &str = "COGNATE_DISK_FAULTS";

/// The number of the last batch of the index.
const LAST: u8 = 6;
/// Events that are recorded, one after the other.
const EVENTS: u64 = 5;

/// Where states are made: in memory, since a real sync would only take time.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// An open state, of which everything may fail.
struct Open {
    store: Arc<Store>,
    indexes: Arc<Indexes>,
}

fn open(state: &Path) -> Result<Open, Error> {
    opened_again(|| crate::maintenance::open(state, config())).map(|(store, indexes)| Open { store, indexes })
}

/// What was acknowledged, and so has to be there for ever.
#[derive(Clone, Copy, Default, Debug)]
struct Acknowledged {
    events: u64,
    batches: u64,
    is_sealed: bool,
}

impl Acknowledged {
    fn to_mark(self) -> u64 {
        self.events << 32 | self.batches << 8 | u64::from(self.is_sealed)
    }

    fn from_mark(mark: u64) -> Acknowledged {
        Acknowledged { events: mark >> 32, batches: mark >> 8 & 0xff_ffff, is_sealed: mark & 1 == 1 }
    }

    /// Checks that all of it is there.
    ///
    /// # Errors
    /// Fails if the disk is in the way.
    fn check(self, open: &Open, context: &str) -> Result<(), Error> {
        let events = events(open);
        assert!(events >= self.events, "{context}: {events} events of {self:?}");
        let sealed = open.indexes.sealed(&key())?;
        assert!(sealed.is_some() || !self.is_sealed, "{context}: the seal of {self:?}");
        if sealed.is_none() {
            let writer = open.indexes.writer(key(), 7, &method())?;
            let (committed, digest) = (writer.committed_sequence(), writer.root().to_bytes());
            assert!(committed >= self.batches, "{context}: {committed} batches of {self:?}");
            let whole = if committed == 0 {
                IndexDigest::default().to_bytes()
            } else {
                root(1..=u8::try_from(committed).unwrap())
            };
            assert_eq!(digest, whole, "{context}: a batch is there in part");
        }
        Ok(())
    }
}

/// The event of a number: who is admitted, and at last who is revoked.
fn event(number: u64) -> What {
    let (kind, name) = (v1::MemberKind::Site.into(), format!("site-{number}"));
    match number {
        EVENTS => What::Revoked(MemberName { kind, name: "site-1".to_owned() }),
        _ => What::Admitted(v1::Membership { kind, name, ..v1::Membership::default() }),
    }
}

fn events(open: &Open) -> u64 {
    let members = open.store.members(v1::MemberKind::Site).unwrap();
    let revoked = members.iter().filter(|member| member.status() == v1::MemberStatus::Revoked).count();
    (members.len() + revoked) as u64
}

/// Goes on with the life of a state to its end, from wherever it is.
fn live(open: &Open, done: &mut Acknowledged, acknowledge: &mut dyn FnMut(Acknowledged)) -> Result<(), Error> {
    for number in events(open) + 1..=EVENTS {
        open.store.record(&Event { time: 1, by: String::new(), what: Some(event(number)) })?;
        done.events = number;
        acknowledge(*done);
    }
    if open.indexes.sealed(&key())?.is_none() {
        let mut writer = open.indexes.writer(key(), 7, &method())?;
        for number in u8::try_from(writer.committed_sequence()).unwrap() + 1..=LAST {
            let (body, digest, _) = batch(number);
            assert!(writer.batch(number.into(), &digest, &body)?.is_ok());
            if number % 2 == 0 {
                done.batches = writer.commit()?;
                acknowledge(*done);
            }
        }
        writer.seal(LAST.into(), &root(1..=LAST))?;
    }
    done.is_sealed = true;
    acknowledge(*done);
    let sealed = open.indexes.sealed(&key())?.expect("it was sealed");
    open.indexes
        .put_summary(sealed.id, &v1::SyncSummary { recognition: "x".to_owned(), ..v1::SyncSummary::default() })?;
    open.indexes.tidy(&key());
    Ok(())
}

/// What a state is at its end, for comparison: members, the last batch, the index digest, postings, and the summary.
type Outcome = (Vec<(String, i32)>, u64, [u8; 32], u64, String);

fn outcome(open: &Open) -> Outcome {
    let members = open.store.members(v1::MemberKind::Site).unwrap();
    let members = members.iter().map(|row| (row.membership.clone().unwrap().name, row.status)).collect();
    let sealed = open.indexes.sealed(&key()).unwrap().unwrap();
    let index = open.indexes.load(sealed.id, sealed.sequence).unwrap();
    let mut postings = 0;
    for run in open.indexes.runs(sealed.id, sealed.sequence).unwrap().0 {
        crate::indexes::read_run(&run, |_| postings += 1).unwrap();
    }
    let files = open.indexes.summary(sealed.id).unwrap().recognition;
    (members, sealed.sequence, index.root().to_bytes(), postings, files)
}

fn undisturbed() -> Outcome {
    let folder = folder();
    let open = open(folder.path()).unwrap();
    live(&open, &mut Acknowledged::default(), &mut |_| {}).unwrap();
    outcome(&open)
}

/// Checks what an error says: the file, and the cause.
fn check_error(error: &Error, fault: &Fault, state: &Path) {
    let text = error.to_string();
    let cause = std::io::Error::from_raw_os_error(fault.error).to_string();
    assert!(text.contains(&cause), "{fault}: `{text}` does not say the cause");
    let named = text.contains(&state.display().to_string()) || matches!(error, Error::Store(_));
    assert!(named, "{fault}: `{text}` does not name the file");
}

/// Closes a state. sled panics if the sync at its end fails: what was acknowledged was synced before, and the process is over.
fn close(state: impl Sized) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(state)));
}

/// The files of a state that was closed, as another process finds them. A store whose last sync failed stays open until its process ends, and
/// has its lock until then.
fn after_its_process(state: tempfile::TempDir, is_left_open: bool) -> tempfile::TempDir {
    if !is_left_open {
        return state;
    }
    let copy = folder();
    copy_below(state.path(), copy.path());
    copy
}

/// The life of a state in which one call fails. Answers whether it did.
fn disturbed(fault: &Fault, expected: &Outcome) -> bool {
    let own = folder();
    let state = own.path();
    let injection = inject(Fault { files: errors::below(state, &fault.files), ..fault.clone() });
    let mut done = Acknowledged::default();
    let mut opened = open(state);
    let (mut refusals, mut was_open, mut opened_after_refusal) = (0, false, false);
    let last = loop {
        let open_state = match opened {
            Ok(open_state) => open_state,
            Err(error) => {
                check_error(&error, fault, state);
                refusals += 1;
                assert!(refusals < 3, "{fault}: {error}");
                opened = open(state);
                continue;
            }
        };
        opened_after_refusal |= refusals == 1 && !was_open;
        was_open = true;
        let lived =
            done.check(&open_state, &fault.to_string()).and_then(|()| live(&open_state, &mut done, &mut |_| {}));
        let Err(error) = lived else { break open_state };
        refusals += 1;
        let failed = open_state.store.failed().borrow().clone();
        // What was refused because an earlier call failed names that failure.
        check_error(&error, fault, state);
        assert!(refusals < 4, "{fault}: {error}");
        assert!(
            !error.is_fatal() || failed.is_some(),
            "{fault}: after `{error}` it would go on with a disk of unknown state"
        );
        opened = match failed {
            // The process goes on, and the same works now.
            None => Ok(open_state),
            // The process ends and starts again.
            Some(_) => {
                close(open_state);
                open(state)
            }
        };
    };
    assert_eq!(outcome(&last), *expected, "{fault}");
    // An error of the disk is no damage: nothing is set aside, but a store that was never made to its end.
    let aside = files_below(state).into_iter().find(|path| path.to_string_lossy().contains("corrupt"));
    assert!(aside.is_none() || opened_after_refusal, "{fault}: {aside:?}");
    let fired = injection.fired();
    close(last);
    let is_left_open = injection.fired() > fired;
    drop(injection);
    let own = after_its_process(own, is_left_open);
    let again = open(own.path()).unwrap();
    done.check(&again, &fault.to_string()).unwrap();
    assert_eq!(outcome(&again), *expected, "{fault}: after another start");
    fired > 0
}

/// The numbers of the calls that are tried: all, or the first ones and then fewer and fewer.
fn numbers() -> impl Iterator<Item = u64> {
    let all = std::env::var(VARIABLE).is_ok_and(|value| value == "all");
    std::iter::successors(Some(1), move |last: &u64| Some(if all || *last < 6 { last + 1 } else { last + last / 3 }))
}

/// The files of the state, by class: the pattern of their paths.
const CLASSES: [&str; 6] = ["journal", "journal.head*", "indexes/*.seg*", "indexes/*.run*", "store/*", "*"];
const CALLS: [Operation; 6] =
    [Operation::Create, Operation::Write, Operation::Sync, Operation::Rename, Operation::Remove, Operation::Resize];

#[test]
fn whatever_call_to_the_disk_fails_nothing_acknowledged_is_lost_and_the_end_is_the_same() {
    let expected = undisturbed();
    let mut failures = Vec::new();
    let mut fired: BTreeMap<(Operation, &str), u64> = BTreeMap::new();
    for (operation, class) in CALLS.iter().flat_map(|call| CLASSES.iter().map(move |class| (*call, *class))) {
        for number in numbers() {
            let error = [28, 5, 122][usize::try_from(number % 3).unwrap()];
            let fault = Fault { operation, files: class.to_owned(), number, error, disk: Disk::Recovers };
            // All of them are reported, not only the first.
            match std::panic::catch_unwind(|| disturbed(&fault, &expected)) {
                Ok(false) => break,
                Ok(true) => {}
                Err(_) => failures.push(fault.to_string()),
            }
            *fired.entry((operation, class)).or_default() += 1;
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    for wanted in [
        (Operation::Write, "journal"),
        (Operation::Sync, "journal"),
        (Operation::Write, "journal.head*"),
        (Operation::Sync, "journal.head*"),
        (Operation::Create, "indexes/*.seg*"),
        (Operation::Write, "indexes/*.seg*"),
        (Operation::Sync, "indexes/*.seg*"),
        (Operation::Write, "indexes/*.run*"),
        (Operation::Rename, "indexes/*.run*"),
        (Operation::Write, "store/*"),
        (Operation::Sync, "store/*"),
    ] {
        assert!(fired.contains_key(&wanted), "no call failed: {wanted:?} of {fired:?}");
    }
}

/// The number of states of a loss of power that are tried.
fn states() -> usize {
    std::env::var(VARIABLE).ok().and_then(|value| value.parse().ok()).unwrap_or(120)
}

#[test]
fn after_a_loss_of_power_at_any_moment_everything_acknowledged_is_there_and_the_end_is_the_same() {
    let expected = undisturbed();
    let recorded = folder();
    let recording = cognate_disk_faults::record(recorded.path()).unwrap();
    let opened = open(recorded.path()).unwrap();
    live(&opened, &mut Acknowledged::default(), &mut |done| recording.mark(done.to_mark())).unwrap();
    drop(opened);
    let left = recording.finish();
    let seed = 19;
    let mut failures = Vec::new();
    for state in left.sample(states(), seed) {
        let survived = std::panic::catch_unwind(|| {
            let folder = folder();
            state.write_to(folder.path()).unwrap();
            let mut done = Acknowledged::from_mark(state.acknowledged.unwrap_or_default());
            let opened = open(folder.path()).unwrap();
            done.check(&opened, "after the loss of power").unwrap();
            live(&opened, &mut done, &mut |_| {}).unwrap();
            assert_eq!(outcome(&opened), expected);
        });
        if survived.is_err() {
            failures.push(state.description);
        }
    }
    assert!(
        failures.is_empty(),
        "seed {seed}: {} of {}: {:#?}",
        failures.len(),
        states(),
        &failures[..failures.len().min(5)]
    );
}

/// A state at its end, with a store that an earlier version wrote.
fn of_an_earlier_version() -> tempfile::TempDir {
    let folder = folder();
    let opened = open(folder.path()).unwrap();
    live(&opened, &mut Acknowledged::default(), &mut |_| {}).unwrap();
    opened.store.make_earlier().unwrap();
    drop(opened);
    folder
}

/// Names of earlier stores that were kept.
fn earlier_stores(state: &Path) -> usize {
    let names = std::fs::read_dir(state).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("store.before-upgrade-")).count()
}

#[test]
fn an_upgrade_that_is_cut_off_at_any_moment_is_finished_by_the_next_start() {
    let expected = undisturbed();
    let state = of_an_earlier_version();
    let recording = cognate_disk_faults::record(state.path()).unwrap();
    drop(open(state.path()).unwrap());
    assert_eq!(earlier_stores(state.path()), 1, "the earlier store is kept");
    let left = recording.finish();
    let seed = 20;
    for cut in left.sample(states(), seed) {
        let folder = folder();
        cut.write_to(folder.path()).unwrap();
        let opened = open(folder.path()).unwrap_or_else(|error| panic!("seed {seed}, {}: {error}", cut.description));
        assert_eq!(outcome(&opened), expected, "seed {seed}, {}", cut.description);
        drop(opened);
        // It is finished: another start upgrades nothing.
        let before = earlier_stores(folder.path());
        assert_eq!(outcome(&open(folder.path()).unwrap()), expected);
        assert_eq!(earlier_stores(folder.path()), before, "seed {seed}, {}", cut.description);
    }
}

#[test]
fn whatever_call_to_the_disk_fails_during_an_upgrade_the_next_start_finishes_it() {
    let expected = undisturbed();
    let mut fired = 0;
    for operation in CALLS {
        for number in numbers() {
            let state = of_an_earlier_version();
            let fault =
                Fault { operation, files: errors::below(state.path(), "*"), number, error: 28, disk: Disk::Recovers };
            let injection = inject(fault.clone());
            let opened = open(state.path());
            let fired_before_close = injection.fired();
            close(opened);
            let has_fired = injection.fired() > 0;
            let is_left_open = injection.fired() > fired_before_close;
            drop(injection);
            let state = after_its_process(state, is_left_open);
            let opened = open(state.path()).unwrap_or_else(|error| panic!("{fault}: {error}"));
            assert_eq!(outcome(&opened), expected, "{fault}");
            if !has_fired {
                break;
            }
            fired += 1;
        }
    }
    assert!(fired > 10, "{fired} calls failed");
}
