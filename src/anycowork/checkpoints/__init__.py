"""Snapshots of touched paths in a content-addressed pack; comparing them, and restoring them."""
