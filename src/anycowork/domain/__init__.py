"""The nouns and the pure decisions over them: no I/O, no clock, no asyncio. Everything may import it; it imports nothing of ours."""
