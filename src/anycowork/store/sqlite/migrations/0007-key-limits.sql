-- What a client key may use, and what it used day by day. Spend is in billionths of a dollar.

ALTER TABLE principals ADD COLUMN limits TEXT;

CREATE TABLE key_usage (
  key_id TEXT NOT NULL,
  date TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  requests BIGINT NOT NULL,
  prompt BIGINT NOT NULL,
  completion BIGINT NOT NULL,
  cached BIGINT NOT NULL,
  reasoning BIGINT NOT NULL,
  estimated BIGINT NOT NULL,
  spend BIGINT NOT NULL,
  unpriced BIGINT NOT NULL,
  reserved_prompt BIGINT NOT NULL,
  reserved_completion BIGINT NOT NULL,
  reserved_spend BIGINT NOT NULL,
  last_used_at TEXT,
  PRIMARY KEY (key_id, date)
) WITHOUT ROWID;
