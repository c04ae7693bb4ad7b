"""Writable layers over a workspace, for commands and for the tasks of jobs."""
