-- Who pays for a request to a model, and on which day (UTC): limits of people and groups are held by these rows. A turn that goes on after
-- midnight has a row for each day. `reserved_answer` is set aside for the answer until the use is known.
ALTER TABLE people ADD COLUMN groups TEXT COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE principals ADD COLUMN payer TEXT COLLATE "C" NOT NULL DEFAULT 'owner';

CREATE TABLE limits (
  kind TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  usd_per_day DOUBLE PRECISION,
  tokens_per_day BIGINT,
  jobs BIGINT,
  PRIMARY KEY (kind, subject)
);

ALTER TABLE usage ADD COLUMN day TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN payer TEXT COLLATE "C" NOT NULL DEFAULT 'owner';
ALTER TABLE usage ADD COLUMN reserved_answer BIGINT NOT NULL DEFAULT 0;
UPDATE usage SET day = substr(turns.created_at, 1, 10), payer = CASE
    WHEN turns.principal LIKE 'person:%' THEN split_part(turns.principal, ':', 2)
    WHEN turns.principal LIKE '%:%:%:%' THEN split_part(turns.principal, ':', 3)
    ELSE 'owner' END
  FROM turns WHERE turns.id = usage.turn_id;
ALTER TABLE usage DROP CONSTRAINT usage_pkey;
ALTER TABLE usage ADD PRIMARY KEY (chat_id, turn_id, model, purpose, day);
CREATE INDEX usage_by_payer ON usage (payer, day);
CREATE INDEX key_usage_by_date ON key_usage (date);
