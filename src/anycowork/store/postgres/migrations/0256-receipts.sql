-- What a passed check proves: the files it saw, the command and the result. The id is the hash of the body.
CREATE TABLE receipts (
  id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL DEFAULT 'local',
  chat_id TEXT COLLATE "C" NOT NULL,
  body TEXT COLLATE "C" NOT NULL
);
CREATE INDEX receipts_by_chat ON receipts (chat_id);
