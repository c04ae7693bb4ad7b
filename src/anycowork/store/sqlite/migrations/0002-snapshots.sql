-- What stood at the touched paths before and after each change. The contents themselves lie in the pack, beside the database.

-- AUTOINCREMENT: the order of all changes of a workspace, whichever chat made them; never given twice.
CREATE TABLE snapshots (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  turn_id TEXT,
  call_id TEXT,
  change_id TEXT NOT NULL,
  workspace TEXT NOT NULL,
  moment TEXT NOT NULL,
  restores TEXT,
  files BIGINT NOT NULL,
  additions BIGINT NOT NULL,
  deletions BIGINT NOT NULL,
  diff TEXT,
  diff_size BIGINT NOT NULL,
  pruned BIGINT NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  UNIQUE (change_id, moment)
);
CREATE INDEX snapshots_by_chat ON snapshots (chat_id, position);
CREATE INDEX snapshots_by_workspace ON snapshots (workspace, position);

-- A path is bytes: a file's name need not be text.
CREATE TABLE snapshot_paths (
  snapshot_id TEXT NOT NULL REFERENCES snapshots (id),
  path BLOB NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  kind TEXT NOT NULL,
  hash TEXT,
  mode BIGINT NOT NULL,
  size BIGINT NOT NULL,
  mtime BIGINT NOT NULL,
  additions BIGINT NOT NULL,
  deletions BIGINT NOT NULL,
  PRIMARY KEY (snapshot_id, path)
) WITHOUT ROWID;

CREATE TRIGGER snapshot_paths_go_with_their_snapshot AFTER DELETE ON snapshots BEGIN
  DELETE FROM snapshot_paths WHERE snapshot_id = OLD.id;
END;
