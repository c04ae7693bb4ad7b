-- People of the server besides its owner. A removed person's row stays: records name its id.
CREATE TABLE people (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  access TEXT NOT NULL,
  token_digest TEXT UNIQUE,
  created_at TEXT NOT NULL,
  removed_at TEXT
) WITHOUT ROWID;
CREATE UNIQUE INDEX people_names ON people (name_key) WHERE removed_at IS NULL;
