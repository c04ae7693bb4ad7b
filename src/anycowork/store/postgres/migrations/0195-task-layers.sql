-- Which folders each process's tasks of jobs lie on, and what others ask of it before they change something there. SQLite has none of it:
-- there one process uses the database.
CREATE TABLE layer_folders (
  peer_id TEXT COLLATE "C" NOT NULL,
  folder TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (peer_id, folder)
);

-- The process that asks removes its request. `answer` is NULL until the other has done it: then it is empty, or says why it cannot be done.
CREATE TABLE layer_requests (
  id TEXT COLLATE "C" PRIMARY KEY,
  peer_id TEXT COLLATE "C" NOT NULL,
  change BYTEA NOT NULL,
  answer TEXT COLLATE "C",
  created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX layer_requests_open ON layer_requests (peer_id) WHERE answer IS NULL;
