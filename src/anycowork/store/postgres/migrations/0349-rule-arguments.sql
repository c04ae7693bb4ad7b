-- The arguments of a server's tool that a rule fixes, as JSON.
ALTER TABLE rules ADD COLUMN arguments TEXT COLLATE "C";
