-- A forgotten plan of a completed job is not offered again for similar requests.
ALTER TABLE jobs ADD COLUMN forgotten BIGINT NOT NULL DEFAULT 0;
