"""What all real clients share: one server, started once."""

from support.api_fixtures import migrated
from support.real_clients import place

__all__ = ["migrated", "place"]
