"""Writes records and tables to SQLite or PostgreSQL in groups, makes them durable and reads them back. `events` distributes them to readers."""
