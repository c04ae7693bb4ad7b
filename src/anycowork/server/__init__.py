"""One running server: its socket, its lock on the data folder, live settings, maintenance, and what this machine offers."""
