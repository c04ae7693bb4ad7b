"""MCP servers: what a person configured, how each one is, and how to connect, list again or remove one."""

from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field, field_validator

from anycowork.api.middleware.auth import MCP_SIGN_IN, Decider, Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.mcp import (
    McpDataFolderList,
    McpResourceList,
    McpServerList,
    McpServerResponse,
    McpSignInResponse,
)
from anycowork.domain.boundary import Boundary
from anycowork.domain.mcp_servers import ChatMcpServer, McpServerChanges, McpServerConfig

routes = Router(tags=["mcp"])
_SIGN_IN_FIELDS = ("code", "state", "iss", "error")
_PRIVATE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
_BACK = "You can close this page. AnyCowork now finishes signing in; its settings show how that goes."
_NO_SIGN_IN = "No sign-in waits for this. Start it again in AnyCowork's settings."


@routes.get("/mcp/servers", response_model=McpServerList, responses=error_responses())
async def list_mcp_servers(principal: Manager, services: ServicesDep) -> Response:
    """With each one's tools and the last lines that it printed."""
    return json_response(200, {"servers": list(await services.mcp.shown())})


@routes.get("/mcp/servers/{name}", response_model=McpServerResponse, responses=error_responses(404, 422))
async def show_mcp_server(name: str, principal: Manager, services: ServicesDep) -> Response:
    """One of them; while it connects, `log` has what its program has printed so far."""
    return json_response(200, await services.mcp.shown_one(name))


@routes.get("/mcp/resources", response_model=McpResourceList, responses=error_responses(422))
async def list_mcp_resources(
    principal: Reader,
    services: ServicesDep,
    q: Annotated[str, Query(max_length=200, description="Only those whose server, name or address holds this.")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 1_000,
) -> Response:
    """Of all connected servers; to name one in a message. An agent reads it with the server's tool `resources_read`."""
    return json_response(200, {"resources": list(services.mcp.resources(q, limit))})


@routes.post(
    "/mcp/servers", status_code=201, response_model=McpServerResponse, responses=error_responses(409, body=True)
)
async def add_mcp_server(body: McpServerConfig, principal: Manager, services: ServicesDep) -> Response:
    """It connects in the background; `connect` waits for how that goes."""
    return json_response(201, await services.mcp.add(body))


@routes.patch(
    "/mcp/servers/{name}", response_model=McpServerResponse, responses=error_responses(404, 409, 422, 507, body=True)
)
async def change_mcp_server(name: str, body: McpServerChanges, principal: Manager, services: ServicesDep) -> Response:
    """A field that is absent stays. In `env` and `headers` a value sets that name and null removes it. A change of its tools holds at
    once; any other starts it anew."""
    return json_response(200, await services.mcp.change(name, body))


@routes.delete(
    "/mcp/servers/{name}", status_code=204, response_class=Response, responses=error_responses(404, 409, 422, 507)
)
async def remove_mcp_server(
    name: str,
    principal: Manager,
    services: ServicesDep,
    with_data: Annotated[bool, Query(description="Whether its data folder is deleted too; else that is kept.")] = False,
) -> Response:
    """Its data folder is kept for a server that is added under the same name, unless you say otherwise."""
    await services.mcp.remove(name, with_data=with_data)
    return Response(status_code=204)


@routes.get("/mcp/data_folders", response_model=McpDataFolderList, responses=error_responses())
async def list_mcp_data_folders(principal: Manager, services: ServicesDep) -> Response:
    """What servers keep, also those that were removed."""
    return json_response(200, {"data_folders": list(await services.mcp.data_folders())})


@routes.delete(
    "/mcp/data_folders/{name}", status_code=204, response_class=Response, responses=error_responses(404, 422)
)
async def clean_mcp_data_folder(name: str, principal: Manager, services: ServicesDep) -> Response:
    """Deletes what the server of this name has kept. A server that runs starts anew, with an empty folder."""
    await services.mcp.clean(name)
    return Response(status_code=204)


@routes.post("/mcp/servers/{name}/connect", response_model=McpServerResponse, responses=error_responses(404, 422))
async def connect_mcp_server(name: str, principal: Manager, services: ServicesDep) -> Response:
    """Starts it anew, and answers when it is ready or has failed."""
    return json_response(200, await services.mcp.connect(name))


@routes.post("/mcp/servers/{name}/sign-in", response_model=McpSignInResponse, responses=error_responses(404, 409, 422))
async def sign_in_to_mcp_server(name: str, request: Request, principal: Manager, services: ServicesDep) -> Response:
    """The address at which you log in; open it in a browser on this machine. `sign_in` of the server says how it goes."""
    return_url = str(request.base_url).rstrip("/") + MCP_SIGN_IN
    return json_response(200, await services.mcp.sign_in(name, return_url))


@routes.get(MCP_SIGN_IN, include_in_schema=False)
async def finish_mcp_sign_in(request: Request, services: ServicesDep) -> Response:
    """Where a browser comes back after logging in. It brings no token of ours: the unguessable `state` says which sign-in it ends."""
    answer = {name: text[:4_000] for name, text in request.query_params.items() if name in _SIGN_IN_FIELDS}
    if not services.mcp.finish_sign_in(answer):
        return Response(_NO_SIGN_IN, 400, media_type="text/plain", headers=_PRIVATE)
    return Response(_BACK, 200, media_type="text/plain", headers=_PRIVATE)


@routes.post("/mcp/servers/{name}/disconnect", response_model=McpServerResponse, responses=error_responses(404, 422))
async def disconnect_mcp_server(name: str, principal: Manager, services: ServicesDep) -> Response:
    """Until it is connected again, or AnyCowork restarts."""
    return json_response(200, await services.mcp.disconnect(name))


@routes.post("/mcp/servers/{name}/refresh", response_model=McpServerResponse, responses=error_responses(404, 409, 422))
async def refresh_mcp_server(name: str, principal: Manager, services: ServicesDep) -> Response:
    """Lists its tools again."""
    return json_response(200, await services.mcp.relist(name))


class ChatMcpServers(Boundary):
    servers: Annotated[list[ChatMcpServer], Field(max_length=10)]

    @field_validator("servers")
    @classmethod
    def _each_once(cls, servers: list[ChatMcpServer]) -> list[ChatMcpServer]:
        if len({server.name for server in servers}) != len(servers):
            raise ValueError("each server needs a name of its own")
        return servers


@routes.post(
    "/context/{chat_id}/mcp_servers", response_model=McpServerList, responses=error_responses(404, 409, body=True)
)
async def use_mcp_servers(chat_id: str, body: ChatMcpServers, principal: Decider, services: ServicesDep) -> Response:
    """For this chat alone, instead of those it had; an empty list ends them. An admin may name any program, others only programs that an admin
    configured with the same arguments: those beside them are left out as failed. The start is recorded. They run in the sandbox without
    network and credentials, and each call of their tools asks. Answers when each one is ready or has failed."""
    servers = await services.chat_servers.use(principal, chat_id, body.servers)
    return json_response(200, {"servers": list(servers)})
