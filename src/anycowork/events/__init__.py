"""Delivers events to readers and replays what they missed. The `store` package writes them."""
