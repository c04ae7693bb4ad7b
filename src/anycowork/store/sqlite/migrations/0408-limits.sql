-- Who pays for a request to a model, and on which day (UTC): limits of people and groups are held by these rows. A turn that goes on after
-- midnight has a row for each day. `reserved_answer` is set aside for the answer until the use is known.
ALTER TABLE people ADD COLUMN groups TEXT NOT NULL DEFAULT '[]';
ALTER TABLE principals ADD COLUMN payer TEXT NOT NULL DEFAULT 'owner';

CREATE TABLE limits (
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  usd_per_day DOUBLE PRECISION,
  tokens_per_day BIGINT,
  jobs BIGINT,
  PRIMARY KEY (kind, subject)
) WITHOUT ROWID;

CREATE TABLE new_usage (
  chat_id TEXT NOT NULL,
  turn_id TEXT NOT NULL,
  model TEXT NOT NULL,
  purpose TEXT NOT NULL,
  day TEXT NOT NULL,
  payer TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  first TEXT NOT NULL,
  newest TEXT NOT NULL,
  requests BIGINT NOT NULL,
  reserved BIGINT NOT NULL CHECK (reserved >= 0),
  reserved_answer BIGINT NOT NULL DEFAULT 0,
  prompt BIGINT NOT NULL,
  completion BIGINT NOT NULL,
  cached BIGINT NOT NULL,
  reasoning BIGINT NOT NULL,
  estimated BIGINT NOT NULL,
  filled BIGINT NOT NULL,
  PRIMARY KEY (chat_id, turn_id, model, purpose, day)
) WITHOUT ROWID;
INSERT INTO new_usage (chat_id, turn_id, model, purpose, day, payer, tenant_id, first, newest, requests, reserved, prompt, completion, cached,
    reasoning, estimated, filled)
  SELECT usage.chat_id, turn_id, model, purpose, COALESCE(substr(turns.created_at, 1, 10), ''), COALESCE(CASE
    WHEN principal LIKE 'person:%:%' THEN substr(principal, 8, instr(substr(principal, 8), ':') - 1)
    WHEN principal LIKE 'person:%' THEN substr(principal, 8)
    WHEN principal LIKE '%:%:%:%' THEN substr(
      substr(substr(principal, instr(principal, ':') + 1), instr(substr(principal, instr(principal, ':') + 1), ':') + 1), 1,
      instr(substr(substr(principal, instr(principal, ':') + 1), instr(substr(principal, instr(principal, ':') + 1), ':') + 1), ':') - 1)
    ELSE 'owner' END, 'owner'),
    usage.tenant_id, first, newest, requests, reserved, prompt, completion, cached, reasoning, estimated, filled
  FROM usage LEFT JOIN turns ON turns.id = usage.turn_id;
DROP TABLE usage;
ALTER TABLE new_usage RENAME TO usage;
CREATE INDEX usage_by_payer ON usage (payer, day);
CREATE INDEX key_usage_by_date ON key_usage (date);
