-- A step of an agent writes as little as it can: a message stands once, in its record, and indices that only a removal used are gone.

-- Positions are given out by the one writer. `last_position` keeps them from being given again when the newest records are removed.
ALTER TABLE house ADD COLUMN last_position BIGINT NOT NULL DEFAULT 0;
UPDATE house SET last_position = COALESCE((SELECT MAX(position) FROM records), 0);
UPDATE house SET last_position = (SELECT seq FROM sqlite_sequence WHERE name = 'records')
  WHERE last_position < (SELECT seq FROM sqlite_sequence WHERE name = 'records');

CREATE TABLE new_records (
  position INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  type TEXT NOT NULL,
  message_id TEXT,
  hash TEXT,
  body BLOB NOT NULL,
  UNIQUE (chat_id, seq)
);
INSERT INTO new_records (position, tenant_id, chat_id, seq, type, message_id, hash, body)
  SELECT position, tenant_id, chat_id, seq, type, message_id, hash, body FROM records ORDER BY position;
DROP TABLE records;
ALTER TABLE new_records RENAME TO records;
CREATE INDEX records_of_deltas ON records (chat_id, message_id, seq) WHERE message_id IS NOT NULL;

-- Where the record of a message stands. `raw` is an imported message as it came; the record holds it as readers see it.
CREATE TABLE new_messages (
  id TEXT NOT NULL,
  chat_id TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  seq BIGINT NOT NULL,
  raw BLOB,
  PRIMARY KEY (id, chat_id)
) WITHOUT ROWID;
INSERT INTO new_messages (id, chat_id, tenant_id, seq, raw)
  SELECT id, chat_id, tenant_id, seq, CASE WHEN v = 0 THEN body END FROM messages;
DROP TABLE messages;
ALTER TABLE new_messages RENAME TO messages;

DROP INDEX calls_by_chat;
