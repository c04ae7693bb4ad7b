-- What people decided lately: rules are proposed from it. Nearly all approvals are decided, so the index has all of them.
CREATE INDEX approvals_by_time ON approvals (created_at, id);
