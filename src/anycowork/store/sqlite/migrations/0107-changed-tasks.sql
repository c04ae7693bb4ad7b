-- `seq` is the number of the change that wrote the task last: a scheduler reads what changed since it last looked, not all tasks.

ALTER TABLE tasks ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
CREATE INDEX tasks_by_change ON tasks (job_id, seq);
