-- Workflows on their way. A run is a turn, so the turn's id is its own; the steps are fixed when it begins.

CREATE TABLE workflow_runs (
  turn_id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  steps TEXT NOT NULL,
  needs TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  at BIGINT NOT NULL,
  begun TEXT,
  status TEXT NOT NULL,
  error TEXT
) WITHOUT ROWID;
CREATE INDEX workflow_runs_by_chat ON workflow_runs (chat_id);
