"""The store on SQLite: one writer that commits in groups, readers of their own, plain SQL."""
