"""Checks the audit chain, and marks its heads outside the database."""
