"""Builds the parts of a server from its settings."""
