//! Bombs, and containers that are cut off, locked or broken: each is reported, and no other document is disturbed.

use std::time::{Duration, Instant};

use cognate_fuzzing::Dice;
use cognate_view::{Kind, Limits, Outcome, Pool, Reason};

use crate::make::{self, DEFLATED, Style, Zip};
use crate::reader::{Part, because, lines, own, pool, read, walked};

/// Reads a bomb within the time that bombs may take. The build that is tested is many times slower than that of users.
fn defused(pool: &Pool, bytes: &[u8]) -> Vec<Part> {
    let start = Instant::now();
    let parts = read(pool, "bomb.gz", bytes);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(lines(&read(pool, "", b"the next")), [": the next"]);
    parts
}

/// Text of one letter.
fn letters(mebibytes: usize) -> Vec<u8> {
    vec![b'a'; mebibytes << 20]
}

#[test]
fn bombs_are_refused() {
    let pool = pool(Limits::default());
    let gzip = make::gzip(&letters(64));
    assert_eq!(lines(&defused(&pool, &gzip)), ["bomb: (compressed too strongly)", ": (compressed too strongly)"]);
    for bytes in [make::bzip2(&letters(8)), make::xz(&letters(16)), make::zstd(&letters(8))] {
        assert_eq!(own(&defused(&pool, &bytes)), because(Reason::Ratio));
    }
    let member = make::zip(&[("letters", &letters(64)), ("text", b"t")]);
    assert_eq!(lines(&defused(&pool, &member)), ["letters: (compressed too strongly)", "text: t", ": container"]);
    let tar = make::gzip(&make::tar(&[("text", b"t"), ("letters", &letters(64))]));
    let parts = defused(&pool, &tar);
    assert_eq!(lines(&parts), ["text: t", "letters: (compressed too strongly)", ": (compressed too strongly)"]);
}

#[test]
fn nested_bombs_are_refused_with_their_archive() {
    let pool = pool(Limits::default());
    // Like 42.zip: sixteen in each of sixteen in each of sixteen.
    let mut bytes = letters(40);
    for _ in 0..5 {
        let deflated = make::deflate(&bytes);
        let sum = crc32fast::hash(&bytes);
        let mut zip = Zip::default();
        for number in 0..16 {
            zip.add_deflated(&format!("lib {number}.zip"), &deflated, sum, bytes.len() as u64);
        }
        bytes = zip.finish();
    }
    let parts = defused(&pool, &bytes);
    assert_eq!(own(&parts), because(Reason::Ratio), "{:?}", lines(&parts).len());
    assert!(parts.len() < 1000, "{}", parts.len());
}

#[test]
fn members_that_overlap_are_refused() {
    let mut zip = Zip::default();
    let kernel = letters(1);
    let deflated = make::deflate(&kernel);
    zip.add_deflated("0", &deflated, crc32fast::hash(&kernel), kernel.len() as u64);
    for number in 1..1000 {
        let fields = (crc32fast::hash(&kernel), deflated.len() as u64, kernel.len() as u64);
        zip.list(&number.to_string(), fields, DEFLATED, 0);
    }
    let parts = walked("", &zip.finish(), &Limits::default());
    assert_eq!(own(&parts), because(Reason::Damaged));
    assert!(parts.len() <= 2, "bytes that occur once are read once: {:?}", lines(&parts));
}

#[test]
fn archives_that_hold_themselves_end() {
    // A quine of gzip cannot be made in a few lines; an archive that holds itself looks like any that is too deep.
    let mut bytes = b"core".to_vec();
    for _ in 0..40 {
        bytes = make::gzip(&bytes);
    }
    let parts = walked("x", &bytes, &Limits::default());
    assert_eq!((parts.len(), parts[0].outcome), (9, because(Reason::TooDeep)));
    assert_eq!(own(&parts), Outcome::Container);
}

#[test]
fn many_members_of_nothing_are_too_many() {
    let pool = pool(Limits { members_max: 5000, ..Limits::default() });
    let entry = make::tar_entry("empty", b'0', b"");
    for bytes in [entry.repeat(20_000), make::gzip(&entry.repeat(20_000))] {
        let parts = defused(&pool, &bytes);
        assert_eq!((parts.len(), own(&parts)), (5001, because(Reason::TooMany)));
    }
}

#[test]
fn text_and_bytes_and_time_have_their_ends() {
    let text = "some words ".repeat(100_000);
    let limits = Limits { text_bytes_max: 100_000, ..Limits::default() };
    assert_eq!(own(&walked("", text.as_bytes(), &limits)), because(Reason::TooLarge));
    let zip = make::zip(&[("large", text.as_bytes()), ("small", b"s")]);
    assert_eq!(lines(&walked("", &zip, &limits))[1..], ["small: s", ": container"]);
    let limits = Limits { expanded_bytes_max: 1_500_000, ratio_max: 10_000, ..Limits::default() };
    let zip = make::zip(&[("one", text.as_bytes()), ("two", text.as_bytes()), ("three", b"")]);
    let parts = walked("", &zip, &limits);
    assert_eq!((parts.len(), parts[1].outcome, own(&parts)), (3, because(Reason::TooLarge), because(Reason::TooLarge)));
    let limits = Limits { time_max: Duration::ZERO, ..Limits::default() };
    assert_eq!(own(&walked("", text.as_bytes(), &limits)), because(Reason::TimedOut));
}

/// Three documents that read differently, in an archive of each kind.
fn containers() -> Vec<(&'static str, Vec<u8>)> {
    let long: String = (0..3000).map(|number| format!("line {number}\n")).collect();
    let html = format!("<p>{}</p>", long.replace("line", "another"));
    let members: [(&str, &[u8]); 3] = [("a.txt", b"first"), ("b/c.txt", long.as_bytes()), ("d.html", html.as_bytes())];
    let tar = make::tar(&members);
    let mut stream = Zip::default();
    for (name, bytes) in members {
        stream.add(name, bytes, Style { descriptor: true, ..DEFLATED });
    }
    vec![
        ("zip", make::zip(&members)),
        ("zip with descriptors", stream.finish()),
        ("7z", make::seven_zip(&members)),
        ("tar.gz", make::gzip(&tar)),
        ("tar.bz2", make::bzip2(&tar)),
        ("tar.xz", make::xz(&tar)),
        ("tar.zst", make::zstd(&tar)),
        ("tar", tar),
    ]
}

#[test]
fn the_members_before_the_cut_of_a_truncated_archive_remain() {
    let limits = Limits::default();
    for (name, bytes) in containers() {
        let complete = walked("", &bytes, &limits);
        let mut most = 0;
        for cut in (1..24).map(|point| bytes.len() * point / 24) {
            let parts = walked("", &bytes[..cut], &limits);
            let (document, members) = parts.split_last().unwrap();
            let cut_off = matches!(document.outcome, Outcome::Unextractable(Reason::Damaged));
            // A tar archive without its end is one that some programs write.
            let ends = document.outcome == Outcome::Container && members == &complete[..members.len()];
            assert!(cut_off || ends || document.kind == Kind::Other, "{name} cut at {cut}: {:?}", document.outcome);
            let read = members.iter().filter(|part| part.outcome == Outcome::Text).count();
            assert_eq!(members[..read], complete[..read], "{name} cut at {cut}");
            most = most.max(read);
        }
        // Others unpack so much at once that all of this is one piece.
        let piecemeal = ["zip", "zip with descriptors", "tar", "tar.gz"].contains(&name);
        assert!(most >= if piecemeal { 2 } else { 0 }, "{name}: {most}");
    }
}

#[test]
fn damage_anywhere_ends_in_parts_and_never_in_a_crash() {
    let limits = Limits { expanded_bytes_max: 64 << 20, ..Limits::default() };
    let seed = 0x5EED_u64;
    let mut dice = Dice::new(seed);
    for (name, bytes) in containers() {
        for round in 0..150 {
            let mut broken = bytes.clone();
            for _ in 0..=dice.below(6) {
                let at = dice.below(broken.len());
                broken[at] = u8::try_from(dice.below(256)).unwrap();
            }
            let outcome = std::panic::catch_unwind(|| walked("", &broken, &limits));
            assert!(outcome.is_ok(), "{name}, round {round} of seed {seed:#x}");
        }
    }
}

#[test]
fn a_folder_of_hostile_documents_disturbs_nothing_and_takes_no_memory_of_the_parent() {
    let pool = pool(Limits { memory_bytes_max: 128 << 20, ..Limits::default() });
    let mut dice = Dice::new(1);
    let mut documents: Vec<Vec<u8>> = containers().into_iter().map(|(_, bytes)| bytes).collect();
    documents.push(make::gzip(&letters(32)));
    documents.push(make::zip(&[("letters", &letters(32))]));
    let before = resident_bytes();
    for round in 0..60 {
        let mut bytes = documents[round % documents.len()].clone();
        for _ in 0..dice.below(4) {
            let at = dice.below(bytes.len());
            bytes[at] ^= 0x40;
        }
        bytes.truncate(bytes.len() - dice.below(bytes.len() / 4));
        let parts = read(&pool, "", &bytes);
        assert!(parts.len() <= 8, "{:?}", lines(&parts));
        let text = format!("next to {round}");
        assert_eq!(lines(&read(&pool, "", text.as_bytes())), [format!(": {text}")]);
    }
    // Other tests run next to this one, within the same process.
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 1 << 30, "{grown}");
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
