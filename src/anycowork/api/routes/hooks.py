"""The route for hooks: which there are, and what each came to last."""

from fastapi import Response

from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.routes.skills import folder_of
from anycowork.api.routes.workflows import OfChat, OfFolder
from anycowork.api.schemas.skills import HookList
from anycowork.domain.hooks import Hook, HookOutcome
from anycowork.domain.messages import Json
from anycowork.domain.principals import Scope
from anycowork.workspace.plugin_store import PLUGINS

routes = Router(tags=["hooks"])


@routes.get("/hooks", response_model=HookList, responses=error_responses(404, 422))
async def list_hooks(
    principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """Of the data folder, of the workspace and of plugins. Hooks of a file that is not trusted do not run. Viewers, who read no files,
    get no contents."""
    last = services.hook_runner.last
    listed = [
        {
            "source": _source(supplied.file.path),
            "path": supplied.file.path,
            "sha256": supplied.file.sha256,
            "trusted": supplied.file.trusted,
            "content": (supplied.file.text or "") if Scope.DECIDE in principal.scopes else "",
            "hooks": [_described(hook, last.get(hook)) for hook in supplied.hooks],
            "problems": list(supplied.problems),
        }
        for supplied in await services.hooks.files(await folder_of(services, context_id, workspace))
    ]
    return json_response(200, {"files": listed})


def _source(path: str) -> str:
    return "workspace" if path.startswith(".") else "plugin" if path.startswith(f"{PLUGINS}/") else "data"


def _described(hook: Hook, last: HookOutcome | None) -> Json:
    return {
        "event": hook.event.value,
        "matcher": hook.matcher,
        "command": hook.command,
        "timeout": hook.seconds,
        "last": last.to_json() if last else None,
    }
