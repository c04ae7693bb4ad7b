"""Tells people that a decision waits for them: where each of them is told, and what sends it."""
