-- Indexes and counts that keep every statement about what is at work as fast after a million events as on the first day.

-- What is at work is found by its status; lists go on in the order of creation.
DROP INDEX sessions_by_status;
CREATE INDEX sessions_by_status ON sessions (status, ord);
CREATE INDEX sessions_by_project_status ON sessions (project_id, status, ord);
CREATE INDEX sessions_by_end ON sessions (status, completed_at);
CREATE INDEX sessions_by_project_end ON sessions (project_id, status, completed_at);
CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;

CREATE INDEX tasks_by_status ON tasks (status, ord);
CREATE INDEX tasks_by_project_status ON tasks (project_id, status, ord);
CREATE INDEX tasks_by_completion ON tasks (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX tasks_by_project_completion ON tasks (project_id, completed_at) WHERE completed_at IS NOT NULL;
-- Not by the status alone: it would be looked up, and what is done sorted each time.
CREATE INDEX tasks_done ON tasks ((coalesce(completed_at, updated_at)), ord)
  WHERE coalesce(status, '') IN ('completed', 'cancelled', 'archived');
CREATE INDEX tasks_done_by_project ON tasks (project_id, (coalesce(completed_at, updated_at)), ord)
  WHERE coalesce(status, '') IN ('completed', 'cancelled', 'archived');

CREATE INDEX spawns_by_update ON spawns (updated_at);
CREATE INDEX step_sessions_open ON step_sessions (ord) WHERE settled_at IS NULL;
CREATE INDEX permissions_open ON permissions (expires_at) WHERE answer IS NULL;
CREATE INDEX tokens_open ON tokens (session_id) WHERE ended_at IS NULL;
CREATE INDEX queue_items_by_task ON queue_items (task_id);
CREATE INDEX handoffs_by_project ON handoffs (project_id, ord);
CREATE INDEX skill_deliveries_by_skill ON skill_deliveries (skill, ord);

DROP INDEX runs_by_status;
CREATE INDEX runs_by_status ON runs (status, ord);
CREATE INDEX runs_by_workflow ON runs (workflow, ord);
CREATE INDEX runs_by_update ON runs (updated_at);
CREATE INDEX runs_by_project_update ON runs (project_id, updated_at);
CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_by_project_end ON runs (project_id, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_by_project_status ON runs (project_id, status, ord);
CREATE INDEX runs_unlanded ON runs (ord) WHERE status = 'completed' AND landing IS NULL AND parent_run IS NULL;

-- How many tasks there are; level is 'task' or 'subtask'.
CREATE TABLE task_counts (
  project_id TEXT NOT NULL,
  status TEXT NOT NULL,
  priority TEXT NOT NULL,
  level TEXT NOT NULL,
  tasks BIGINT NOT NULL,
  PRIMARY KEY (project_id, status, priority, level)
);
INSERT INTO task_counts (project_id, status, priority, level, tasks)
  SELECT project_id, status, priority, CASE WHEN parent_id IS NULL THEN 'task' ELSE 'subtask' END, count(*)
  FROM tasks GROUP BY project_id, status, priority, CASE WHEN parent_id IS NULL THEN 'task' ELSE 'subtask' END;
