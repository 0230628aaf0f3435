-- ORDER KEY is a number that grows with each row; SEQUENCE KEY in addition never comes back after its row is gone.

CREATE TABLE projects (
  ord ORDER KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  working_dir TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  revision BIGINT NOT NULL
);

-- by_hand is 1 when a person or orchestrator said how far a task is, and 0 when that follows from others.
CREATE TABLE tasks (
  ord ORDER KEY,
  id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects (id),
  parent_id TEXT REFERENCES tasks (id),
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  status TEXT NOT NULL,
  priority TEXT NOT NULL,
  initial_prompt TEXT NOT NULL,
  skills TEXT NOT NULL,
  agents TEXT NOT NULL,
  dependencies TEXT NOT NULL,
  model TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  started_at BIGINT,
  completed_at BIGINT,
  by_hand BIGINT NOT NULL,
  revision BIGINT NOT NULL
);
CREATE INDEX tasks_by_project ON tasks (project_id, ord);
CREATE INDEX tasks_by_parent ON tasks (parent_id, ord);

CREATE TABLE sessions (
  ord ORDER KEY,
  id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects (id),
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  agent TEXT,
  env TEXT NOT NULL,
  strategy TEXT NOT NULL,
  status TEXT NOT NULL,
  paused_from TEXT,
  end_reason TEXT,
  needs_input TEXT,
  parent_id TEXT,
  started_at BIGINT NOT NULL,
  last_activity BIGINT NOT NULL,
  lease_until BIGINT,
  completed_at BIGINT,
  hostname TEXT NOT NULL,
  platform TEXT NOT NULL,
  metadata TEXT NOT NULL,
  revision BIGINT NOT NULL
);
CREATE INDEX sessions_by_project ON sessions (project_id, ord);
CREATE INDEX sessions_by_status ON sessions (status);

CREATE TABLE task_sessions (
  task_id TEXT NOT NULL REFERENCES tasks (id),
  session_id TEXT NOT NULL REFERENCES sessions (id),
  position BIGINT NOT NULL,
  status TEXT,
  bound_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (session_id, task_id)
);
CREATE INDEX task_sessions_by_task ON task_sessions (task_id);

-- The id of a line is made of its time and its place, so it need not be kept.
CREATE TABLE timeline (
  ord ORDER KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  task_id TEXT,
  kind TEXT NOT NULL,
  at BIGINT NOT NULL,
  message TEXT NOT NULL,
  metadata TEXT
);
CREATE INDEX timeline_by_session ON timeline (session_id, ord);

CREATE TABLE session_events (
  ord ORDER KEY,
  id TEXT NOT NULL,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  kind TEXT NOT NULL,
  at BIGINT NOT NULL,
  data TEXT
);
CREATE INDEX session_events_by_session ON session_events (session_id, ord);

CREATE TABLE queues (
  session_id TEXT PRIMARY KEY REFERENCES sessions (id),
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

CREATE TABLE queue_items (
  session_id TEXT NOT NULL REFERENCES queues (session_id),
  position BIGINT NOT NULL,
  task_id TEXT NOT NULL REFERENCES tasks (id),
  status TEXT NOT NULL,
  added_at BIGINT NOT NULL,
  started_at BIGINT,
  completed_at BIGINT,
  fail_reason TEXT,
  PRIMARY KEY (session_id, position)
);

CREATE TABLE notices (
  ord SEQUENCE KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  at BIGINT NOT NULL,
  notice TEXT NOT NULL
);
CREATE INDEX notices_by_session ON notices (session_id, ord);

CREATE TABLE messages (
  ord ORDER KEY,
  id TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  sender TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,
  how TEXT,
  created_at BIGINT NOT NULL,
  settled_at BIGINT
);
CREATE INDEX messages_by_session ON messages (session_id, ord);

CREATE TABLE handoffs (
  ord ORDER KEY,
  id TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL REFERENCES projects (id),
  task_id TEXT,
  from_role TEXT NOT NULL,
  to_role TEXT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,
  accepted_by TEXT,
  result TEXT,
  created_at BIGINT NOT NULL,
  accepted_at BIGINT,
  completed_at BIGINT
);

-- A token is kept as its hash only.
CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  created_at BIGINT NOT NULL
);
CREATE INDEX tokens_by_session ON tokens (session_id);

-- What was answered to a request that may come again; a key is kept as its hash, so that it may be as long as it likes.
CREATE TABLE answers (
  request TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  answer TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX answers_by_age ON answers (at);

-- Until when something was done to the whole database: the events of finished things forgotten, say.
CREATE TABLE upkeep (
  name TEXT PRIMARY KEY,
  until BIGINT NOT NULL
);

-- The newest event is never removed, so its number never comes back.
CREATE TABLE events (
  seq ORDER KEY,
  at BIGINT NOT NULL,
  type TEXT NOT NULL,
  version BIGINT NOT NULL,
  project TEXT,
  task TEXT,
  session TEXT,
  run TEXT,
  payload TEXT NOT NULL
);
