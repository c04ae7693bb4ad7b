-- Every table of the house. Queries are plain SQL that PostgreSQL takes as well; only this schema is SQLite's own.

CREATE TABLE house (
  tenant_id TEXT PRIMARY KEY NOT NULL DEFAULT 'local',
  opened_at TEXT NOT NULL,
  closed_at TEXT
) WITHOUT ROWID;

CREATE TABLE principals (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  key_hash TEXT UNIQUE,
  created_at TEXT NOT NULL,
  revoked_at TEXT
) WITHOUT ROWID;

CREATE TABLE workspaces (
  root TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  registered_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  trust TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;

CREATE TABLE leases (
  workspace TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  owner TEXT NOT NULL,
  epoch BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE chats (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  title TEXT NOT NULL,
  title_folded TEXT NOT NULL,
  workspace TEXT NOT NULL,
  config TEXT NOT NULL,
  state TEXT NOT NULL,
  next_seq BIGINT NOT NULL,
  chain TEXT NOT NULL DEFAULT '',
  extra TEXT NOT NULL DEFAULT '{}',
  import_hash TEXT UNIQUE,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX chats_by_update ON chats (updated_at, id);

-- AUTOINCREMENT: a position is never given twice, even when the newest records are removed.
CREATE TABLE records (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  message_id TEXT,
  body BLOB NOT NULL,
  hash TEXT,
  UNIQUE (chat_id, seq)
);
CREATE INDEX records_of_deltas ON records (chat_id, message_id, seq) WHERE message_id IS NOT NULL;

CREATE TABLE messages (
  chat_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  id TEXT NOT NULL,
  turn_id TEXT,
  message_type TEXT NOT NULL,
  v BIGINT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (chat_id, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX messages_by_id ON messages (id, chat_id);

CREATE TABLE turns (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  role TEXT NOT NULL,
  principal TEXT NOT NULL,
  message_id TEXT NOT NULL,
  plan_id TEXT,
  state TEXT NOT NULL,
  steps BIGINT NOT NULL,
  faults BIGINT NOT NULL,
  seconds DOUBLE PRECISION NOT NULL,
  reason TEXT,
  error TEXT,
  created_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX turns_by_state ON turns (state, chat_id);
CREATE INDEX turns_by_chat ON turns (chat_id, seq);

CREATE TABLE calls (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  ordinal BIGINT NOT NULL,
  tool TEXT NOT NULL,
  parameters TEXT NOT NULL,
  terminate BIGINT NOT NULL,
  role_at_issue TEXT NOT NULL,
  ceiling TEXT NOT NULL,
  provenance TEXT NOT NULL,
  plan_step TEXT,
  state TEXT NOT NULL,
  intent TEXT,
  result TEXT
) WITHOUT ROWID;
CREATE INDEX calls_by_turn ON calls (turn_id, seq, ordinal);
CREATE INDEX calls_by_chat ON calls (chat_id);

CREATE TABLE approvals (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  ordinal BIGINT NOT NULL,
  turn_id TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  tool_call_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  parameters TEXT NOT NULL,
  resource TEXT NOT NULL,
  risk TEXT NOT NULL,
  reasons TEXT NOT NULL,
  binding TEXT NOT NULL,
  outside_plan BIGINT NOT NULL,
  proposed_rule TEXT,
  diff TEXT,
  state TEXT NOT NULL,
  note TEXT,
  decided_by TEXT,
  created_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX approvals_by_chat ON approvals (chat_id, state);
CREATE INDEX approvals_by_call ON approvals (tool_call_id);

CREATE TABLE questions (
  message_id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  state TEXT NOT NULL,
  answer TEXT,
  answered_by TEXT
) WITHOUT ROWID;
CREATE INDEX questions_by_chat ON questions (chat_id);

CREATE TABLE plans (
  message_id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  state TEXT NOT NULL,
  approved TEXT,
  approved_by TEXT,
  turn_id TEXT
) WITHOUT ROWID;
CREATE INDEX plans_by_chat ON plans (chat_id, state);

CREATE TABLE rules (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  tool TEXT NOT NULL,
  resource TEXT NOT NULL,
  effect TEXT NOT NULL,
  scope TEXT NOT NULL,
  chat_id TEXT,
  workspace TEXT,
  expires_at TEXT,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE usage (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  purpose TEXT NOT NULL,
  model TEXT NOT NULL,
  reserved BIGINT NOT NULL,
  prompt BIGINT NOT NULL DEFAULT 0,
  completion BIGINT NOT NULL DEFAULT 0,
  cached BIGINT NOT NULL DEFAULT 0,
  reasoning BIGINT NOT NULL DEFAULT 0,
  estimated BIGINT NOT NULL DEFAULT 0,
  settled BIGINT NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX usage_by_chat ON usage (chat_id);

CREATE TABLE blobs (
  hash TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  size BIGINT NOT NULL,
  data BLOB NOT NULL
);

CREATE TABLE idempotency (
  principal TEXT NOT NULL,
  key TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  path TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  state TEXT NOT NULL,
  status BIGINT,
  response BLOB,
  created_at TEXT NOT NULL,
  PRIMARY KEY (principal, key)
) WITHOUT ROWID;
