"""Errors of the project's language server, which come with an edit's result."""
