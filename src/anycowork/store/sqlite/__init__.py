"""The SQLite store: one writer thread that commits in groups, separate read connections, plain SQL."""
