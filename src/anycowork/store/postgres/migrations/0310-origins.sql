-- Where texts and file versions came from, which workspaces a person vouches for, and what a person endorsed.
ALTER TABLE workspaces ADD COLUMN trusts_contents BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN origins TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE snapshots ADD COLUMN origins TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN endorsement TEXT COLLATE "C";
ALTER TABLE rules ADD COLUMN origin TEXT COLLATE "C";
ALTER TABLE rules ADD COLUMN sink TEXT COLLATE "C";
-- `path` is a file, a folder with all that is below it if it ends with a slash, or empty: the join of the whole workspace.
CREATE TABLE file_origins (
    tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
    workspace TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    origins TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, path)
);
