//! SQL query with optional conditions.

use crate::ListPage;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::value::{SqlParam, SqlRow};

/// A query and its parameters.
pub(crate) struct SqlQuery<'a> {
    sql: String,
    params: Vec<SqlParam<'a>>,
}

impl<'a> SqlQuery<'a> {
    /// A query whose first condition needs this parameter as `$1`.
    pub(crate) fn new(sql: impl Into<String>, first: impl Into<SqlParam<'a>>) -> Self {
        Self { sql: sql.into(), params: vec![first.into()] }
    }

    /// A query whose first condition needs no parameter.
    pub(crate) fn all(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), params: Vec::new() }
    }

    /// The same, only for rows that meet a condition; `?` stands for the parameter, and no parameter for no condition.
    pub(crate) fn only(mut self, condition: &str, param: impl Into<SqlParam<'a>>) -> Self {
        let param = param.into();
        if !matches!(param, SqlParam::Null) {
            self.params.push(param);
            self.sql.push_str(" AND ");
            self.sql.push_str(&condition.replace('?', &format!("${}", self.params.len())));
        }
        self
    }

    /// The same, only for rows that meet a condition with two parameters.
    pub(crate) fn only_between(
        mut self,
        condition: &str,
        first: impl Into<SqlParam<'a>>,
        second: impl Into<SqlParam<'a>>,
    ) -> Self {
        self.sql.push_str(" AND ");
        let mut rest = condition;
        for param in [first.into(), second.into()] {
            let (before, after) = rest.split_once('?').unwrap_or((rest, ""));
            self.params.push(param);
            self.sql.push_str(before);
            self.sql.push_str(&["$", &self.params.len().to_string()].concat());
            rest = after;
        }
        self.sql.push_str(rest);
        self
    }

    /// The same with a condition that needs no parameter.
    pub(crate) fn and(mut self, condition: &str) -> Self {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self
    }

    /// The rows, in order and no more than wanted.
    pub(crate) fn rows(mut self, db: &mut DbTx<'_>, order: &str, limit: i64) -> Result<Vec<SqlRow>, StoreError> {
        self.params.push(limit.max(0).into());
        let sql = format!("{} ORDER BY {order} LIMIT ${}", self.sql, self.params.len());
        db.rows(&sql, &self.params)
    }

    /// The rows of a part of a list.
    pub(crate) fn page(self, db: &mut DbTx<'_>, page: ListPage) -> Result<Vec<SqlRow>, StoreError> {
        self.rows(db, "ord", page.row_limit())
    }
}
