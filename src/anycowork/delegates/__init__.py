"""Other vendors' agents (Agent Client Protocol) as tools: each runs on a private copy of the workspace, under the chat's permissions."""
