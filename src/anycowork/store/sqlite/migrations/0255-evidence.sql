-- What a turn was expected to do and what proves it; the same of a job's task.
ALTER TABLE turns ADD COLUMN evidence TEXT;
ALTER TABLE tasks ADD COLUMN evidence TEXT;
