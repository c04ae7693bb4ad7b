-- A snapshot is written twice around every change and seldom looked up: what only a lookup used is gone.

-- `position` is one more than the largest there is: the order of all changes of a workspace, whichever chat made them.
-- An id is looked up within its chat, and a workspace's changes among all that came later.
CREATE TABLE new_snapshots (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
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
INSERT INTO new_snapshots (position, id, tenant_id, chat_id, turn_id, call_id, change_id, workspace, moment, restores, files,
    additions, deletions, diff, diff_size, pruned, created_at)
  SELECT position, id, tenant_id, chat_id, turn_id, call_id, change_id, workspace, moment, restores, files,
    additions, deletions, diff, diff_size, pruned, created_at FROM snapshots ORDER BY position;

CREATE TABLE new_snapshot_paths (
  snapshot_id TEXT NOT NULL,
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
INSERT INTO new_snapshot_paths (snapshot_id, path, tenant_id, kind, hash, mode, size, mtime, additions, deletions)
  SELECT snapshot_id, path, tenant_id, kind, hash, mode, size, mtime, additions, deletions FROM snapshot_paths
  ORDER BY snapshot_id, path;

DROP TABLE snapshot_paths;
DROP TABLE snapshots;
ALTER TABLE new_snapshots RENAME TO snapshots;
ALTER TABLE new_snapshot_paths RENAME TO snapshot_paths;
CREATE INDEX snapshots_by_chat ON snapshots (chat_id, position);

CREATE TRIGGER snapshot_paths_go_with_their_snapshot AFTER DELETE ON snapshots BEGIN
  DELETE FROM snapshot_paths WHERE snapshot_id = OLD.id;
END;
