//! Each record is read back as it was inserted.

use super::*;

/// A record with another value in each column.
pub(crate) trait Sample {
    fn sample(first: u8) -> Self;
}

/// A file without tables, in memory. As in a result, referenced rows exist by construction, and nothing checks them.
fn empty() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    connection
}

fn check<R: Record + Sample + PartialEq + std::fmt::Debug>() {
    let connection = empty();
    connection.execute_batch(&create_table::<R>()).unwrap();
    let records: Vec<R> = (0..4).map(R::sample).collect();
    let mut insert = Insert::<R>::into(&connection).unwrap();
    records.iter().for_each(|record| insert.add(record).unwrap());
    drop(insert);
    let sql = format!("SELECT 'before', {} FROM {} t ORDER BY t.rowid", columns::<R>("t"), R::TABLE);
    let mut statement = connection.prepare(&sql).unwrap();
    let found: Vec<R> =
        statement.query_map([], |row| R::from_row(row, 1)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
    assert_eq!(found, records, "{}", R::TABLE);
    assert!(R::ABOUT.ends_with('.'), "{} says what it has", R::TABLE);
    for column in R::COLUMNS {
        assert!(column.about.ends_with('.'), "{}.{} says what it has", R::TABLE, column.name);
    }
}

#[test]
fn records_are_read_back_as_they_were_inserted() {
    check::<Scan>();
    check::<Layer>();
    check::<FineChunks>();
    check::<ExactPair>();
    check::<ExactSite>();
    check::<Message>();
    check::<Refined>();
    check::<Selection>();
    check::<SetAside>();
    check::<Frame>();
    check::<FrameCluster>();
    check::<FrameExample>();
    check::<Root>();
    check::<Skipped>();
    check::<Missing>();
    check::<Unread>();
    check::<Cluster>();
    check::<IdenticalSet>();
    check::<PackedSets>();
    check::<Link>();
    check::<Family>();
    check::<FamilyMember>();
    check::<Alignment>();
    check::<FolderPair>();
    check::<Overlap>();
    check::<OverlapOnce>();
    check::<OnlyHere>();
    check::<Control>();
    check::<Census>();
    check::<Evidence>();
    check::<Histogram>();
    check::<Document>();
    check::<StatusCount>();
    check::<Change>();
    check::<Content>();
}

#[test]
fn the_tables_of_both_parts_and_their_indexes_can_be_made() {
    let connection = empty();
    for part in [Part::Documents, Part::Others] {
        connection.execute_batch(&part.tables()).unwrap();
        connection.execute_batch(part.indexes()).unwrap();
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_master WHERE type = 'table'", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 35);
}

#[test]
fn a_count_beyond_what_a_column_takes_is_the_greatest_that_it_takes() {
    let connection = empty();
    connection.execute_batch(&create_table::<Skipped>()).unwrap();
    let skipped = Skipped { root: 1, reason: "symlink".into(), entries: u64::MAX };
    Insert::into(&connection).unwrap().add(&skipped).unwrap();
    let found: u64 = connection.query_row("SELECT entries FROM skipped", [], |row| row.get(0)).unwrap();
    assert_eq!(found, i64::MAX.unsigned_abs());
}
