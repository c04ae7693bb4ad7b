-- Where the tasks of a job work: a turn in a private copy names it, and so does a task whose changes are not committed yet.
-- `race` are the agents of a race; `replan_id` is the message that asked for a new plan.

ALTER TABLE turns ADD COLUMN workspace TEXT;
ALTER TABLE jobs ADD COLUMN commit_mode TEXT NOT NULL DEFAULT 'task';
ALTER TABLE jobs ADD COLUMN race TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN workspace TEXT;
ALTER TABLE jobs ADD COLUMN replan_id TEXT;
ALTER TABLE tasks ADD COLUMN agent TEXT;
ALTER TABLE tasks ADD COLUMN workspace TEXT;
ALTER TABLE tasks ADD COLUMN conflicts TEXT;
