"""Hands jobs to every machine that shares a PostgreSQL database, through DBOS. The journal keeps what a run has done."""
