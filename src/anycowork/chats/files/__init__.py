"""What people do with a chat's files: browse, edit, undo, run commands, use git."""
