from support.api_fixtures import client, model, rooms, slept, stranger, token, workspace

__all__ = ["client", "model", "rooms", "slept", "stranger", "token", "workspace"]
