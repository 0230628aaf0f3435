-- What somebody wants an agent to be started for. A worker claims it, keeps it while it renews, and loses it by silence.
CREATE TABLE spawns (
  ord ORDER KEY,
  session_id TEXT NOT NULL UNIQUE REFERENCES sessions (id),
  spec TEXT NOT NULL,
  state TEXT NOT NULL,
  worker TEXT,
  wanted_by TEXT,
  lease_until BIGINT,
  attempt BIGINT NOT NULL,
  not_before BIGINT NOT NULL,
  agent_session TEXT,
  tree TEXT,
  outcome TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX spawns_by_state ON spawns (state, ord);

-- What an agent did, in its own order.
CREATE TABLE transcript (
  ord ORDER KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  at BIGINT NOT NULL,
  event TEXT NOT NULL
);
CREATE INDEX transcript_by_session ON transcript (session_id, ord);

-- What an agent asks before it does something. Nobody's silence is a yes.
CREATE TABLE permissions (
  ord ORDER KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  request TEXT NOT NULL,
  title TEXT NOT NULL,
  detail TEXT NOT NULL,
  options TEXT NOT NULL,
  answer TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  answered_at BIGINT,
  UNIQUE (session_id, request)
);

-- Which skill texts an agent was handed, opened, or sent to its model.
CREATE TABLE receipts (
  ord ORDER KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  skill TEXT NOT NULL,
  hash TEXT NOT NULL,
  stage TEXT NOT NULL,
  at BIGINT NOT NULL,
  UNIQUE (session_id, skill, hash, stage)
);
