"""MCP servers as sources of tools: their sessions, their tools as the gate knows them, and what keeps them running."""
