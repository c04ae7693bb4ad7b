-- Who may see a chat or a workspace. What is there stays for everyone; what people make from now on is private, except where people work
-- with each other already. The owner is the person who made it.
ALTER TABLE chats ADD COLUMN visibility TEXT NOT NULL DEFAULT 'everyone';
ALTER TABLE chats ADD COLUMN owner TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE workspaces ADD COLUMN visibility TEXT NOT NULL DEFAULT 'everyone';
ALTER TABLE workspaces ADD COLUMN owner TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE house ADD COLUMN first_visibility TEXT NOT NULL DEFAULT 'private';
UPDATE house SET first_visibility = 'everyone' WHERE EXISTS (SELECT 1 FROM people WHERE removed_at IS NULL);
UPDATE chats SET owner = COALESCE(CASE
    WHEN created_by LIKE 'person:%:%' THEN substr(created_by, 8, instr(substr(created_by, 8), ':') - 1)
    WHEN created_by LIKE 'person:%' THEN substr(created_by, 8)
    WHEN created_by LIKE '%:%:%:%' THEN substr(
      substr(substr(created_by, instr(created_by, ':') + 1), instr(substr(created_by, instr(created_by, ':') + 1), ':') + 1), 1,
      instr(substr(substr(created_by, instr(created_by, ':') + 1), instr(substr(created_by, instr(created_by, ':') + 1), ':') + 1), ':') - 1)
    ELSE 'owner' END, 'owner');
UPDATE workspaces SET owner = COALESCE(CASE
    WHEN registered_by LIKE 'person:%:%' THEN substr(registered_by, 8, instr(substr(registered_by, 8), ':') - 1)
    WHEN registered_by LIKE 'person:%' THEN substr(registered_by, 8)
    WHEN registered_by LIKE '%:%:%:%' THEN substr(
      substr(substr(registered_by, instr(registered_by, ':') + 1), instr(substr(registered_by, instr(registered_by, ':') + 1), ':') + 1), 1,
      instr(substr(substr(registered_by, instr(registered_by, ':') + 1), instr(substr(registered_by, instr(registered_by, ':') + 1), ':') + 1), ':') - 1)
    ELSE 'owner' END, 'owner');
