from support.api_fixtures import client, house, migrated, model, services, slept, stranger, token, workspace

__all__ = ["client", "house", "migrated", "model", "services", "slept", "stranger", "token", "workspace"]
