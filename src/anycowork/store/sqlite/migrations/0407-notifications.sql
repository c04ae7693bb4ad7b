-- Where people are told that a decision waits for them. `secret` signs or encrypts what is sent there.
CREATE TABLE notification_targets (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  person TEXT NOT NULL,
  principal TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  address TEXT NOT NULL,
  secret TEXT NOT NULL,
  created_at TEXT NOT NULL,
  disabled TEXT,
  failures INTEGER NOT NULL,
  last_sent_at TEXT,
  last_error TEXT,
  hour_began TEXT,
  hour_sent INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
-- Each wait once for each target.
CREATE TABLE notifications (
  target_id TEXT NOT NULL,
  wait_id TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  kind TEXT NOT NULL,
  chat_id TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due_at TEXT NOT NULL,
  PRIMARY KEY (target_id, wait_id)
) WITHOUT ROWID;
