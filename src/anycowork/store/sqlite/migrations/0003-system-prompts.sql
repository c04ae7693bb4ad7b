-- The system prompts that people wrote. The built-in one comes with the release and is not in here.

CREATE TABLE system_prompts (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;
