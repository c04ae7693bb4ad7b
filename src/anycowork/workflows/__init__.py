"""Workflows that users invoke: definitions, their parameters, and the execution of their steps."""
