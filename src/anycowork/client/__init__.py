"""The HTTP client of a running server, and the console. Used by `cli/` and `tui/`; starts a server in-process if none runs."""
