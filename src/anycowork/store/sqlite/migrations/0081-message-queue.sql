-- Messages written while the agent works. A row is deleted in the transaction that sends its message.
CREATE TABLE queued_messages (
  id TEXT PRIMARY KEY NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT 'local',
  chat_id TEXT NOT NULL,
  content TEXT NOT NULL,
  principal TEXT NOT NULL,
  steer BIGINT NOT NULL,
  created_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX queued_messages_by_chat ON queued_messages (chat_id);
