from support.api_fixtures import client, house, migrated, model, slept, stranger, token, workspace

__all__ = ["client", "house", "migrated", "model", "rooms", "slept", "stranger", "token", "workspace"]
