//! SQL query with optional conditions.

use crate::Page;
use crate::db::Db;
use crate::error::StoreError;
use crate::value::{Param, Row};

/// A query and its parameters.
pub(crate) struct Query<'a> {
    sql: String,
    params: Vec<Param<'a>>,
}

impl<'a> Query<'a> {
    /// A query whose first condition needs this parameter as `$1`.
    pub(crate) fn new(sql: impl Into<String>, first: impl Into<Param<'a>>) -> Self {
        Self { sql: sql.into(), params: vec![first.into()] }
    }

    /// The same, only for rows that meet a condition; `?` stands for the parameter, and no parameter for no condition.
    pub(crate) fn only(mut self, condition: &str, param: impl Into<Param<'a>>) -> Self {
        let param = param.into();
        if !matches!(param, Param::Null) {
            self.params.push(param);
            self.sql.push_str(" AND ");
            self.sql.push_str(&condition.replace('?', &format!("${}", self.params.len())));
        }
        self
    }

    /// The same with a condition that needs no parameter.
    pub(crate) fn and(mut self, condition: &str) -> Self {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self
    }

    /// The rows, in order and no more than wanted.
    pub(crate) fn rows(mut self, db: &mut Db<'_>, order: &str, limit: i64) -> Result<Vec<Row>, StoreError> {
        self.params.push(limit.max(0).into());
        let sql = format!("{} ORDER BY {order} LIMIT ${}", self.sql, self.params.len());
        db.rows(&sql, &self.params)
    }

    /// The rows of a part of a list.
    pub(crate) fn page(self, db: &mut Db<'_>, page: Page) -> Result<Vec<Row>, StoreError> {
        self.rows(db, "ord", page.asked())
    }
}
