//! Statements with the same text for both databases, inside a transaction of the caller.

use std::collections::HashMap;

use postgres::types::{ToSql, Type};

use crate::error::{StoreError, is_violation, text_of};
use crate::statements::StatementSource;
use crate::value::{SqlParam, SqlRow, SqlValue};

/// A transaction on one of the two databases.
pub struct DbTx<'c>(pub(crate) DbHandle<'c>);

/// The database behind a transaction.
pub(crate) enum DbHandle<'c> {
    Sqlite(&'c dyn StatementSource),
    Postgres(postgres::Transaction<'c>, &'c mut PgConnectionState),
}

/// What a PostgreSQL connection remembers from one transaction to the next.
#[derive(Default)]
pub(crate) struct PgConnectionState {
    statements: HashMap<String, postgres::Statement>,
    /// Whether the transaction under way may change something.
    pub(crate) writes: bool,
    /// The constraint that was last in the way, in the server's words.
    pub(crate) violated: Option<String>,
}

impl DbTx<'_> {
    /// Carries out a statement and says how many rows it touched.
    pub(crate) fn execute(&mut self, sql: &str, params: &[SqlParam<'_>]) -> Result<u64, StoreError> {
        tracing::trace!(sql);
        check_storable(params)?;
        match &mut self.0 {
            DbHandle::Sqlite(connection) => {
                let mut touched = 0;
                connection.with_statement(sql, &mut |statement| {
                    debug_assert!(has_ordered_params(statement), "parameters must appear in order: {sql}");
                    touched = statement.execute(rusqlite::params_from_iter(params))? as u64;
                    Ok(())
                })?;
                Ok(touched)
            }
            DbHandle::Postgres(transaction, prepared) => {
                let statement = prepared.statement(transaction, sql)?;
                let done = transaction.execute(&statement, &param_refs(params));
                Ok(done.inspect_err(|error| prepared.note(error))?)
            }
        }
    }

    /// Inserts a row into a table that numbers its rows by this key, and returns its number.
    pub(crate) fn insert(&mut self, sql: &str, key: &str, params: &[SqlParam<'_>]) -> Result<i64, StoreError> {
        if let DbHandle::Sqlite(connection) = &self.0 {
            // Asked for afterwards: SQLite keeps what a statement returns in a table of its own.
            let connection = *connection;
            self.execute(sql, params)?;
            return Ok(connection.last_insert_rowid());
        }
        self.number(&format!("{sql} RETURNING {key}"), params)
    }

    /// All rows of a query.
    pub(crate) fn rows(&mut self, sql: &str, params: &[SqlParam<'_>]) -> Result<Vec<SqlRow>, StoreError> {
        tracing::trace!(sql);
        check_storable(params)?;
        match &mut self.0 {
            DbHandle::Sqlite(connection) => {
                let mut rows = Vec::new();
                connection.with_statement(sql, &mut |statement| {
                    debug_assert!(has_ordered_params(statement), "parameters must appear in order: {sql}");
                    let mut found = statement.query(rusqlite::params_from_iter(params))?;
                    while let Some(row) = found.next()? {
                        rows.push(sqlite_row(row)?);
                    }
                    Ok(())
                })?;
                Ok(rows)
            }
            DbHandle::Postgres(transaction, prepared) => {
                let statement = prepared.statement(transaction, sql)?;
                let found = transaction.query(&statement, &param_refs(params));
                let found = found.inspect_err(|error| prepared.note(error))?;
                found.iter().map(postgres_row).collect()
            }
        }
    }

    /// The first row of a query.
    pub(crate) fn row(&mut self, sql: &str, params: &[SqlParam<'_>]) -> Result<Option<SqlRow>, StoreError> {
        Ok(self.rows(sql, params)?.into_iter().next())
    }

    /// The only number of the only row.
    pub(crate) fn number(&mut self, sql: &str, params: &[SqlParam<'_>]) -> Result<i64, StoreError> {
        match self.row(sql, params)? {
            Some(mut row) => row.int(),
            None => Err(StoreError::corrupt(format!("no row for {sql}"))),
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.0, DbHandle::Postgres(..))
    }

    /// What a query ends with whose row decides what is written: others wait until this transaction is over.
    ///
    /// A reader never waits, and SQLite has one writer at a time anyway. The lock is the one that a plain UPDATE
    /// takes, so that rows which only refer to this one can still be added.
    pub(crate) fn lock_clause(&self) -> &'static str {
        match &self.0 {
            DbHandle::Postgres(_, prepared) if prepared.writes => " FOR NO KEY UPDATE",
            _ => "",
        }
    }
}

/// Refuses what only one of the two databases could keep.
fn check_storable(params: &[SqlParam<'_>]) -> Result<(), StoreError> {
    let holds_nul = |param: &SqlParam<'_>| matches!(param, SqlParam::Text(text) if text.contains('\0'));
    if params.iter().any(holds_nul) {
        return Err(StoreError::Invalid("a text holds a NUL character (U+0000), which cannot be stored".to_owned()));
    }
    Ok(())
}

/// SQLite numbers `$1`, `$2` … by where they first appear, so they must appear in order to mean the same as elsewhere.
fn has_ordered_params(statement: &rusqlite::Statement<'_>) -> bool {
    (1..=statement.parameter_count()).all(|index| statement.parameter_name(index) == Some(&format!("${index}")))
}

impl PgConnectionState {
    fn statement(
        &mut self,
        transaction: &mut postgres::Transaction<'_>,
        sql: &str,
    ) -> Result<postgres::Statement, StoreError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = transaction.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn note(&mut self, error: &postgres::Error) {
        if is_violation(error) {
            self.violated = Some(text_of(error));
        }
    }
}

fn param_refs<'a>(params: &'a [SqlParam<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}

fn sqlite_row(row: &rusqlite::Row<'_>) -> Result<SqlRow, StoreError> {
    use rusqlite::types::ValueRef;
    let count = row.as_ref().column_count();
    let mut cells = Vec::with_capacity(count);
    for index in 0..count {
        cells.push(match row.get_ref(index)? {
            ValueRef::Null => SqlValue::Null,
            ValueRef::Integer(number) => SqlValue::Int(number),
            ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
            other => return Err(StoreError::corrupt(format!("column {index} is {:?}", other.data_type()))),
        });
    }
    Ok(SqlRow::new(cells))
}

fn postgres_row(row: &postgres::Row) -> Result<SqlRow, StoreError> {
    let mut cells = Vec::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let cell = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map(SqlValue::Int),
            Type::INT4 => row.try_get::<_, Option<i32>>(index)?.map(|number| SqlValue::Int(number.into())),
            Type::TEXT | Type::VARCHAR | Type::NAME => row.try_get::<_, Option<String>>(index)?.map(SqlValue::Text),
            ref other => return Err(StoreError::corrupt(format!("column {} is {other}", column.name()))),
        };
        cells.push(cell.unwrap_or(SqlValue::Null));
    }
    Ok(SqlRow::new(cells))
}
