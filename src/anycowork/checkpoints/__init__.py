"""Takes snapshots of touched paths into a content-addressed pack, compares them, and restores them."""
