-- People of the server besides its owner. A removed person's row stays: records name its id.
CREATE TABLE people (
  id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  name TEXT COLLATE "C" NOT NULL,
  name_key TEXT COLLATE "C" NOT NULL,
  access TEXT COLLATE "C" NOT NULL,
  token_digest TEXT COLLATE "C" UNIQUE,
  created_at TEXT COLLATE "C" NOT NULL,
  removed_at TEXT COLLATE "C"
);
CREATE UNIQUE INDEX people_names ON people (name_key) WHERE removed_at IS NULL;
