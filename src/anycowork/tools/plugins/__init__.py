"""Third-party tools: found by their metadata, enabled by a person, and run in the sandbox; never imported by the server."""
