"""AnyCowork as an MCP server: other hosts start chats, workflows and jobs, and read them. Decisions stay with people."""
