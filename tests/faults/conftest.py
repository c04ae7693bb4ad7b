from support.child_fixtures import client, fork_server, model, server
from support.postgres import postgres

__all__ = ["client", "fork_server", "model", "postgres", "server"]
