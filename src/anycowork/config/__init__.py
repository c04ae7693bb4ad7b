"""Settings: what they are, where their values come from, what is wrong with them, and prices. Reads files; runs nothing."""
