-- What a passed check proves: the files it saw, the command and the result. The id is the hash of the body.
CREATE TABLE receipts (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX receipts_by_chat ON receipts (chat_id);
