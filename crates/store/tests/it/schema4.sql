-- Rows of a database of schema 4: a paused run whose agent is still at work, its pinned definition, its session at a
-- step, transcript lines, a report that waits for the session's end.
--
-- Taken from a run of a program of that schema, then edited: the agent is put back to work, and the skill deliveries,
-- the report, the request to attach and the tasks without a session are written by hand.
INSERT INTO projects (id, name, working_dir, description, created_at, updated_at, revision) VALUES
  ('proj_1794823289945_ftdudc6x4', 'shop', '/work/shop', '', 1794823289945, 1794823289945, 1);
INSERT INTO tasks (id, project_id, parent_id, title, description, status, priority, initial_prompt, skills, agents, dependencies, model, created_at, updated_at, started_at, completed_at, by_hand, revision) VALUES
  ('task_1794823290283_poablr8og', 'proj_1794823289945_ftdudc6x4', NULL, 'Add a login form', '', 'in_progress', 'medium', '', '[]', '[]', '[]', NULL, 1794823290283, 1794823326293, 1794823310144, NULL, 0, 4);
INSERT INTO tasks (id, project_id, parent_id, title, description, status, priority, initial_prompt, skills, agents, dependencies, model, created_at, updated_at, started_at, completed_at, by_hand, revision) VALUES
  ('task_1794823290301_k2v9q0d1a', 'proj_1794823289945_ftdudc6x4', NULL, 'Ship it', '', 'in_progress', 'medium', '', '[]', '[]', '[]', NULL, 1794823290283, 1794823326293, 1794823310144, NULL, 1, 2);
INSERT INTO tasks (id, project_id, parent_id, title, description, status, priority, initial_prompt, skills, agents, dependencies, model, created_at, updated_at, started_at, completed_at, by_hand, revision) VALUES
  ('task_1794823290302_m7c3x8s5b', 'proj_1794823289945_ftdudc6x4', 'task_1794823290301_k2v9q0d1a', 'Fix the login', '', 'in_progress', 'medium', '', '[]', '[]', '[]', NULL, 1794823290283, 1794823326293, 1794823310144, NULL, 0, 2);
INSERT INTO sessions (id, project_id, name, role, agent, env, strategy, status, paused_from, end_reason, needs_input, parent_id, started_at, last_activity, lease_until, completed_at, hostname, platform, metadata, revision) VALUES
  ('sess_1794823310090_lagqnxdrq', 'proj_1794823289945_ftdudc6x4', 'a: one', 'worker', 'demo', '{}', 'simple', 'working', NULL, NULL, NULL, NULL, 1794823310090, 1794823325197, 1794823370132, NULL, 'host', 'linux', '{"run":"01a1e3ce-4b00-77ea-911b-b4384c9e6268","step":"a","task":null,"loadedSkills":[],"spawnSource":"run","role":"worker","walk":"01a1e3ce-4b00-77ea-911b-b4384c9e6268","mends":null}', 4);
INSERT INTO task_sessions (task_id, session_id, position, status, bound_at, updated_at) VALUES
  ('task_1794823290283_poablr8og', 'sess_1794823310090_lagqnxdrq', 0, 'working', 1794823310090, 1794823325178);
INSERT INTO timeline (session_id, task_id, kind, at, message, metadata) VALUES
  ('sess_1794823310090_lagqnxdrq', NULL, 'session_started', 1794823310090, 'Session created', NULL);
INSERT INTO timeline (session_id, task_id, kind, at, message, metadata) VALUES
  ('sess_1794823310090_lagqnxdrq', 'task_1794823290283_poablr8og', 'task_started', 1794823310090, 'Started working on task', NULL);
INSERT INTO messages (id, session_id, sender, body, state, how, created_at, settled_at) VALUES
  ('msg_1794823313187_jzs82a9g9', 'sess_1794823310090_lagqnxdrq', 'you', 'Use the new API', 'delivered', 'with its prompt', 1794823310100, 1794823310132);
INSERT INTO answers (request, fingerprint, answer, at) VALUES
  ('91cc4c8a93261db57372304d281ddaaa0e59b625fad074ab8a1836fac07d63ee', 'say', '{"id":"msg_1794823313187_jzs82a9g9","sessionId":"sess_1794823310090_lagqnxdrq","from":"you","text":"Use the new API","state":"queued","how":null,"createdAt":1794823313187,"settledAt":null}', 1794823313187);
INSERT INTO upkeep (name, until) VALUES
  ('events', 1792231278020);
INSERT INTO pinned (hash, definitions) VALUES
  ('abb944a3c38b91e3ea1f7ead6c660fe5807ece1fcf0184eaffbfe87e1abe7499', '{"one":{"text":"name: one\ndescription: One step by an agent.\nsteps:\n- {id: a, type: agent, skills: [pdf], actions: [''Run `sleep 15` in the shell.''], session: {agent: demo}, next: {ok: end, fail: end}}\n","folder":"/work/shop/.maestro/skills/one","resources":{}}}');
INSERT INTO runs (id, project_id, task_id, session_id, parent_run, parent_ticket, workflow, hash, driver, state, state_version, status, waiting, step, executor, executor_until, deadline, created_at, updated_at, ended_at, revision) VALUES
  ('01a1e3ce-4b00-77ea-911b-b4384c9e6268', 'proj_1794823289945_ftdudc6x4', 'task_1794823290283_poablr8og', NULL, NULL, NULL, 'one', 'abb944a3c38b91e3ea1f7ead6c660fe5807ece1fcf0184eaffbfe87e1abe7499', 'server', '{"status":"paused","seed":15061998121782086716,"serial":1,"context":{"workspace":"/work/shop","tool":"","run":"01a1e3ce-4b00-77ea-911b-b4384c9e6268","project":"proj_1794823289945_ftdudc6x4"},"frames":[{"workflow":"one","params":{},"variables":{},"visits":{"a":1},"transitions":0,"results":{},"reviews":{},"trees":{},"rounds":{},"refusals":{},"position":{"step":"a","visit":1,"entered":1794823310077,"wait":"agent"}}],"checks":{},"accepted_risks":[],"heard":[]}', 1, 'paused', NULL, 'a', NULL, NULL, NULL, 1794823310081, 1794823313235, NULL, 2);
INSERT INTO spawns (session_id, spec, state, worker, wanted_by, lease_until, attempt, not_before, agent_session, tree, outcome, created_at, updated_at) VALUES
  ('sess_1794823310090_lagqnxdrq', '{"agent":"demo","workspace":"/work/shop"}', 'claimed', 'worker-1', 'anna@laptop', 1794823370132, 1, 1794823325220, '01a1e3ce-4b33-74ee-81bb-c95dc7b6b56e', '4b825dc642cb6eb9a060e54bf8d69288fbee4904', NULL, 1794823310090, 1794823325220);
INSERT INTO transcript (session_id, at, event) VALUES
  ('sess_1794823310090_lagqnxdrq', 1794823310132, '{"type":"agent:began","payload":{"agentSession":"01a1e3ce-4b33-74ee-81bb-c95dc7b6b56e","model":"demo","version":"0.1.0"}}');
INSERT INTO transcript (session_id, at, event) VALUES
  ('sess_1794823310090_lagqnxdrq', 1794823310135, '{"type":"agent:tool_began","payload":{"id":"call-1","name":"maestro","title":"maestro update 1 thing to do","kind":"execute","input":{"command":["update","1 thing to do"]}}}');
INSERT INTO transcript (session_id, at, event) VALUES
  ('sess_1794823310090_lagqnxdrq', 1794823310157, '{"type":"agent:tool_ended","payload":{"id":"call-1","status":"ok","output":"Reported.\n"}}');
INSERT INTO receipts (session_id, skill, hash, stage, at) VALUES
  ('sess_1794823310090_lagqnxdrq', 'pdf', '5e884898da28047151d0e56f8dc62927', 'handed', 1794823310132);
INSERT INTO receipts (session_id, skill, hash, stage, at) VALUES
  ('sess_1794823310090_lagqnxdrq', 'pdf', '5e884898da28047151d0e56f8dc62927', 'read', 1794823310133);
INSERT INTO seats (run_id, ticket, session_id, report, settled_at) VALUES
  ('01a1e3ce-4b00-77ea-911b-b4384c9e6268', 'a#1.a2bx7c', 'sess_1794823310090_lagqnxdrq', '{"outcome":"ok"}', NULL);
INSERT INTO events (at, type, version, project, task, session, run, payload) VALUES
  (1794823290283, 'task:created', 1, 'proj_1794823289945_ftdudc6x4', 'task_1794823290283_poablr8og', NULL, NULL, '{"id":"task_1794823290283_poablr8og","title":"Add a login form","status":"todo"}');
INSERT INTO events (at, type, version, project, task, session, run, payload) VALUES
  (1794823290283, 'task:created', 1, 'proj_1794823289945_ftdudc6x4', 'task_1794823290301_k2v9q0d1a', NULL, NULL, '{"id":"task_1794823290301_k2v9q0d1a","title":"Ship it","status":"todo"}');
INSERT INTO events (at, type, version, project, task, session, run, payload) VALUES
  (1794823290283, 'task:created', 1, 'proj_1794823289945_ftdudc6x4', 'task_1794823290302_m7c3x8s5b', NULL, NULL, '{"id":"task_1794823290302_m7c3x8s5b","title":"Fix the login","status":"todo"}');
INSERT INTO events (at, type, version, project, task, session, run, payload) VALUES
  (1794823310090, 'timeline:added', 1, 'proj_1794823289945_ftdudc6x4', NULL, 'sess_1794823310090_lagqnxdrq', NULL, '{"kind":"session_started","message":"Session created"}');
INSERT INTO events (at, type, version, project, task, session, run, payload) VALUES
  (1794823310090, 'timeline:added', 1, 'proj_1794823289945_ftdudc6x4', 'task_1794823290283_poablr8og', 'sess_1794823310090_lagqnxdrq', NULL, '{"kind":"task_started","message":"Started working on task"}');
INSERT INTO events (at, type, version, project, task, session, run, payload) VALUES
  (1794823310144, 'timeline:added', 1, 'proj_1794823289945_ftdudc6x4', 'task_1794823290283_poablr8og', 'sess_1794823310090_lagqnxdrq', NULL, '{"kind":"progress","message":"1 thing to do"}');
INSERT INTO events (at, type, version, project, task, session, run, payload) VALUES
  (1794823313235, 'run:paused', 1, 'proj_1794823289945_ftdudc6x4', 'task_1794823290283_poablr8og', NULL, '01a1e3ce-4b00-77ea-911b-b4384c9e6268', '{}');
