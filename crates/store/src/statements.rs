//! Statements of a SQLite connection, compiled for one use or kept for the next.

use std::cell::RefCell;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use rusqlite::{Connection, PrepFlags, Statement};

use crate::error::StoreError;

/// How many statements are kept. Few texts are made of parts, so this is seldom reached.
const MOST: usize = 256;

/// What uses a statement.
pub(crate) type StatementUse<'u> = dyn FnMut(&mut Statement<'_>) -> Result<(), StoreError> + 'u;

/// A connection that compiles statements.
pub(crate) trait StatementSource {
    /// Compiles a statement, unless it is kept, and has it used once.
    fn with_statement(&self, sql: &str, using: &mut StatementUse<'_>) -> Result<(), StoreError>;

    /// The number of the row that was inserted last.
    fn last_insert_rowid(&self) -> i64;
}

/// For what is done once: opening a file, and bringing its schema up to date.
impl StatementSource for Connection {
    fn with_statement(&self, sql: &str, using: &mut StatementUse<'_>) -> Result<(), StoreError> {
        using(&mut self.prepare(sql)?)
    }

    fn last_insert_rowid(&self) -> i64 {
        Connection::last_insert_rowid(self)
    }
}

/// For threads that use the same statements again and again. The driver's own cache copies the text of a statement for each
/// use, and moves it in and out of a list: a sixth of the cost of a report.
pub(crate) struct KeptStatements<'c> {
    pub(crate) connection: &'c Connection,
    kept: RefCell<HashMap<Box<str>, Statement<'c>, RandomState>>,
}

impl<'c> KeptStatements<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self { connection, kept: RefCell::default() }
    }

    /// Carries out a statement without parameters and rows.
    pub(crate) fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.with_statement(sql, &mut |statement| {
            statement.execute([])?;
            Ok(())
        })
    }
}

impl StatementSource for KeptStatements<'_> {
    fn with_statement(&self, sql: &str, using: &mut StatementUse<'_>) -> Result<(), StoreError> {
        let mut kept = self.kept.borrow_mut();
        if let Some(statement) = kept.get_mut(sql) {
            let used = using(statement);
            // Else the last text, however long, stays with it.
            statement.clear_bindings();
            return used;
        }
        let mut statement = self.connection.prepare_with_flags(sql, PrepFlags::SQLITE_PREPARE_PERSISTENT)?;
        if kept.len() >= MOST {
            kept.clear();
        }
        let used = using(&mut statement);
        statement.clear_bindings();
        kept.insert(sql.into(), statement);
        used
    }

    fn last_insert_rowid(&self) -> i64 {
        self.connection.last_insert_rowid()
    }
}
