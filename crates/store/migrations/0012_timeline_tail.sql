-- On SQLite, the newest lines of all timelines, in the order in which they came. `timeline` has the others, session by session.
CREATE TABLE timeline_tail (
  ord ORDER KEY,
  session_id TEXT NOT NULL,
  task_id TEXT,
  kind TEXT NOT NULL,
  at BIGINT NOT NULL,
  message TEXT NOT NULL,
  metadata TEXT
);
