//! Projects: create, change, delete and list.

use maestro_core::event::{Event, NameFact};
use maestro_core::id::ProjectId;
use maestro_core::project::Project;

use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::tx::{ChangeTx, EventScope};
use crate::value::SqlRow;
use crate::{ListPage, PageItems};

const SELECT: &str = "SELECT ord, id, name, working_dir, description, created_at, updated_at, revision FROM projects";

fn project(row: &mut SqlRow) -> Result<Project, StoreError> {
    Ok(Project {
        id: row.parsed()?,
        name: row.text()?,
        working_dir: row.text()?,
        description: row.text()?,
        created_at: row.int()?,
        updated_at: row.int()?,
        revision: row.int()?,
    })
}

pub(crate) fn by_id(db: &mut DbTx<'_>, id: &ProjectId) -> Result<Project, StoreError> {
    let found = db.row(&format!("{SELECT} WHERE id = $1"), &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(RecordKind::Project, id))?;
    row.int()?;
    project(&mut row)
}

fn fact(project: &Project) -> NameFact<ProjectId> {
    NameFact { id: project.id.clone(), name: project.name.clone() }
}

/// Creates a project.
#[derive(Debug, Clone)]
pub struct CreateProject {
    /// Its name, for people.
    pub name: String,
    /// Its directory.
    pub working_dir: String,
    /// What it is about.
    pub description: String,
}

impl Change for CreateProject {
    type Output = Project;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Project, StoreError> {
        let project = Project {
            id: tx.make_id()?,
            name: self.name.clone(),
            working_dir: self.working_dir.clone(),
            description: self.description.clone(),
            created_at: tx.now,
            updated_at: tx.now,
            revision: 1,
        };
        tx.execute(
            "INSERT INTO projects (id, name, working_dir, description, created_at, updated_at, revision) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                (&project.id).into(),
                (&project.name).into(),
                (&project.working_dir).into(),
                (&project.description).into(),
                project.created_at.into(),
                project.updated_at.into(),
                project.revision.into(),
            ],
        )?;
        tx.emit(EventScope::project(&project.id), Event::ProjectCreated(fact(&project)));
        Ok(project)
    }
}

/// Changes a project.
#[derive(Debug, Clone)]
pub struct UpdateProject {
    /// Which one.
    pub id: ProjectId,
    /// Its new name.
    pub name: Option<String>,
    /// Its new directory.
    pub working_dir: Option<String>,
    /// What it is about now.
    pub description: Option<String>,
}

impl Change for UpdateProject {
    type Output = Project;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Project, StoreError> {
        let mut project = by_id(tx, &self.id)?;
        let replace = |field: &mut String, value: &Option<String>| {
            if let Some(value) = value {
                field.clone_from(value);
            }
        };
        replace(&mut project.name, &self.name);
        replace(&mut project.working_dir, &self.working_dir);
        replace(&mut project.description, &self.description);
        project.updated_at = tx.now;
        project.revision += 1;
        tx.execute(
            "UPDATE projects SET name = $1, working_dir = $2, description = $3, updated_at = $4, revision = $5 \
             WHERE id = $6",
            &[
                (&project.name).into(),
                (&project.working_dir).into(),
                (&project.description).into(),
                project.updated_at.into(),
                project.revision.into(),
                (&project.id).into(),
            ],
        )?;
        tx.emit(EventScope::project(&project.id), Event::ProjectUpdated(fact(&project)));
        Ok(project)
    }
}

/// Removes a project that nothing belongs to any more.
#[derive(Debug, Clone)]
pub struct DeleteProject {
    /// Which one.
    pub id: ProjectId,
}

impl Change for DeleteProject {
    type Output = ();

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        let project = by_id(tx, &self.id)?;
        if tx.row("SELECT ord FROM tasks WHERE project_id = $1 LIMIT 1", &[(&self.id).into()])?.is_some() {
            return Err(StoreError::Rule("Cannot delete project with existing tasks".to_owned()));
        }
        if tx.row("SELECT ord FROM sessions WHERE project_id = $1 LIMIT 1", &[(&self.id).into()])?.is_some() {
            return Err(StoreError::Rule("Cannot delete project with existing sessions".to_owned()));
        }
        tx.execute("DELETE FROM handoffs WHERE project_id = $1", &[(&self.id).into()])?;
        tx.execute("DELETE FROM runs WHERE project_id = $1", &[(&self.id).into()])?;
        tx.execute("DELETE FROM task_counts WHERE project_id = $1", &[(&self.id).into()])?;
        tx.execute("DELETE FROM projects WHERE id = $1", &[(&self.id).into()])?;
        tx.emit(EventScope::project(&self.id), Event::ProjectDeleted(fact(&project)));
        Ok(())
    }
}

/// One project.
#[derive(Debug, Clone)]
pub struct ProjectById(
    /// Which one.
    pub ProjectId,
);

impl Query for ProjectById {
    type Output = Project;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Project, StoreError> {
        by_id(db, &self.0)
    }
}

/// All projects, oldest first.
#[derive(Debug, Clone, Default)]
pub struct ProjectList {
    /// Which part of them.
    pub page: ListPage,
}

impl Query for ProjectList {
    type Output = PageItems<Project>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<Project>, StoreError> {
        let sql = format!("{SELECT} WHERE ord > $1 ORDER BY ord LIMIT $2");
        let rows = db.rows(&sql, &[self.page.after.into(), self.page.row_limit().into()])?;
        self.page.list(rows, project)
    }
}
