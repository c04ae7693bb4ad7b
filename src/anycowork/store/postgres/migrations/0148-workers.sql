-- What processes on one database tell each other. SQLite has none of it: there one process uses the database.

-- Every server and worker that has joined. One that is gone holds its lock no longer; its row is removed by another.
CREATE TABLE peers (
  id TEXT COLLATE "C" PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL,
  host TEXT COLLATE "C" NOT NULL,
  pid BIGINT NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  permissions TEXT COLLATE "C" NOT NULL,
  joined_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  seen_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Why a worker does not take a job.
CREATE TABLE refused_jobs (
  job_id TEXT COLLATE "C" NOT NULL,
  peer_id TEXT COLLATE "C" NOT NULL REFERENCES peers (id) ON DELETE CASCADE,
  reason TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (job_id, peer_id)
);

-- The id that a server wrote into a workspace: a worker that finds another one there has another folder at the same path.
CREATE TABLE workspace_markers (
  root TEXT COLLATE "C" PRIMARY KEY,
  marker TEXT COLLATE "C" NOT NULL
);

-- Requests about a chat that a worker is at work in. The worker answers them; the server that asked removes them.
CREATE TABLE forwarded_requests (
  id TEXT COLLATE "C" PRIMARY KEY,
  chat_id TEXT COLLATE "C" NOT NULL,
  principal TEXT COLLATE "C" NOT NULL,
  method TEXT COLLATE "C" NOT NULL,
  path TEXT COLLATE "C" NOT NULL,
  query TEXT COLLATE "C" NOT NULL,
  body BYTEA NOT NULL,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  taken_by TEXT COLLATE "C",
  status BIGINT,
  answer BYTEA
);
CREATE INDEX forwarded_requests_open ON forwarded_requests (chat_id) WHERE taken_by IS NULL;
