"""Adapters of the engine port: `local` runs everything in this process, `dbos` on every machine that shares a PostgreSQL database."""
