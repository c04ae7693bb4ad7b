-- Workers that joined over HTTP: invitations are good once and stored as hashes, like the secrets of the workers that used them.
CREATE TABLE worker_invites (
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  hash TEXT COLLATE "C" PRIMARY KEY,
  labels TEXT COLLATE "C" NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  expires_at TEXT COLLATE "C" NOT NULL,
  used_by TEXT COLLATE "C"
);
CREATE TABLE joined_workers (
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  id TEXT COLLATE "C" PRIMARY KEY,
  secret_hash TEXT COLLATE "C" NOT NULL UNIQUE,
  host TEXT COLLATE "C" NOT NULL,
  labels TEXT COLLATE "C" NOT NULL,
  level TEXT COLLATE "C" NOT NULL,
  processor TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  joined_at TEXT COLLATE "C" NOT NULL
);
-- The worker that the commands of a task run on, and the labels that a task waits for.
ALTER TABLE tasks ADD COLUMN worker TEXT COLLATE "C";
ALTER TABLE tasks ADD COLUMN waiting_for TEXT COLLATE "C";
