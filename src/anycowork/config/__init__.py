"""Settings: their definitions, sources and errors, and prices. Reads files; runs nothing."""
