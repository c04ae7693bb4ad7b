"""The one place that keeps people from what is hidden from them: a request that names it is answered as one that names nothing.

Every route passes it. A parameter that is not listed here ends the server's start, so that a new route cannot be forgotten.
"""

import inspect
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from typing import Any  # what FastAPI gives to a route

from fastapi import Response
from pydantic import BaseModel

from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.principals import Principal
from anycowork.domain.visibility import Viewer, viewer_of
from anycowork.sandbox.workspaces import not_registered
from anycowork.server.services import Services
from anycowork.store.sql.visibility import VisibilityTable
from anycowork.store.sql.workspaces import workspace_id_of

Endpoint = Callable[..., Awaitable[Response]]
Hides = Callable[[VisibilityTable, Viewer, str], Awaitable[bool]]


async def _hides_workspace(table: VisibilityTable, viewer: Viewer, workspace_id: str) -> bool:
    return workspace_id in map(workspace_id_of, await table.hidden_roots(viewer))


HIDES: dict[str, Hides] = {
    "chat_id": lambda table, viewer, chat_id: table.hides_chat(viewer, chat_id),
    "context_id": lambda table, viewer, chat_id: table.hides_chat(viewer, chat_id),
    "job_id": lambda table, viewer, job_id: table.hides_job(viewer, job_id),
    "receipt_id": lambda table, viewer, receipt_id: table.hides_receipt(viewer, receipt_id),
    "schedule_id": lambda table, viewer, schedule_id: table.hides_schedule(viewer, schedule_id),
    "trigger_id": lambda table, viewer, trigger_id: table.hides_schedule(viewer, trigger_id),
    "rule_id": lambda table, viewer, rule_id: table.hides_rule(viewer, rule_id),
    "workspace_id": _hides_workspace,
}
"""Says whether this is hidden, by the name that its id has in paths, queries and bodies."""
FOLDER = "workspace"
"""The name that a folder has in queries and bodies."""
WITHIN = frozenset(
    {
        "message_id",
        "approval_id",
        "snapshot_id",
        "queued_id",
        "task_id",
        "command_id",
        "terminal_id",
        "commit",
        "number",
    }
)
"""Looked up only within the chat or job that stands before it in the path."""
OF_NO_CHAT = frozenset({"name", "prompt_id", "key_id", "person_id", "target_id", "worker_id", "run_id", "content_hash"})


_PARAMETER = re.compile(r"\{(\w+)")


def check_parameters(path: str) -> None:
    """Raises: ValueError for a parameter of a path of which nobody has said whether it may be hidden."""
    for name in _PARAMETER.findall(path):
        if name not in HIDES and name not in WITHIN and name not in OF_NO_CHAT:
            raise ValueError(f"{path}: say in {__name__} whether what '{name}' names may be hidden from a person")


def for_visible_only(endpoint: Endpoint) -> Endpoint:
    """Returns the endpoint behind a look at the ids that it is given. One without a principal serves no person."""
    if not {"principal", "services"} <= inspect.signature(endpoint).parameters.keys():
        return endpoint

    @wraps(endpoint)
    async def looked_at(**arguments: Any) -> Response:
        viewer = viewer_of(arguments["principal"])
        hidden = {} if viewer is None else await _hidden_in(arguments, arguments["services"], viewer)
        if not hidden:
            return await endpoint(**arguments)
        try:
            return await endpoint(**{name: _with_others(content, hidden) for name, content in arguments.items()})
        except AnyCoworkError as error:
            for named_id, other in hidden.items():
                error.message = error.message.replace(other, named_id)
            raise

    return looked_at


async def hides_chat(services: Services, principal: Principal, chat_id: str) -> bool:
    viewer = viewer_of(principal)
    return viewer is not None and await services.store.visibility.hides_chat(viewer, chat_id)


async def _hidden_in(arguments: dict[str, Any], services: Services, viewer: Viewer) -> dict[str, str]:
    """Returns each hidden id with one that nothing has. Raises: BadWorkspace for a hidden folder."""
    hidden = {}
    for name, named_id in _named_in(arguments):
        if name == FOLDER:
            await _require_folder(services, viewer, named_id)
        elif await HIDES[name](services.store.visibility, viewer, named_id):
            hidden[named_id] = secrets.token_hex(16)
    return hidden


async def _require_folder(services: Services, viewer: Viewer, folder: str) -> None:
    try:
        real = await services.workspaces.find(folder)
    except AnyCoworkError:
        return  # the route says what is wrong with it
    if await services.store.visibility.hides_folder(viewer, real):
        raise not_registered(real)


def _named_in(arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, content in arguments.items():
        if isinstance(content, str) and (name in HIDES or name == FOLDER):
            yield name, content
        elif isinstance(content, BaseModel):
            yield from _named_in({field: getattr(content, field) for field in type(content).model_fields})


def _with_others(content: Any, hidden: dict[str, str]) -> Any:
    """Returns what a route is given, with other ids in place of hidden ones."""
    if isinstance(content, str):
        return hidden.get(content, content)
    if not isinstance(content, BaseModel):
        return content
    fields = {field: getattr(content, field) for field in type(content).model_fields}
    changed = {field: _with_others(part, hidden) for field, part in fields.items()}
    return content.model_copy(update={field: part for field, part in changed.items() if part is not fields[field]})
