-- Which process carries a run on, as its kind and its name; empty while none has it.
ALTER TABLE runs ADD COLUMN host TEXT;
-- What a run works through, so that only one run does so at a time; empty where several may.
ALTER TABLE runs ADD COLUMN work_key TEXT;
-- What became of its result, as JSON.
ALTER TABLE runs ADD COLUMN landing TEXT;
CREATE UNIQUE INDEX runs_by_work ON runs (work_key) WHERE work_key IS NOT NULL AND ended_at IS NULL;
CREATE INDEX runs_by_host ON runs (host) WHERE status = 'running';
