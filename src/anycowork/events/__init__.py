"""Fans events out to readers and replays what they missed. Writes nothing; that is `store`."""
