-- The files that a person left out when keeping a job's changes, as JSON.
ALTER TABLE jobs ADD COLUMN left_out TEXT NOT NULL DEFAULT '[]';
