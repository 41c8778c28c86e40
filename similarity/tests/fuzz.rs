//! Damaged files of an analysis: refused by name, or read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use cognate_fingerprint::Tag;
use cognate_similarity::{ContentIndex, Link, LinkFile, LinkWriter, Run, RunRecord, WriteRun, write_run};

fn run(name: &str, valid: &[Vec<u8>], target: impl FnMut(&[u8]) -> String) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    cognate_fuzzing::run(name, &corpus, valid, target);
}

#[test]
fn any_file_of_links_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("links");
    let mut writer = LinkWriter::create(&path, &[1; 32]).unwrap();
    let links: Vec<Link> =
        (0..5).map(|n| Link { a: ContentIndex(n), b: ContentIndex(n + 1), shared_bytes: n.into() }).collect();
    writer.push(&links).unwrap();
    writer.finish(false).unwrap();
    let valid = std::fs::read(&path).unwrap();
    run("links", &[valid], |input| {
        std::fs::write(&path, input).unwrap();
        let mut links = 0;
        let read = LinkFile::open(&path, &[1; 32]).and_then(|file| file.for_each(|_| links += 1));
        read.map_or_else(|error| error.to_string(), |()| "read".to_owned())
    });
}

#[test]
fn any_run_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.run");
    let record = |n: u8| RunRecord { tag: Tag([n; 16]), length_bytes: 100, template: n == 2, ordinal: n.into() };
    write_run(&path, &mut [record(1), record(2), record(3)], &WriteRun { sync: false }).unwrap();
    let valid = std::fs::read(&path).unwrap();
    run("run", &[valid], |input| {
        std::fs::write(&path, input).unwrap();
        let read = Run::open(&path).and_then(|run| {
            let mut reader = run.shard(0)?;
            while reader.peek()?.is_some() {
                reader.advance();
            }
            Ok(())
        });
        read.map_or_else(|error| error.to_string().replace("1.run", ""), |()| "read".to_owned())
    });
}
