"""Anthropic's models through its official SDK."""
