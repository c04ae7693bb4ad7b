"""Servers that speak OpenAI's API: our own requests, and the passthrough."""
