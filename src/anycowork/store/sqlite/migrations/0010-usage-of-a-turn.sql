-- A row for what a turn used of a model, instead of one for every request: a step writes what its last request used, and what its
-- next one sets aside, into one row that is there already. What each request used is in its event.

-- `first` is the first request, `newest` the one that was settled last ('' if none), and `filled` what that one weighed.
CREATE TABLE new_usage (
  chat_id TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  model TEXT NOT NULL,
  purpose TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  first TEXT NOT NULL,
  newest TEXT NOT NULL,
  requests BIGINT NOT NULL,
  reserved BIGINT NOT NULL CHECK (reserved >= 0),
  prompt BIGINT NOT NULL,
  completion BIGINT NOT NULL,
  cached BIGINT NOT NULL,
  reasoning BIGINT NOT NULL,
  estimated BIGINT NOT NULL,
  filled BIGINT NOT NULL,
  PRIMARY KEY (chat_id, turn_id, model, purpose)
) WITHOUT ROWID;
INSERT INTO new_usage (chat_id, turn_id, model, purpose, tenant_id, first, newest, requests, reserved, prompt, completion, cached,
    reasoning, estimated, filled)
  SELECT summed.*, COALESCE(usage.prompt + usage.completion, 0) FROM (
    SELECT chat_id, turn_id, model, purpose, MIN(tenant_id), MIN(id), COALESCE(MAX(CASE WHEN settled = 1 THEN id END), '') AS newest,
      COUNT(*), SUM(CASE WHEN settled = 0 THEN reserved ELSE 0 END), SUM(prompt), SUM(completion), SUM(cached), SUM(reasoning),
      SUM(estimated)
    FROM usage GROUP BY chat_id, turn_id, model, purpose
  ) AS summed LEFT JOIN usage ON usage.id = summed.newest;

DROP TABLE usage;
ALTER TABLE new_usage RENAME TO usage;
