"""The SDK's connection between an editor and the agent. A module of its own: `initialize` is answered before the SDK is loaded."""

from typing import cast

from acp.agent.connection import AgentSideConnection
from acp.interfaces import Agent

from anycowork.acp.agent import EditorAgent
from anycowork.acp.handshake import EditorIntroduction
from anycowork.acp.transport import StdioTransport
from anycowork.client.server_link import ServerLink


async def serve_connection(link: ServerLink, transport: StdioTransport, introduction: EditorIntroduction) -> None:
    """Serves until the editor closes its input."""
    agent = EditorAgent(link, transport, introduction)
    served = cast(Agent, agent)  # forking and extensions are left out: the SDK answers that they are unknown
    connection = AgentSideConnection(served, transport, listening=False, use_unstable_protocol=True)
    try:
        await connection.listen()
    finally:
        await connection.close()
        await agent.aclose()
