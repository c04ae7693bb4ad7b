-- Workers look for jobs without a process every few seconds: they read the few that have not ended, not all that ever were.
CREATE INDEX jobs_unfinished ON jobs (status) WHERE status IN ('planning', 'running', 'paused');
