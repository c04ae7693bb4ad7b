"""What all real clients share: one server, started once."""

from support.real_clients import place

__all__ = ["place"]
