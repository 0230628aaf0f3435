//! Numbers of tasks, which cost the same however many there are.

use std::collections::BTreeMap;

use maestro_core::task::{TaskPriority, TaskStatus};
use maestro_core::work_state::{WorkState, status_state};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::request::ApiRequest;
use crate::schemas::IdText;

/// Whose tasks are counted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct TaskCountQuery {
    /// Only this project's.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
}

/// How many tasks there are, subtasks included. What is nought is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TaskCounts)]
pub struct TaskCountBody {
    /// All of them.
    pub total: i64,
    /// By status.
    pub by_status: BTreeMap<String, i64>,
    /// By how they stand, as people read it.
    pub by_state: BTreeMap<String, i64>,
    /// By priority.
    pub by_priority: BTreeMap<String, i64>,
}

impl TaskCountBody {
    /// The numbers by status and priority; `asking` of those in progress wait for a person.
    pub fn new(tasks: &[(TaskStatus, TaskPriority, i64)], asking: i64) -> Self {
        let mut body = Self::default();
        for (status, priority, number) in tasks {
            body.total += number;
            add(&mut body.by_status, status.as_str(), *number);
            add(&mut body.by_state, status_state(*status).as_str(), *number);
            add(&mut body.by_priority, priority.as_str(), *number);
        }
        add(&mut body.by_state, status_state(TaskStatus::InProgress).as_str(), -asking);
        add(&mut body.by_state, WorkState::Waiting.as_str(), asking);
        body.by_state.retain(|_, number| *number != 0);
        body
    }
}

fn add(numbers: &mut BTreeMap<String, i64>, word: &str, number: i64) {
    *numbers.entry(word.to_owned()).or_default() += number;
}

/// How many tasks there are.
pub fn count(query: &TaskCountQuery) -> ApiRequest<TaskCountBody> {
    ApiRequest::get("/api/tasks/counts").with_query(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_whose_session_asks_waits_and_does_not_work() {
        let (medium, low) = (TaskPriority::Medium, TaskPriority::Low);
        let body = TaskCountBody::new(&[(TaskStatus::InProgress, medium, 2), (TaskStatus::Todo, low, 3)], 2);
        let numbers = |pairs: &[(&str, i64)]| pairs.iter().map(|(word, n)| ((*word).to_owned(), *n)).collect();
        assert_eq!(body.total, 5);
        assert_eq!(body.by_status, numbers(&[("in_progress", 2), ("todo", 3)]));
        assert_eq!(body.by_state, numbers(&[("queued", 3), ("waiting", 2)]));
        assert_eq!(body.by_priority, numbers(&[("low", 3), ("medium", 2)]));
    }
}
