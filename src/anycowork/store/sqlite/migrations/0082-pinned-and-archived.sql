-- Pinned chats stand first in the list of chats; archived ones are left out of it.
ALTER TABLE chats ADD COLUMN pinned BIGINT NOT NULL DEFAULT 0;
ALTER TABLE chats ADD COLUMN archived BIGINT NOT NULL DEFAULT 0;
