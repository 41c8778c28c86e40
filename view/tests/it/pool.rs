//! Children: what they may do, how they end, and that the next document never notices.

use std::io::Read as _;
use std::num::NonZeroUsize;
use std::time::Duration;

use cognate_view::{CHILD_ARGUMENT, Limits, Outcome, Parts, Pool, Reason};

use crate::reader::{PROGRAM, because, collect, faulty, file, lines, own, pool, read};

fn short() -> Limits {
    Limits { time_max: Duration::from_millis(200), ..Limits::default() }
}

#[test]
fn documents_are_read_one_after_the_other_by_the_same_child() {
    let pool = pool(Limits::default());
    for number in 0..50 {
        let text = format!("Document {number}");
        assert_eq!(lines(&read(&pool, "x.txt", text.as_bytes())), [format!(": {text}")]);
    }
    assert_eq!(lines(&read(&pool, "x", b"")), [": "]);
    assert_eq!(children().len(), 1);
}

/// The ids of the processes that this thread's pools have started.
fn children() -> Vec<u32> {
    let path = format!("/proc/self/task/{}/children", rustix::thread::gettid().as_raw_nonzero());
    let ids = std::fs::read_to_string(path).unwrap_or_default();
    ids.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

#[test]
fn a_child_is_confined_by_all_that_this_system_has() {
    let pool = faulty(Limits::default());
    assert!(pool.confinement().is_full(), "{}", pool.confinement());
    let after = |order: &str| lines(&read(&pool, "", order.as_bytes())).remove(0);
    for order in ["read", "open", "create", "connect", "socket", "start", "thread", "folder"] {
        assert_eq!(after(&format!("!{order}")), ": PermissionDenied", "{order}");
    }
    assert_eq!(after("!environment"), ": 0");
}

#[test]
fn a_child_has_no_descriptor_of_its_parent_and_no_environment() {
    let ours = tempfile::NamedTempFile::new().unwrap();
    let pool = pool(Limits::default());
    let mut parts = pool.extract(&file("text".repeat(1 << 20).as_bytes()), "").unwrap().parts();
    parts.next_part().unwrap();
    let [child] = children()[..] else { panic!("{:?}", children()) };
    let open = std::fs::read_dir(format!("/proc/{child}/fd")).unwrap();
    let open: Vec<_> = open.filter_map(|open| std::fs::read_link(open.unwrap().path()).ok()).collect();
    assert!(!open.is_empty() && open.iter().all(|open| open != ours.path()), "{open:?}");
    let environment = std::fs::read(format!("/proc/{child}/environ")).unwrap();
    assert!(environment.is_empty());
}

#[test]
fn a_failure_of_a_child_is_the_outcome_of_its_document_and_the_next_is_read() {
    let pool = faulty(Limits { memory_bytes_max: 64 << 20, ..short() });
    let check = |order: &str, reason: Reason| {
        assert_eq!(own(&read(&pool, "", order.as_bytes())), because(reason), "{order}");
        assert_eq!(lines(&read(&pool, "", b"The next")), [": The next"], "after {order}");
    };
    check("!panic", Reason::Crashed);
    check("!abort", Reason::Crashed);
    check("!exit", Reason::Crashed);
    check("!recurse", Reason::Crashed);
    check("!garbage", Reason::Crashed);
    check("!eat", Reason::OutOfMemory);
    check("!hang", Reason::TimedOut);
    check("!nothing", Reason::TimedOut);
}

#[test]
fn parts_sent_before_a_crash_remain() {
    let parts = read(&faulty(short()), "", b"!half");
    assert_eq!(parts.len(), 2);
    assert_eq!((parts[0].name.as_str(), parts[0].outcome), ("member", because(Reason::Crashed)));
    assert!(parts[0].text.starts_with("text text"));
    assert_eq!(own(&parts), because(Reason::Crashed));
}

#[test]
fn a_child_that_died_while_it_was_idle_costs_no_document() {
    let pool = pool(Limits::default());
    assert_eq!(lines(&read(&pool, "", b"one")), [": one"]);
    let [child] = children()[..] else { panic!("{:?}", children()) };
    let child = rustix::process::Pid::from_raw(child.try_into().unwrap()).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    assert_eq!(lines(&read(&pool, "", b"two")), [": two"]);
}

#[test]
fn an_extraction_that_is_dropped_gives_its_place_back() {
    let pool = pool(Limits::default());
    let large = file("word ".repeat(1 << 20).as_bytes());
    for _ in 0..3 {
        let mut extraction = pool.extract(&large, "").unwrap();
        extraction.read_exact(&mut [0; 100]).unwrap();
    }
    assert_eq!(lines(&read(&pool, "", b"after")), [": after"]);
}

#[test]
fn the_position_of_a_file_is_not_touched() {
    use std::io::Seek as _;
    let pool = pool(Limits::default());
    let mut file = file(b"one two");
    file.seek(std::io::SeekFrom::Start(4)).unwrap();
    let parts = collect(pool.extract(&file, "").unwrap().parts());
    assert_eq!(lines(&parts), [": one two"]);
    assert_eq!(file.stream_position().unwrap(), 4);
}

#[test]
fn an_extraction_can_be_stored_and_read_again() {
    let pool = pool(Limits::default());
    let mut stored = Vec::new();
    pool.extract(&file(b"some text"), "").unwrap().read_to_end(&mut stored).unwrap();
    assert_eq!(lines(&collect(Parts::new(stored.as_slice()))), [": some text"]);
}

#[test]
fn threads_share_a_pool_and_wait_for_a_free_child() {
    let pool = Pool::new(PROGRAM, [CHILD_ARGUMENT], NonZeroUsize::new(2).unwrap(), Limits::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let pool = &pool;
            scope.spawn(move || {
                for document in 0..50 {
                    let text = format!("{thread} {document}");
                    assert_eq!(lines(&read(pool, "", text.as_bytes())), [format!(": {text}")]);
                }
            });
        }
    });
}

#[test]
fn a_program_that_is_no_child_is_an_error() {
    for program in ["/nowhere/at/all", "/bin/false"] {
        assert!(Pool::new(program, [CHILD_ARGUMENT], NonZeroUsize::MIN, Limits::default()).is_err(), "{program}");
    }
}

#[test]
fn time_that_the_reader_takes_is_not_the_childs() {
    let pool = pool(short());
    let large = file("words and words ".repeat(1 << 18).as_bytes());
    let mut parts = pool.extract(&large, "").unwrap().parts();
    parts.next_part().unwrap();
    let mut text = vec![0; 1000];
    parts.read_exact(&mut text).unwrap();
    // Longer than the child may take, and its grace.
    let until = std::time::Instant::now() + Duration::from_millis(2500);
    while std::time::Instant::now() < until {
        std::thread::park_timeout(Duration::from_millis(100));
    }
    assert_eq!(parts.outcome().unwrap().outcome, Outcome::Text);
}
