-- Where each process keeps the contents of its checkpoints, so that another one on the same file system can restore them. It stays when
-- the process ends. `id` lies in the folder, too.
CREATE TABLE pack_folders (
  id TEXT COLLATE "C" PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL,
  host TEXT COLLATE "C" NOT NULL,
  folder TEXT COLLATE "C" NOT NULL
);
