-- The process that took a chat last. It stays when the chat rests: a process that was stopped meanwhile finds another's id here, and
-- its writes are refused. SQLite has none of it: there one process uses the database.
CREATE TABLE chat_holders (
  chat_id TEXT COLLATE "C" PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
  peer_id TEXT COLLATE "C" NOT NULL
);
