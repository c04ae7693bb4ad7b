-- Who changed what about whom: a hash chain of its own, as the records of a chat are.
CREATE TABLE people_changes (
  seq BIGINT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  type TEXT NOT NULL,
  hash TEXT NOT NULL,
  body BLOB NOT NULL
);
