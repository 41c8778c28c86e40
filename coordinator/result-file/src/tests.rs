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
    let found = statement.query_map([], |row| <(String, R)>::from_row(&mut Columns::of(row))).unwrap();
    let found: Vec<R> = found.map(|row| row.unwrap().1).collect();
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
    check::<LooseSet>();
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
    assert_eq!(tables, 34);
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

crate::row! {
    /// Of two columns.
    struct Sums {
        name: Option<String> = "max(name)",
        count: u64 = "count(*)",
    }
}

#[test]
fn values_records_and_rows_are_taken_one_after_the_other_and_a_record_may_be_missing() {
    let connection = empty();
    connection.execute_batch(&create_table::<Skipped>()).unwrap();
    connection.execute_batch("CREATE TABLE name (name TEXT); INSERT INTO name VALUES ('a'); INSERT INTO skipped VALUES (1, 'symlink', 7)").unwrap();
    for (root, found) in [(1, Some(7)), (2, None)] {
        let (skipped, sums) = (columns::<Skipped>("s"), Sums::select());
        let sql = format!("SELECT {root}, {skipped}, {sums} FROM name LEFT JOIN skipped s ON s.root = {root}");
        type Values = (i64, Option<Skipped>, Sums);
        let read = |row: &rusqlite::Row<'_>| Values::from_row(&mut Columns::of(row));
        let (number, skipped, Sums { name, count }) = connection.query_row(&sql, [], read).unwrap();
        assert_eq!(
            (number, skipped.map(|skipped| skipped.entries), name, count),
            (root, found, Some("a".to_owned()), 1)
        );
    }
}
