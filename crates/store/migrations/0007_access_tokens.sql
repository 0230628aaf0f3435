-- Tokens of programs and browsers, as hashes only. One without a project is for all of them.
CREATE TABLE access_tokens (
  ord ORDER KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  access TEXT NOT NULL,
  project_id TEXT,
  hash TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT
);

-- When a session's token ended; it stays, so that the session's name alone is never enough again.
ALTER TABLE tokens ADD COLUMN ended_at BIGINT;
