-- What starts templates and workflows: at times, or by signed requests, which have a secret.
CREATE TABLE schedules (
  id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  name TEXT COLLATE "C" NOT NULL,
  cron TEXT COLLATE "C",
  at TEXT COLLATE "C",
  time_zone TEXT COLLATE "C" NOT NULL,
  template TEXT COLLATE "C",
  workflow TEXT COLLATE "C",
  parameters TEXT COLLATE "C" NOT NULL,
  chat_id TEXT COLLATE "C",
  workspace TEXT COLLATE "C",
  role TEXT COLLATE "C",
  limits TEXT COLLATE "C" NOT NULL,
  missed TEXT COLLATE "C" NOT NULL,
  enabled BIGINT NOT NULL,
  is_trigger BIGINT NOT NULL,
  secret TEXT COLLATE "C",
  principal TEXT COLLATE "C" NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  changed_at TEXT COLLATE "C" NOT NULL,
  next_at TEXT COLLATE "C",
  paused TEXT COLLATE "C"
);
-- Each start once: its key is the due time, or what a person or a signed request brought.
CREATE TABLE schedule_starts (
  schedule_id TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  due_at TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  waits BIGINT NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  parameters TEXT COLLATE "C",
  chat_id TEXT COLLATE "C",
  turn_id TEXT COLLATE "C",
  job_id TEXT COLLATE "C",
  error TEXT COLLATE "C",
  settled_at TEXT COLLATE "C",
  PRIMARY KEY (schedule_id, key)
);
CREATE INDEX schedule_starts_by_time ON schedule_starts (schedule_id, due_at);
CREATE INDEX schedule_starts_due ON schedule_starts (schedule_id, due_at) WHERE status = 'due';
-- What a run that a schedule started may use, and where the values came from that a trigger brought.
ALTER TABLE workflow_runs ADD COLUMN limits TEXT COLLATE "C" NOT NULL DEFAULT '{}';
ALTER TABLE workflow_runs ADD COLUMN origins TEXT COLLATE "C" NOT NULL DEFAULT '[]';
