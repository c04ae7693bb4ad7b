"""Domain types and pure decisions: no I/O, no clock, no asyncio. Every package may import it; it imports none of our packages."""
