"""The statements and the mapping of rows to values that every SQL database shares. Knows no database driver."""
