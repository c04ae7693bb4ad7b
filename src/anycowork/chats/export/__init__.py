"""Writes a chat as Markdown, HTML or JSON."""
