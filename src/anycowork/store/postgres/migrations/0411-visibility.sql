-- Who may see a chat or a workspace. What is there stays for everyone; what people make from now on is private, except where people work
-- with each other already. The owner is the person who made it.
ALTER TABLE chats ADD COLUMN visibility TEXT COLLATE "C" NOT NULL DEFAULT 'everyone';
ALTER TABLE chats ADD COLUMN owner TEXT COLLATE "C" NOT NULL DEFAULT 'owner';
ALTER TABLE workspaces ADD COLUMN visibility TEXT COLLATE "C" NOT NULL DEFAULT 'everyone';
ALTER TABLE workspaces ADD COLUMN owner TEXT COLLATE "C" NOT NULL DEFAULT 'owner';
ALTER TABLE house ADD COLUMN first_visibility TEXT COLLATE "C" NOT NULL DEFAULT 'private';
UPDATE house SET first_visibility = 'everyone' WHERE EXISTS (SELECT 1 FROM people WHERE removed_at IS NULL);
UPDATE chats SET owner = CASE
    WHEN created_by LIKE 'person:%' THEN split_part(created_by, ':', 2)
    WHEN created_by LIKE '%:%:%:%' THEN split_part(created_by, ':', 3)
    ELSE 'owner' END;
UPDATE workspaces SET owner = CASE
    WHEN registered_by LIKE 'person:%' THEN split_part(registered_by, ':', 2)
    WHEN registered_by LIKE '%:%:%:%' THEN split_part(registered_by, ':', 3)
    ELSE 'owner' END;
