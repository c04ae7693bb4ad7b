-- What starts templates and workflows: at times, or by signed requests, which have a secret.
CREATE TABLE schedules (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  name TEXT NOT NULL,
  cron TEXT,
  at TEXT,
  time_zone TEXT NOT NULL,
  template TEXT,
  workflow TEXT,
  parameters TEXT NOT NULL,
  chat_id TEXT,
  workspace TEXT,
  role TEXT,
  limits TEXT NOT NULL,
  missed TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  is_trigger INTEGER NOT NULL,
  secret TEXT,
  principal TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  next_at TEXT,
  paused TEXT
) WITHOUT ROWID;
-- Each start once: its key is the due time, or what a person or a signed request brought.
CREATE TABLE schedule_starts (
  schedule_id TEXT NOT NULL,
  key TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  due_at TEXT NOT NULL,
  reason TEXT NOT NULL,
  principal TEXT NOT NULL,
  waits INTEGER NOT NULL,
  status TEXT NOT NULL,
  parameters TEXT,
  chat_id TEXT,
  turn_id TEXT,
  job_id TEXT,
  error TEXT,
  settled_at TEXT,
  PRIMARY KEY (schedule_id, key)
) WITHOUT ROWID;
CREATE INDEX schedule_starts_by_time ON schedule_starts (schedule_id, due_at);
CREATE INDEX schedule_starts_due ON schedule_starts (schedule_id, due_at) WHERE status = 'due';
-- What a run that a schedule started may use, and where the values came from that a trigger brought.
ALTER TABLE workflow_runs ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';
ALTER TABLE workflow_runs ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
