-- The checkpoint that undoing a task's changes made.
ALTER TABLE tasks ADD COLUMN undone_by TEXT;
