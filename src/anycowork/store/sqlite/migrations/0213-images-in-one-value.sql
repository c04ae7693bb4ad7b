-- The paths of a snapshot and their states as one value, not a row for each: a commit has thousands.
-- Snapshots of earlier releases keep their rows in snapshot_paths.
ALTER TABLE snapshots ADD COLUMN images BLOB;
