"""The folder an agent works in: the jail around every path, file operations, diffs, Landlock. Depends on the domain only."""
