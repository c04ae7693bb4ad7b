"""Tools of third parties: found by their metadata, switched on by a person, and run in the sandbox; never imported by the server."""
