"""Finds what a command changed, checks it, and renames it into the workspace as one transaction."""
