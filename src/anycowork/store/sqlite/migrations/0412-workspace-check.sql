-- The command that checks the work in a workspace, as a person set it; empty: what is found in the project.
ALTER TABLE workspaces ADD COLUMN check_command TEXT NOT NULL DEFAULT '';
