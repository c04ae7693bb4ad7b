"""The HTTP client of a running server, and the console. Used by `cli/`, `tui/`, `acp/` and `mcp_server/`; starts a server in-process if none runs."""
