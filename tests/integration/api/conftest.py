from support.api_fixtures import anonymous, client, migrated, model, server, services, sleeps, token, workspace

__all__ = ["anonymous", "client", "migrated", "model", "server", "services", "sleeps", "token", "workspace"]
