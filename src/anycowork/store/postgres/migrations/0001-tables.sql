-- Every table, as in SQLite after all its migrations: the statements are the same. Text sorts by its bytes, whatever the database's
-- language, because pages and cursors rely on that order.

CREATE TABLE house (
  tenant_id TEXT COLLATE "C" PRIMARY KEY DEFAULT 'local',
  opened_at TEXT COLLATE "C" NOT NULL,
  closed_at TEXT COLLATE "C",
  last_position BIGINT NOT NULL DEFAULT 0,
  audit_heads BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE principals (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  kind TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  scopes TEXT COLLATE "C" NOT NULL,
  key_hash TEXT COLLATE "C" UNIQUE,
  created_at TEXT COLLATE "C" NOT NULL,
  revoked_at TEXT COLLATE "C",
  limits TEXT COLLATE "C"
);

CREATE TABLE workspaces (
  root TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  registered_by TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  trust TEXT COLLATE "C" NOT NULL DEFAULT '{}'
);

CREATE TABLE leases (
  workspace TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  owner TEXT COLLATE "C" NOT NULL,
  epoch BIGINT NOT NULL,
  expires_at TEXT COLLATE "C"
);

CREATE TABLE chats (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  title TEXT COLLATE "C" NOT NULL,
  title_folded TEXT COLLATE "C" NOT NULL,
  workspace TEXT COLLATE "C" NOT NULL,
  config TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  next_seq BIGINT NOT NULL,
  chain TEXT COLLATE "C" NOT NULL DEFAULT '',
  extra TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  import_hash TEXT COLLATE "C" UNIQUE,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  updated_at TEXT COLLATE "C" NOT NULL,
  pinned BIGINT NOT NULL DEFAULT 0,
  archived BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE turns (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  role TEXT COLLATE "C" NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  message_id TEXT COLLATE "C" NOT NULL,
  plan_id TEXT COLLATE "C",
  state TEXT COLLATE "C" NOT NULL,
  steps BIGINT NOT NULL,
  faults BIGINT NOT NULL,
  seconds DOUBLE PRECISION NOT NULL,
  reason TEXT COLLATE "C",
  error TEXT COLLATE "C",
  created_at TEXT COLLATE "C" NOT NULL,
  steps_before BIGINT NOT NULL DEFAULT 0,
  seconds_before DOUBLE PRECISION NOT NULL DEFAULT 0,
  job_id TEXT COLLATE "C",
  task_id TEXT COLLATE "C",
  workspace TEXT COLLATE "C"
);

CREATE TABLE calls (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  turn_id TEXT COLLATE "C" NOT NULL,
  batch_id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  ordinal BIGINT NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,
  parameters TEXT COLLATE "C" NOT NULL,
  terminate BIGINT NOT NULL,
  role_at_issue TEXT COLLATE "C" NOT NULL,
  ceiling TEXT COLLATE "C" NOT NULL,
  provenance TEXT COLLATE "C" NOT NULL,
  plan_step TEXT COLLATE "C",
  state TEXT COLLATE "C" NOT NULL,
  intent TEXT COLLATE "C",
  result TEXT COLLATE "C"
);

CREATE TABLE approvals (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  ordinal BIGINT NOT NULL,
  turn_id TEXT COLLATE "C" NOT NULL,
  batch_id TEXT COLLATE "C" NOT NULL,
  tool_call_id TEXT COLLATE "C" NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,
  parameters TEXT COLLATE "C" NOT NULL,
  resource TEXT COLLATE "C" NOT NULL,
  risk TEXT COLLATE "C" NOT NULL,
  reasons TEXT COLLATE "C" NOT NULL,
  binding TEXT COLLATE "C" NOT NULL,
  outside_plan BIGINT NOT NULL,
  proposed_rule TEXT COLLATE "C",
  diff TEXT COLLATE "C",
  state TEXT COLLATE "C" NOT NULL,
  note TEXT COLLATE "C",
  decided_by TEXT COLLATE "C",
  created_at TEXT COLLATE "C" NOT NULL,
  network TEXT COLLATE "C" NOT NULL DEFAULT '[]',
  held BIGINT NOT NULL DEFAULT 0,
  items TEXT COLLATE "C" NOT NULL DEFAULT '[]'
);

CREATE TABLE questions (
  message_id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  turn_id TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  answer TEXT COLLATE "C",
  answered_by TEXT COLLATE "C"
);

CREATE TABLE plans (
  message_id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  approved TEXT COLLATE "C",
  approved_by TEXT COLLATE "C",
  turn_id TEXT COLLATE "C"
);

CREATE TABLE rules (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  tool TEXT COLLATE "C" NOT NULL,
  resource TEXT COLLATE "C" NOT NULL,
  effect TEXT COLLATE "C" NOT NULL,
  scope TEXT COLLATE "C" NOT NULL,
  chat_id TEXT COLLATE "C",
  workspace TEXT COLLATE "C",
  expires_at TEXT COLLATE "C",
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL
);

CREATE TABLE blobs (
  hash TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  size BIGINT NOT NULL,
  data BYTEA NOT NULL
);

CREATE TABLE idempotency (
  principal TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  path TEXT COLLATE "C" NOT NULL,
  body_hash TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  status BIGINT,
  response BYTEA,
  created_at TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (principal, key)
);

CREATE TABLE system_prompts (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  name TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  updated_at TEXT COLLATE "C" NOT NULL
);

CREATE TABLE records (
  position BIGINT PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  message_id TEXT COLLATE "C",
  hash TEXT COLLATE "C",
  body BYTEA NOT NULL,
  UNIQUE (chat_id, seq)
);

CREATE TABLE messages (
  id TEXT COLLATE "C" NOT NULL,
  chat_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  seq BIGINT NOT NULL,
  raw BYTEA,
  PRIMARY KEY (id, chat_id)
);

CREATE TABLE workflow_runs (
  turn_id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  workflow TEXT COLLATE "C" NOT NULL,
  steps TEXT COLLATE "C" NOT NULL,
  needs TEXT COLLATE "C" NOT NULL,
  content_hash TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  begun TEXT COLLATE "C",
  status TEXT COLLATE "C" NOT NULL,
  error TEXT COLLATE "C"
);

CREATE TABLE key_usage (
  key_id TEXT COLLATE "C" NOT NULL,
  date TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  requests BIGINT NOT NULL,
  prompt BIGINT NOT NULL,
  completion BIGINT NOT NULL,
  cached BIGINT NOT NULL,
  reasoning BIGINT NOT NULL,
  estimated BIGINT NOT NULL,
  spend BIGINT NOT NULL,
  unpriced BIGINT NOT NULL,
  reserved_prompt BIGINT NOT NULL,
  reserved_completion BIGINT NOT NULL,
  reserved_spend BIGINT NOT NULL,
  last_used_at TEXT COLLATE "C",
  PRIMARY KEY (key_id, date)
);

CREATE TABLE snapshots (
  position BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  turn_id TEXT COLLATE "C",
  call_id TEXT COLLATE "C",
  change_id TEXT COLLATE "C" NOT NULL,
  workspace TEXT COLLATE "C" NOT NULL,
  moment TEXT COLLATE "C" NOT NULL,
  restores TEXT COLLATE "C",
  files BIGINT NOT NULL,
  additions BIGINT NOT NULL,
  deletions BIGINT NOT NULL,
  diff TEXT COLLATE "C",
  diff_size BIGINT NOT NULL,
  pruned BIGINT NOT NULL DEFAULT 0,
  created_at TEXT COLLATE "C" NOT NULL,
  UNIQUE (change_id, moment)
);

CREATE TABLE snapshot_paths (
  snapshot_id TEXT COLLATE "C" NOT NULL,
  path BYTEA NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  kind TEXT COLLATE "C" NOT NULL,
  hash TEXT COLLATE "C",
  mode BIGINT NOT NULL,
  size BIGINT NOT NULL,
  mtime BIGINT NOT NULL,
  additions BIGINT NOT NULL,
  deletions BIGINT NOT NULL,
  PRIMARY KEY (snapshot_id, path)
);

CREATE TABLE usage (
  chat_id TEXT COLLATE "C" NOT NULL,
  turn_id TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  purpose TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  first TEXT COLLATE "C" NOT NULL,
  newest TEXT COLLATE "C" NOT NULL,
  requests BIGINT NOT NULL,
  reserved BIGINT NOT NULL CHECK (reserved >= 0),
  prompt BIGINT NOT NULL,
  completion BIGINT NOT NULL,
  cached BIGINT NOT NULL,
  reasoning BIGINT NOT NULL,
  estimated BIGINT NOT NULL,
  filled BIGINT NOT NULL,
  PRIMARY KEY (chat_id, turn_id, model, purpose)
);

CREATE TABLE jobs (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  request TEXT COLLATE "C" NOT NULL,
  message_id TEXT COLLATE "C" NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  plan_id TEXT COLLATE "C",
  plan TEXT COLLATE "C",
  on_failure TEXT COLLATE "C" NOT NULL,
  parallel BIGINT NOT NULL,
  limits TEXT COLLATE "C" NOT NULL,
  final_response TEXT COLLATE "C",
  error TEXT COLLATE "C",
  created_at TEXT COLLATE "C" NOT NULL,
  completed_at TEXT COLLATE "C",
  commit_mode TEXT COLLATE "C" NOT NULL DEFAULT 'task',
  race TEXT COLLATE "C" NOT NULL DEFAULT '[]',
  workspace TEXT COLLATE "C",
  replan_id TEXT COLLATE "C"
);

CREATE TABLE tasks (
  job_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  ordinal BIGINT NOT NULL,
  description TEXT COLLATE "C" NOT NULL,
  dependencies TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  claimed BIGINT NOT NULL,
  result TEXT COLLATE "C",
  error TEXT COLLATE "C",
  attempt BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  interruptions BIGINT NOT NULL,
  turn_id TEXT COLLATE "C",
  created_at TEXT COLLATE "C" NOT NULL,
  started_at TEXT COLLATE "C",
  completed_at TEXT COLLATE "C",
  agent TEXT COLLATE "C",
  workspace TEXT COLLATE "C",
  conflicts TEXT COLLATE "C",
  seq BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (job_id, id)
);

CREATE TABLE queued_messages (
  id TEXT COLLATE "C" PRIMARY KEY,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C" NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  steer BIGINT NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL
);

CREATE INDEX chats_by_update ON chats (updated_at, id);
CREATE INDEX turns_by_state ON turns (state, chat_id);
CREATE INDEX turns_by_chat ON turns (chat_id, seq);
CREATE INDEX calls_by_turn ON calls (turn_id, seq, ordinal);
CREATE INDEX approvals_by_chat ON approvals (chat_id, state);
CREATE INDEX approvals_by_call ON approvals (tool_call_id);
CREATE INDEX questions_by_chat ON questions (chat_id);
CREATE INDEX plans_by_chat ON plans (chat_id, state);
CREATE INDEX records_of_deltas ON records (chat_id, message_id, seq) WHERE message_id IS NOT NULL;
CREATE INDEX workflow_runs_by_chat ON workflow_runs (chat_id);
CREATE INDEX snapshots_by_chat ON snapshots (chat_id, position);
CREATE INDEX tasks_by_change ON tasks (job_id, seq);
CREATE INDEX turns_by_job ON turns (job_id, task_id) WHERE job_id IS NOT NULL;
CREATE INDEX jobs_by_chat ON jobs (chat_id, id);
CREATE INDEX tasks_by_chat ON tasks (chat_id);
CREATE INDEX queued_messages_by_chat ON queued_messages (chat_id);
CREATE FUNCTION remove_paths_of_snapshot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM snapshot_paths WHERE snapshot_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER snapshot_paths_go_with_their_snapshot AFTER DELETE ON snapshots
  FOR EACH ROW EXECUTE FUNCTION remove_paths_of_snapshot();

-- SQLite's name for it.
CREATE FUNCTION instr(content BYTEA, part BYTEA) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$ SELECT position(part IN content) $$;

-- The full-text index over what people and agents wrote: the words with their places, not the text.
CREATE TABLE message_search (
  position BIGINT PRIMARY KEY,
  words TSVECTOR NOT NULL
);
CREATE INDEX message_search_by_word ON message_search USING gin (words);
