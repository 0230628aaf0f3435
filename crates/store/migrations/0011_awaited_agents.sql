-- How many agents a run waits for: branches of a step may each wait for one.
ALTER TABLE runs ADD COLUMN awaited_agents BIGINT NOT NULL DEFAULT 0;
UPDATE runs SET awaited_agents = 1 WHERE waiting = 'agent';
