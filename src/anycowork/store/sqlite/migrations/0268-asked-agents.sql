-- The turn that gave a task to another agent and waits for the result of its job.
ALTER TABLE jobs ADD COLUMN asked_by TEXT;
