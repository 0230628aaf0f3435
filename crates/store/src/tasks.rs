//! Changes and queries of tasks.

mod create;
mod delete;
mod list;
mod set_parent;
mod update;

use maestro_core::event::Event;
use maestro_core::notice::SessionNotice;
use maestro_core::task::Task;

use crate::actor::Actor;
use crate::error::StoreError;
use crate::notices;
use crate::task_rows::{fact, scope};
use crate::tx::ChangeTx;

pub use create::CreateTask;
pub use delete::{DeleteTask, SubtaskPolicy};
pub(crate) use list::load_sessions;
pub use list::{TaskById, TaskFilter, TaskList};
pub use set_parent::SetTaskParent;
pub use update::{TaskPatch, UpdateTask};

/// Notes that a task changed, for the log and for the sessions at work on it.
fn note_change(tx: &mut ChangeTx<'_>, task: &Task, fields: &[&str], actor: &Actor) -> Result<(), StoreError> {
    tx.emit(scope(task), Event::TaskUpdated(fact(task, fields, actor)));
    let notice = SessionNotice::TaskChanged {
        task: task.id.clone(),
        title: task.title.clone(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
    };
    notices::notify_task(tx, &task.id, &notice, actor.session())
}
