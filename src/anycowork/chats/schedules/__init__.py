"""Schedules and triggers: kept by people, started by the server."""
