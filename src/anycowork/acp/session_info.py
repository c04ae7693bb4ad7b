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

from anycowork.acp.markdown import one_line
from anycowork.client.chat_client import objects
from anycowork.domain.messages import Json

if TYPE_CHECKING:
    from anycowork.client.http import ServerClient

MODEL = "model"
ConfigOption = SessionConfigOptionSelect | SessionConfigOptionBoolean
_PAGE = 50


async def mode_state(client: "ServerClient", role: str) -> SessionModeState:
    roles = objects(await client.get("/roles"), "roles")
    modes = [
        SessionMode(
            id=str(one.get("name")),
            name=str(one.get("name")).replace("_", " ").capitalize(),
            description=str(one.get("tooltip") or ""),
        )
        for one in roles
    ]
    return SessionModeState(current_mode_id=role, available_modes=modes)


async def model_options(client: "ServerClient", chat: Json) -> list[ConfigOption] | None:
    """The models of every provider; None if there is nothing to choose from."""
    providers = objects(await client.get("/providers"), "providers")
    names = [f"{one.get('name')}/{model}" for one in providers for model in _texts(one.get("models"))]
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
    found = objects(await client.get(f"/workflows?context_id={chat_id}"), "workflows")
    return [_command(one) for one in found if one.get("trusted")]


async def session_infos(client: "ServerClient", cwd: str | None, cursor: str | None) -> ListSessionsResponse:
    """A page of chats, newest first; with `cwd` only those of that folder."""
    asked = urlencode({"limit": _PAGE, **({"cursor": cursor} if cursor else {})})
    page = await client.get(f"/context?{asked}")
    following = page.get("next")
    shown = [one for one in objects(page, "contexts") if cwd is None or one.get("workspace") == cwd]
    return ListSessionsResponse(
        sessions=[
            SessionInfo(
                session_id=str(one.get("id")),
                cwd=str(one.get("workspace")),
                title=str(one.get("title")),
                updated_at=str(one.get("updated_at")),
            )
            for one in shown
        ],
        next_cursor=following if isinstance(following, str) else None,
    )


def _command(workflow: Json) -> AvailableCommand:
    hints = [str(one.get("name")) for one in objects(workflow, "parameters")]
    given = (
        AvailableCommandInput(root=UnstructuredCommandInput(hint=" ".join(f"{name}=…" for name in hints)))
        if hints
        else None
    )
    description = one_line(workflow.get("description") or workflow.get("name"), 300)
    return AvailableCommand(name=str(workflow.get("name")), description=description, input=given)


def _texts(found: object) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
