"""What an editor is told of a session besides its messages: modes (our roles), models, commands (our workflows), the list of sessions."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    ListSessionsResponse,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionInfo,
    SessionMode,
    SessionModeState,
    UnstructuredCommandInput,
)

from anycowork.acp.tool_calls import one_line
from anycowork.domain.messages import Json, json_objects

if TYPE_CHECKING:
    from anycowork.client.http import ServerClient

MODEL = "model"
ConfigOption = SessionConfigOptionSelect | SessionConfigOptionBoolean
_PAGE = 50


async def mode_state(client: "ServerClient", role: str) -> SessionModeState:
    roles = json_objects((await client.get("/roles")).get("roles"))
    modes = [
        SessionMode(
            id=str(entry.get("name")),
            name=str(entry.get("name")).replace("_", " ").capitalize(),
            description=str(entry.get("tooltip") or ""),
        )
        for entry in roles
    ]
    return SessionModeState(current_mode_id=role, available_modes=modes)


async def model_options(client: "ServerClient", chat: Json) -> list[ConfigOption] | None:
    """The models of every provider; None if there is nothing to choose from."""
    providers = json_objects((await client.get("/providers")).get("providers"))
    names = [f"{provider.get('name')}/{model}" for provider in providers for model in _texts(provider.get("models"))]
    config = chat.get("config")
    current = config.get("model_id") if isinstance(config, dict) else None
    if isinstance(current, str) and current not in names:
        names.insert(0, current)
    if not names:
        return None
    options = [SessionConfigSelectOption(value=name, name=name) for name in names]
    chosen = current if isinstance(current, str) else names[0]
    option = SessionConfigOptionSelect(
        type="select", id=MODEL, name="Model", category="model", current_value=chosen, options=options
    )
    return [option]


async def available_commands(client: "ServerClient", chat_id: str) -> list[AvailableCommand]:
    """The workflows that can be run in this chat: built-in ones, and those of its folder that a person trusts."""
    workflows = json_objects((await client.get(f"/workflows?context_id={chat_id}")).get("workflows"))
    return [_command(workflow) for workflow in workflows if workflow.get("trusted")]


async def session_infos(client: "ServerClient", cwd: str | None, cursor: str | None) -> ListSessionsResponse:
    """A page of chats, newest first; with `cwd` only those of that folder."""
    query = urlencode({"limit": _PAGE, **({"cursor": cursor} if cursor else {})})
    page = await client.get(f"/context?{query}")
    following = page.get("next")
    chats = [chat for chat in json_objects(page.get("contexts")) if cwd is None or chat.get("workspace") == cwd]
    return ListSessionsResponse(
        sessions=[
            SessionInfo(
                session_id=str(chat.get("id")),
                cwd=str(chat.get("workspace")),
                title=str(chat.get("title")),
                updated_at=str(chat.get("updated_at")),
            )
            for chat in chats
        ],
        next_cursor=following if isinstance(following, str) else None,
    )


def _command(workflow: Json) -> AvailableCommand:
    hints = [str(parameter.get("name")) for parameter in json_objects(workflow.get("parameters"))]
    command_input = (
        AvailableCommandInput(root=UnstructuredCommandInput(hint=" ".join(f"{name}=…" for name in hints)))
        if hints
        else None
    )
    description = one_line(workflow.get("description") or workflow.get("name"), 300)
    return AvailableCommand(name=str(workflow.get("name")), description=description, input=command_input)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
