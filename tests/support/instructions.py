"""A workspace's own instructions: put there, looked at and trusted over HTTP, and what the model was told of them."""

from pathlib import Path

from support.live_server import Caller, Json, LiveChat, LiveServer

NAME = "AGENTS.md"


async def shown(client: Caller, **query: str) -> Json | None:
    """GET /instructions; of the folder that a new chat gets, unless `context_id` or `workspace` says another."""
    return (await client.ask("GET", "/instructions", params=query))["instructions"]


async def trust(client: Caller, workspace: Path, *, chat: LiveChat | None = None, expect: int = 201) -> Json:
    """A person trusts the file as it is now."""
    seen = await shown(client, workspace=str(workspace))
    assert seen is not None
    requested = {"workspace": str(workspace), "path": seen["path"], "sha256": seen["sha256"]}
    return await client.ask(
        "POST", "/workspaces", {"trust": {**requested, **({"context_id": chat.id} if chat else {})}}, expect=expect
    )


def told(client: LiveServer) -> list[str]:
    """The system prompt of each request that the model got."""
    return [request["messages"][0]["content"] for request in client.model.requests]
