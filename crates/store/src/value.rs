//! Parameters of statements and values of rows.
//!
//! Columns are TEXT, BIGINT, DOUBLE or BLOB only, so that one statement means the same to both databases.

use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;

use maestro_core::id::{AccessTokenId, EntityId, EntryId, HandoffId, MessageId, ProjectId, SessionId, TaskId};
use postgres::types::{IsNull, ToSql, Type, private::BytesMut};
use serde::de::DeserializeOwned;

use crate::error::StoreError;

/// A value for a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SqlParam<'a> {
    Null,
    Text(&'a str),
    Int(i64),
}

impl<'a> From<&'a str> for SqlParam<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for SqlParam<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

macro_rules! ids {
    ($($id:ty),*) => {$(
        impl<'a> From<&'a $id> for SqlParam<'a> {
            fn from(id: &'a $id) -> Self {
                Self::Text(id.as_str())
            }
        }
    )*};
}

ids!(ProjectId, TaskId, SessionId, EntryId, MessageId, HandoffId, AccessTokenId);

impl From<i64> for SqlParam<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl<'a, T: Into<SqlParam<'a>>> From<Option<T>> for SqlParam<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for SqlParam<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, ValueRef};
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Int(number) => ValueRef::Integer(*number),
        }))
    }
}

impl ToSql for SqlParam<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Int(number) => number.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

/// A value out of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlValue {
    Null,
    Text(String),
    Int(i64),
}

/// A row, read from left to right.
#[derive(Debug)]
pub(crate) struct SqlRow {
    cells: std::vec::IntoIter<SqlValue>,
}

impl SqlRow {
    pub(crate) fn new(cells: Vec<SqlValue>) -> Self {
        Self { cells: cells.into_iter() }
    }

    fn next(&mut self) -> SqlValue {
        self.cells.next().unwrap_or(SqlValue::Null)
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        match self.next() {
            SqlValue::Text(text) => Ok(text),
            other => Err(StoreError::corrupt(format!("a text was expected, not {other:?}"))),
        }
    }

    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>, StoreError> {
        match self.next() {
            SqlValue::Null => Ok(None),
            SqlValue::Text(text) => Ok(Some(text)),
            other @ SqlValue::Int(_) => Err(StoreError::corrupt(format!("a text was expected, not {other:?}"))),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        match self.next() {
            SqlValue::Int(number) => Ok(number),
            other => Err(StoreError::corrupt(format!("a number was expected, not {other:?}"))),
        }
    }

    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>, StoreError> {
        match self.next() {
            SqlValue::Null => Ok(None),
            SqlValue::Int(number) => Ok(Some(number)),
            other @ SqlValue::Text(_) => Err(StoreError::corrupt(format!("a number was expected, not {other:?}"))),
        }
    }

    /// A word or id that only certain texts can be.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(&mut self) -> Result<T, StoreError> {
        parse(&self.text()?)
    }

    pub(crate) fn maybe_parsed<T: FromStr<Err: Display>>(&mut self) -> Result<Option<T>, StoreError> {
        self.maybe_text()?.map(|text| parse(&text)).transpose()
    }

    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        from_json(&self.text()?)
    }

    pub(crate) fn maybe_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>, StoreError> {
        self.maybe_text()?.map(|text| from_json(&text)).transpose()
    }
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, StoreError> {
    text.parse().map_err(|error| StoreError::corrupt(format!("`{text}`: {error}")))
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::corrupt(format!("stored JSON: {error}")))
}

/// What was stored, or nothing of it where it cannot be read any more: a row must not make a run unreadable.
pub(crate) fn or_unknown<T: Default>(read: Result<T, serde_json::Error>, what: &str) -> T {
    read.unwrap_or_else(|error| {
        tracing::warn!(what, "a stored value cannot be read: {error}");
        T::default()
    })
}

/// A value as it is stored.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::corrupt(format!("cannot be stored as JSON: {error}")))
}
