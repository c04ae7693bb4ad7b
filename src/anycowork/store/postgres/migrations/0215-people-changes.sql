-- Who changed what about whom: a hash chain of its own, as the records of a chat are.
CREATE TABLE people_changes (
  seq BIGINT PRIMARY KEY NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  type TEXT COLLATE "C" NOT NULL,
  hash TEXT COLLATE "C" NOT NULL,
  body BYTEA NOT NULL
);
