-- How a workspace travels to joined workers: a command that prepares it there, and patterns of what stays at home (a JSON list).
ALTER TABLE workspaces ADD COLUMN setup TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN leave_out TEXT COLLATE "C" NOT NULL DEFAULT '[]';
