//! Parameters of statements and values of rows.
//!
//! Columns are TEXT, BIGINT, DOUBLE or BLOB only, so that one statement means the same to both databases.

use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;

use maestro_core::id::{EntryId, HandoffId, Id, MessageId, ProjectId, SessionId, TaskId};
use postgres::types::{IsNull, ToSql, Type, private::BytesMut};
use serde::de::DeserializeOwned;

use crate::error::StoreError;

/// A value for a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    Null,
    Text(&'a str),
    Int(i64),
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

macro_rules! ids {
    ($($id:ty),*) => {$(
        impl<'a> From<&'a $id> for Param<'a> {
            fn from(id: &'a $id) -> Self {
                Self::Text(id.as_str())
            }
        }
    )*};
}

ids!(ProjectId, TaskId, SessionId, EntryId, MessageId, HandoffId);

impl From<i64> for Param<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, ValueRef};
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Int(number) => ValueRef::Integer(*number),
        }))
    }
}

impl ToSql for Param<'_> {
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
pub(crate) enum Cell {
    Null,
    Text(String),
    Int(i64),
}

/// A row, read from left to right.
#[derive(Debug)]
pub(crate) struct Row {
    cells: std::vec::IntoIter<Cell>,
}

impl Row {
    pub(crate) fn new(cells: Vec<Cell>) -> Self {
        Self { cells: cells.into_iter() }
    }

    fn next(&mut self) -> Cell {
        self.cells.next().unwrap_or(Cell::Null)
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        match self.next() {
            Cell::Text(text) => Ok(text),
            other => Err(StoreError::corrupt(format!("a text was expected, not {other:?}"))),
        }
    }

    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>, StoreError> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            other @ Cell::Int(_) => Err(StoreError::corrupt(format!("a text was expected, not {other:?}"))),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        match self.next() {
            Cell::Int(number) => Ok(number),
            other => Err(StoreError::corrupt(format!("a number was expected, not {other:?}"))),
        }
    }

    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>, StoreError> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Int(number) => Ok(Some(number)),
            other @ Cell::Text(_) => Err(StoreError::corrupt(format!("a number was expected, not {other:?}"))),
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

/// A value as it is stored.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::corrupt(format!("cannot be stored as JSON: {error}")))
}
