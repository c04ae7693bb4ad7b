-- Where texts and file versions came from, which workspaces a person vouches for, and what a person endorsed.
ALTER TABLE workspaces ADD COLUMN trusts_contents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
ALTER TABLE snapshots ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN endorsement TEXT;
ALTER TABLE rules ADD COLUMN origin TEXT;
ALTER TABLE rules ADD COLUMN sink TEXT;
-- `path` is a file, a folder with all that is below it if it ends with a slash, or empty: the join of the whole workspace.
CREATE TABLE file_origins (
    tenant_id TEXT NOT NULL DEFAULT 'local',
    workspace TEXT NOT NULL,
    path TEXT NOT NULL,
    origins TEXT NOT NULL,
    PRIMARY KEY (workspace, path)
) WITHOUT ROWID;
