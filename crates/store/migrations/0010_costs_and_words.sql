-- What is asked often, kept beside what it follows from; and each timeline in one place.
--
-- CLUSTERED is a table whose rows lie in the order of their key; WORD a text that is compared byte by byte.

-- Millionths of a dollar: what the agent cost, and how much of that counts against limits; NULL where no agent worked.
ALTER TABLE spawns ADD COLUMN cost_micros BIGINT;
ALTER TABLE spawns ADD COLUMN counted_micros BIGINT;
DROP INDEX spawns_by_update;
CREATE INDEX spawns_by_update ON spawns (updated_at, cost_micros);

-- A line has the number of its event.
CREATE TABLE timeline_rows (
  session_id TEXT NOT NULL REFERENCES sessions (id),
  ord BIGINT NOT NULL,
  task_id TEXT,
  kind TEXT NOT NULL,
  at BIGINT NOT NULL,
  message TEXT NOT NULL,
  metadata TEXT,
  PRIMARY KEY (session_id, ord)
) CLUSTERED;
INSERT INTO timeline_rows (session_id, ord, task_id, kind, at, message, metadata)
  SELECT session_id, ord, task_id, kind, at, message, metadata FROM timeline ORDER BY session_id, ord;
DROP TABLE timeline;
ALTER TABLE timeline_rows RENAME TO timeline;

-- The words of each task and session, for searches in what is not among the newest.
CREATE TABLE task_words (
  word WORD NOT NULL,
  ord BIGINT NOT NULL,
  PRIMARY KEY (word, ord)
) CLUSTERED;
CREATE TABLE session_words (
  word WORD NOT NULL,
  ord BIGINT NOT NULL,
  PRIMARY KEY (word, ord)
) CLUSTERED;

CREATE INDEX skill_deliveries_by_time ON skill_deliveries (at);
