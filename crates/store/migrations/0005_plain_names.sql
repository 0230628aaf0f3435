-- Tables and columns that are named after what they hold; every row stays.

-- The sessions that were started for the steps of runs, and what each reported for its step.
ALTER TABLE seats RENAME TO step_sessions;
DROP INDEX seats_by_run;
CREATE INDEX step_sessions_by_run ON step_sessions (run_id, ord);

-- Which skill texts an agent received, opened, or sent to its model.
ALTER TABLE receipts RENAME TO skill_deliveries;

-- The workflow definitions that runs were started with, by their hash.
ALTER TABLE pinned RENAME TO pinned_definitions;
ALTER TABLE runs RENAME COLUMN hash TO definitions_hash;

-- Responses to requests with an Idempotency-Key, so that a repeated request gets the same response.
ALTER TABLE answers RENAME TO idempotent_responses;
ALTER TABLE idempotent_responses RENAME COLUMN answer TO response;
DROP INDEX answers_by_age;
CREATE INDEX idempotent_responses_by_age ON idempotent_responses (at);

-- Up to when maintenance has pruned the database.
ALTER TABLE upkeep RENAME TO maintenance;
ALTER TABLE maintenance RENAME COLUMN until TO pruned_until;

-- 1 when a person or orchestrator set the status, 0 when it follows from sessions and subtasks.
ALTER TABLE tasks RENAME COLUMN by_hand TO manual_status;

-- How a message was delivered, or why it was refused.
ALTER TABLE messages RENAME COLUMN how TO delivery;

-- Who asked to attach to the agent, and the git tree before its first start.
ALTER TABLE spawns RENAME COLUMN wanted_by TO attach_requested_by;
ALTER TABLE spawns RENAME COLUMN tree TO initial_tree;
