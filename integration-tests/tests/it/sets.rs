//! A result stores two things twice, and both copies agree: the identical sets as rows and packed, and the changes of documents in their
//! rows and as counts.

use std::path::{Path, PathBuf};

use cognate_integration_tests::dice::letters;
use cognate_integration_tests::{Sandbox, sandbox};
use rusqlite::Connection;

/// Documents that both have at the same place, beyond those that differ in something.
const COPIES: u64 = 2000;

/// A result of two versions of a folder: copies at the same place and elsewhere, a message, documents that were edited, rewritten, moved and
/// added. The names sort the other way round than they are typed.
fn result(sandbox: &Sandbox) -> PathBuf {
    let (same, moved, edited) = (letters(1, 9_000), letters(2, 8_000), letters(3, 40_000));
    let message = b"Message-ID: <1@example.org>\r\nFrom: a@example.org\r\nSubject: hello\r\n\r\nhello\r\n".as_slice();
    let (gone, fresh, before, after) = (letters(4, 5_000), letters(5, 6_000), letters(6, 7_000), letters(7, 7_000));
    let older = [
        ("doc/same.txt", same.as_slice()),
        ("doc/again.txt", &same),
        ("doc/edited.txt", &edited),
        ("doc/moved.txt", &moved),
        ("doc/rewritten.txt", &before),
        ("doc/gone.txt", &gone),
        ("doc/hello.eml", message),
        ("doc/empty.txt", b""),
    ];
    let newer = [
        ("doc/same.txt", same.as_slice()),
        ("doc/edited.txt", &edited[..30_000]),
        ("new/moved.txt", &moved),
        ("doc/rewritten.txt", &after),
        ("new/fresh.txt", &fresh),
        ("doc/hello.eml", message),
        ("doc/empty.txt", b""),
    ];
    // Copies for several blocks of packed sets, so that two threads read them.
    let many = (0..COPIES).map(|number| (format!("many/{number:0120}.txt"), letters(100 + number, 30)));
    let with_many = |files: &[(&str, &[u8])]| {
        let own = files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()));
        own.chain(many.clone()).collect()
    };
    let (older, newer) = (sandbox.tree("1", &with_many(&older)), sandbox.tree("2", &with_many(&newer)));
    let path = sandbox.path("result.sqlite");
    let out = ["--format", "sqlite", "-o", path.to_str().unwrap()];
    sandbox.cognate(sandbox::compare_args(&[("old", &older), ("new", &newer)], &out)).expect(0);
    path
}

fn report(sandbox: &Sandbox, result: &Path, format: &str) -> String {
    sandbox.cognate(["report", result.to_str().unwrap(), "--format", format]).expect(0).text().to_owned()
}

#[test]
fn a_report_has_the_same_sets_from_packed_ones_as_from_rows() {
    let sandbox = Sandbox::new();
    let path = result(&sandbox);
    let of = |format: &str| report(&sandbox, &path, format);
    let packed = ["json", "csv", "text"].map(of);
    assert!(packed[0].contains("message_id_hash") && packed[0].contains("doc/again.txt"), "{}", packed[0]);
    let gone = Connection::open(&path).unwrap().execute("DELETE FROM packed_sets", []).unwrap();
    assert!(gone > 5, "{gone}");
    assert_eq!(["json", "csv", "text"].map(of), packed);
}

#[test]
fn what_became_of_documents_is_counted_as_their_rows_say_it() {
    let sandbox = Sandbox::new();
    let database = Connection::open(result(&sandbox)).unwrap();
    let alone = |row: &str| {
        format!(
            "({row}.partner_in_place IS NULL
              AND {row}.status NOT IN ('excluded(empty)', 'excluded(no text)', 'excluded(container)'))"
        )
    };
    let shown = |row: &str| format!("CASE WHEN {row}.partner_in_other THEN {row}.other ELSE {row}.id END");
    let sql = format!(
        "WITH listed AS (SELECT d.root AS root, t.*, (SELECT {} FROM document u, document c
                           WHERE c.id = t.counterpart AND u.id = {}) AS both
                         FROM document d JOIN document t ON t.id = {} WHERE d.listed)
         SELECT sum(partner_in_place AND partner_relation = 'identical'),
                sum(coalesce(partner_in_place AND partner_relation <> 'identical', 0) OR ({} AND coalesce(both, 0))),
                sum(NOT partner_in_place), sum({} AND NOT coalesce(both, 0))
         FROM listed GROUP BY root ORDER BY root",
        alone("u"),
        shown("c"),
        shown("d"),
        alone("listed"),
        alone("listed"),
    );
    let rows = |sql: &str| -> Vec<[u64; 4]> {
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]));
        rows.unwrap().map(Result::unwrap).collect()
    };
    // By name, the newer folder is the first.
    let expected = vec![[COPIES + 2, 2, 1, 1], [COPIES + 2, 2, 2, 1]];
    assert_eq!(rows(&sql), expected);
    assert_eq!(rows("SELECT same, changed, moved, only_here FROM change ORDER BY root"), expected);
}
