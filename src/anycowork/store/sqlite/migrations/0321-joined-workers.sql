-- Workers that joined over HTTP: invitations are good once and stored as hashes, like the secrets of the workers that used them.
CREATE TABLE worker_invites (
  tenant_id TEXT NOT NULL DEFAULT 'local',
  hash TEXT PRIMARY KEY,
  labels TEXT NOT NULL,
  created_by TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  used_by TEXT
);
CREATE TABLE joined_workers (
  tenant_id TEXT NOT NULL DEFAULT 'local',
  id TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  labels TEXT NOT NULL,
  level TEXT NOT NULL,
  processor TEXT NOT NULL,
  version TEXT NOT NULL,
  joined_at TEXT NOT NULL
);
-- The worker that the commands of a task run on, and the labels that a task waits for.
ALTER TABLE tasks ADD COLUMN worker TEXT;
ALTER TABLE tasks ADD COLUMN waiting_for TEXT;
