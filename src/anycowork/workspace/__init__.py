"""The folder an agent works in: the jail around every path, the lease of its one writer, diffs. Knows the domain alone."""
