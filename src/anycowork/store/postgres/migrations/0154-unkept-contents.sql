-- Of a path in a folder of generated files that git ignores, a snapshot keeps the hash and not the content.
ALTER TABLE snapshot_paths ADD COLUMN kept BIGINT NOT NULL DEFAULT 1;
