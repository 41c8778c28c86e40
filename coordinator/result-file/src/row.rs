//! Reads values and records from a row of a query, one after the other in the order of its columns. So the expressions of a query stand next
//! to the fields that they fill, and nobody counts columns.

use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};

/// The columns of a row, taken in their order.
pub struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    /// All columns of a row.
    pub fn of(row: &'r Row<'r>) -> Columns<'r> {
        Columns { row, next: 0 }
    }

    /// Takes a value.
    pub(crate) fn value<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }

    /// Takes a record of a table that a query joins where it has a row. The first column of every record has a value.
    pub(crate) fn optional<R: FromRow>(&mut self, width: usize) -> rusqlite::Result<Option<R>> {
        match self.row.get_ref(self.next)? {
            ValueRef::Null => {
                self.next += width;
                Ok(None)
            }
            _ => R::from_row(self).map(Some),
        }
    }
}

/// A value, a record or several of them that a row of a query has.
pub trait FromRow: Sized {
    /// Takes its columns.
    ///
    /// # Errors
    /// Fails if a value has another type than its column.
    fn from_row(columns: &mut Columns<'_>) -> rusqlite::Result<Self>;
}

/// Implements [`FromRow`] for types that `SQLite` has as they are.
macro_rules! values {
    ($($type:ty),*) => {$(
        impl $crate::row::FromRow for $type {
            fn from_row(columns: &mut $crate::row::Columns<'_>) -> rusqlite::Result<Self> {
                columns.value()
            }
        }
    )*};
}

/// Implements [`FromRow`] for a type that is made of one that `SQLite` has.
macro_rules! value_from {
    ($type:ty, $from:expr) => {
        impl $crate::row::FromRow for $type {
            fn from_row(columns: &mut $crate::row::Columns<'_>) -> rusqlite::Result<Self> {
                columns.value().map($from)
            }
        }

        impl $crate::row::FromRow for Option<$type> {
            fn from_row(columns: &mut $crate::row::Columns<'_>) -> rusqlite::Result<Self> {
                Ok(columns.value::<Option<_>>()?.map($from))
            }
        }
    };
}
pub(crate) use {value_from, values};

values!(u32, [u8; 18]);

/// Implements [`FromRow`] for tuples.
macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: FromRow),*> FromRow for ($($name,)*) {
            fn from_row(columns: &mut Columns<'_>) -> rusqlite::Result<Self> {
                Ok(($($name::from_row(columns)?,)*))
            }
        }
    )*};
}

tuples! { (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) }

/// Declares what the rows of a query come to where they are no records: each field with its expression in SQL. `select` lists these.
#[macro_export]
macro_rules! row {
    (
        $(#[doc = $about:literal])*
        $visibility:vis struct $name:ident {
            $($(#[doc = $field_about:literal])* $field:ident: $type:ty = $sql:expr),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        $visibility struct $name {
            $($(#[doc = $field_about])* $visibility $field: $type,)*
        }

        impl $name {
            /// The columns, for a `SELECT`.
            $visibility fn select() -> String {
                [$(String::from($sql)),*].join(", ")
            }
        }

        impl $crate::FromRow for $name {
            fn from_row(columns: &mut $crate::Columns<'_>) -> rusqlite::Result<Self> {
                Ok($name { $($field: $crate::FromRow::from_row(columns)?),* })
            }
        }
    };
}
