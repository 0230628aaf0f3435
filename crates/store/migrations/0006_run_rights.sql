-- The most that a run's agents may do, as JSON; empty for runs that started before there was a limit.
ALTER TABLE runs ADD COLUMN rights TEXT;
