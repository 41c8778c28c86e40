//! What a record is: a struct whose fields are the columns of one table, each declared once. The declaration makes the table, inserts rows
//! and reads them, so that a column has one name, one type and one description.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::marker::PhantomData;

use rusqlite::{Connection, Statement};

use crate::ratio::Ratio;
use crate::row::{FromRow, value_from, values};

/// A word of a closed list, such as a status: the writer has all of them at hand.
pub type Word = Cow<'static, str>;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type in SQL, with `NOT NULL` where it has always a value.
    pub sql: &'static str,
    /// A constraint, or nothing.
    pub constraint: &'static str,
    /// What it says.
    pub about: &'static str,
}

/// A row of one table of a result.
pub trait Record: FromRow {
    /// The name of the table.
    const TABLE: &'static str;
    /// What the table has.
    const ABOUT: &'static str;
    /// Its columns in their order.
    const COLUMNS: &'static [Column];

    /// Binds its columns to the parameters of a statement.
    ///
    /// # Errors
    /// Fails if the statement has other parameters.
    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<()>;
}

/// A value of a column.
pub(crate) trait Cell: FromRow {
    /// The type in SQL.
    const SQL: &'static str;

    fn bind(&self, statement: &mut Statement<'_>, place: usize) -> rusqlite::Result<()>;

    /// A value for tests, another one for each number.
    #[cfg(test)]
    fn sample(number: u8) -> Self;
}

/// Implements [`Cell`] for types that `SQLite` takes as they are, and for those that may be missing.
macro_rules! cells {
    ($($type:ty: $sql:literal, $sample:expr);* $(;)?) => {$(
        values!($type, Option<$type>);

        impl Cell for $type {
            const SQL: &'static str = concat!($sql, " NOT NULL");

            fn bind(&self, statement: &mut Statement<'_>, place: usize) -> rusqlite::Result<()> {
                statement.raw_bind_parameter(place, self)
            }

            #[cfg(test)]
            fn sample(number: u8) -> Self {
                $sample(number)
            }
        }

        impl Cell for Option<$type> {
            const SQL: &'static str = $sql;

            fn bind(&self, statement: &mut Statement<'_>, place: usize) -> rusqlite::Result<()> {
                statement.raw_bind_parameter(place, self)
            }

            #[cfg(test)]
            fn sample(number: u8) -> Self {
                (!number.is_multiple_of(3)).then(|| $sample(number))
            }
        }
    )*};
}

cells! {
    bool: "INTEGER", |number: u8| number.is_multiple_of(2);
    i64: "INTEGER", i64::from;
    usize: "INTEGER", usize::from;
    String: "TEXT", |number: u8| format!("text {number}");
    Vec<u8>: "BLOB", |number: u8| vec![0xff, number];
    [u8; 16]: "BLOB", |number: u8| [number; 16];
}

/// Implements [`Cell`] for types that are bound and read as others.
macro_rules! cells_as {
    ($($type:ty: $sql:literal, $to:expr, $from:expr, $sample:expr);* $(;)?) => {$(
        value_from!($type, $from);

        impl Cell for $type {
            const SQL: &'static str = concat!($sql, " NOT NULL");

            fn bind(&self, statement: &mut Statement<'_>, place: usize) -> rusqlite::Result<()> {
                statement.raw_bind_parameter(place, $to(self))
            }

            #[cfg(test)]
            fn sample(number: u8) -> Self {
                $sample(number)
            }
        }

        impl Cell for Option<$type> {
            const SQL: &'static str = $sql;

            fn bind(&self, statement: &mut Statement<'_>, place: usize) -> rusqlite::Result<()> {
                statement.raw_bind_parameter(place, self.as_ref().map($to))
            }

            #[cfg(test)]
            fn sample(number: u8) -> Self {
                (!number.is_multiple_of(3)).then(|| $sample(number))
            }
        }
    )*};
}

cells_as! {
    u64: "INTEGER", saturated, |count: u64| count, u64::from;
    Ratio: "INTEGER", |ratio: &Ratio| ratio.0, Ratio, |number: u8| Ratio(number.into());
    Word: "TEXT", |word: &Word| rusqlite::types::Value::Text(word.to_string()), |word: String| Word::Owned(word),
        |number: u8| Word::Owned(format!("word {number}"));
}

/// Sizes and counts fit `SQLite`'s signed integers by far; a site may have claimed more.
fn saturated(count: &u64) -> i64 {
    i64::try_from(*count).unwrap_or(i64::MAX)
}

/// Declares a record.
macro_rules! record {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident in $table:literal {
            $($(#[doc = $column_about:literal])* pub $column:ident: $type:ty $(= $constraint:literal)?),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $name {
            $($(#[doc = $column_about])* pub $column: $type,)*
        }

        impl $crate::row::FromRow for $name {
            fn from_row(columns: &mut $crate::row::Columns<'_>) -> rusqlite::Result<Self> {
                Ok($name { $($column: $crate::row::FromRow::from_row(columns)?),* })
            }
        }

        impl $crate::row::FromRow for Option<$name> {
            fn from_row(columns: &mut $crate::row::Columns<'_>) -> rusqlite::Result<Self> {
                columns.optional(<$name as $crate::record::Record>::COLUMNS.len())
            }
        }

        impl $crate::record::Record for $name {
            const TABLE: &'static str = $table;
            const ABOUT: &'static str = concat!($($about,)*);
            const COLUMNS: &'static [$crate::record::Column] = &[$($crate::record::Column {
                name: stringify!($column),
                sql: <$type as $crate::record::Cell>::SQL,
                constraint: concat!($($constraint)?),
                about: concat!($($column_about,)*),
            }),*];

            fn bind(&self, statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<()> {
                let mut places = 1..;
                let mut next = || places.next().unwrap_or_default();
                $($crate::record::Cell::bind(&self.$column, statement, next())?;)*
                Ok(())
            }
        }

        #[cfg(test)]
        impl $crate::tests::Sample for $name {
            fn sample(first: u8) -> Self {
                let mut numbers = first..;
                let mut next = || numbers.next().unwrap_or_default();
                $name { $($column: $crate::record::Cell::sample(next())),* }
            }
        }
    };
}
pub(crate) use record;

/// The statement that makes the table of a record, with what each column says.
pub fn create_table<R: Record>() -> String {
    let mut sql = format!("--{}\nCREATE TABLE {} (\n", R::ABOUT, R::TABLE);
    for (place, Column { name, sql: kind, constraint, about }) in R::COLUMNS.iter().enumerate() {
        let kind = if *constraint == "PRIMARY KEY" { "INTEGER" } else { kind };
        let space = if constraint.is_empty() { "" } else { " " };
        let comma = if place + 1 < R::COLUMNS.len() { "," } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(sql, "  {name} {kind}{space}{constraint}{comma} --{about}");
    }
    sql + ");\n"
}

/// The columns of a record for a `SELECT`, of the table that is called `alias` there.
pub fn columns<R: Record>(alias: &str) -> String {
    let names: Vec<String> = R::COLUMNS.iter().map(|column| format!("{alias}.{}", column.name)).collect();
    names.join(", ")
}

/// Inserts records of one kind.
pub struct Insert<'c, R> {
    statement: Statement<'c>,
    of: PhantomData<R>,
}

impl<R: Record> Insert<'_, R> {
    /// Prepares the insertion into a file that has the tables.
    ///
    /// # Errors
    /// Fails if it has no such table.
    pub fn into(connection: &Connection) -> rusqlite::Result<Insert<'_, R>> {
        let parameters = vec!["?"; R::COLUMNS.len()].join(",");
        let statement = connection.prepare(&format!("INSERT INTO {} VALUES ({parameters})", R::TABLE))?;
        Ok(Insert { statement, of: PhantomData })
    }

    /// Inserts a record.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn add(&mut self, record: &R) -> rusqlite::Result<()> {
        record.bind(&mut self.statement)?;
        self.statement.raw_execute().map(drop)
    }

    /// Inserts records.
    ///
    /// # Errors
    /// Fails if one cannot be written.
    pub fn add_all(mut self, records: impl IntoIterator<Item = R>) -> rusqlite::Result<()> {
        records.into_iter().try_for_each(|record| self.add(&record))
    }
}
