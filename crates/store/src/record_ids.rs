//! The ids of all records that people name.

use maestro_core::id::ProjectId;

use crate::change::Query;
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::sql_query::SqlQuery;

/// The newest ids of projects, tasks, sessions and runs.
#[derive(Debug, Clone)]
pub struct RecordIds {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// How many of each kind at most.
    pub limit: i64,
}

impl Query for RecordIds {
    type Output = Vec<(RecordKind, String)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let tables = [
            (RecordKind::Project, "projects", "id"),
            (RecordKind::Task, "tasks", "project_id"),
            (RecordKind::Session, "sessions", "project_id"),
            (RecordKind::Run, "runs", "project_id"),
        ];
        let mut ids = Vec::new();
        for (kind, table, project) in tables {
            let rows = SqlQuery::new(format!("SELECT id FROM {table} WHERE ord > $1"), 0)
                .only(&format!("{project} = ?"), self.project.as_ref())
                .rows(db, "ord DESC", self.limit)?;
            for mut row in rows {
                ids.push((kind, row.text()?));
            }
        }
        Ok(ids)
    }
}
