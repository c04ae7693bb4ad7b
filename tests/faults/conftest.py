from support.child_fixtures import client, fork_server, model, server

__all__ = ["client", "fork_server", "model", "server"]
