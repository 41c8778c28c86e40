//! Conditions of a query over one table, with the values in them.

use rusqlite::types::Value;

/// A condition of SQL, and the values of its parameters in their order.
pub(super) struct Condition {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Condition {
    pub(super) fn new() -> Condition {
        Condition { sql: "1".to_owned(), values: Vec::new() }
    }

    pub(super) fn and(&mut self, sql: &str, value: Option<Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.values.extend(value);
    }

    pub(super) fn at_least(&mut self, column: &str, value: Option<i64>) {
        if let Some(value) = value {
            self.and(&format!("{column} >= ?"), Some(Value::Integer(value)));
        }
    }

    pub(super) fn at_most(&mut self, column: &str, value: Option<i64>) {
        if let Some(value) = value {
            self.and(&format!("{column} <= ?"), Some(Value::Integer(value)));
        }
    }

    pub(super) fn is(&mut self, column: &str, value: Option<&String>) {
        if let Some(value) = value {
            self.and(&format!("{column} = ?"), Some(Value::Text(value.clone())));
        }
    }
}
