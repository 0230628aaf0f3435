-- What runs were started with, by its hash: a run's own row changes with every report, and this never does.
CREATE TABLE pinned (
  hash TEXT PRIMARY KEY,
  definitions TEXT NOT NULL
);

-- One run is one row. executor says who executes something for it, and until when that is believed.
CREATE TABLE runs (
  ord ORDER KEY,
  id TEXT NOT NULL UNIQUE,
  project_id TEXT,
  task_id TEXT,
  session_id TEXT,
  parent_run TEXT,
  parent_ticket TEXT,
  workflow TEXT NOT NULL,
  hash TEXT NOT NULL REFERENCES pinned (hash),
  driver TEXT NOT NULL,
  state TEXT NOT NULL,
  state_version BIGINT NOT NULL,
  status TEXT NOT NULL,
  waiting TEXT,
  step TEXT,
  executor TEXT,
  executor_until BIGINT,
  deadline BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  ended_at BIGINT,
  revision BIGINT NOT NULL
);
CREATE INDEX runs_by_project ON runs (project_id, ord);
CREATE UNIQUE INDEX runs_by_parent ON runs (parent_run, parent_ticket);
CREATE INDEX runs_by_status ON runs (status, driver);
CREATE INDEX runs_by_deadline ON runs (deadline) WHERE deadline IS NOT NULL;
CREATE INDEX events_by_run ON events (run, seq) WHERE run IS NOT NULL;
