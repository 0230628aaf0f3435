-- The sessions that were started for the steps of runs, and what each reported for its step.
CREATE TABLE seats (
  ord ORDER KEY,
  run_id TEXT NOT NULL REFERENCES runs (id),
  ticket TEXT NOT NULL,
  session_id TEXT NOT NULL UNIQUE REFERENCES sessions (id),
  report TEXT,
  settled_at BIGINT,
  UNIQUE (run_id, ticket)
);
CREATE INDEX seats_by_run ON seats (run_id, ord);
