"""Workflow files put where the server finds them, and runs started and followed over HTTP."""

from pathlib import Path
from typing import Any  # answers are JSON that tests look into freely

from support.live_server import Caller, Json, LiveChat

BUILT_IN = (
    "compact_chat",
    "create_project",
    "explain_code",
    "fix_failing_test",
    "refactor_component",
    "review_changes",
    "summarize_chat",
    "write_tests",
)
HEAD = '+++\ndescription = "x"\n+++\n## Go\n'  # of a file with one step, which is still to be said


def written(tmp_path: Path, **texts: str) -> None:
    """Into the data folder of `live_server(tmp_path)`, by name."""
    _into(tmp_path / "data" / "workflows", texts)


def supplied(workspace: Path, **texts: str) -> None:
    """Into a workspace, where nobody has trusted them yet."""
    _into(workspace / ".anycowork" / "workflows", texts)


def _into(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)


async def started(chat: LiveChat, workflow: str, /, *, expect: int = 202, **parameters: Any) -> Json:
    body = {"context_id": chat.id, "parameters": parameters}
    return await chat.client.ask("POST", f"/workflows/{workflow}/execute", body, expect=expect)


async def progress(chat: LiveChat, *, until: str = "turn-ended") -> list[tuple[int, str]]:
    """Step and status of every `workflow-progress` so far. The chat is at rest; `until` is its last event."""
    events = await chat.events(until)
    return [(e["workflow"]["step"], e["workflow"]["status"]) for e in events if e["type"] == "workflow-progress"]


async def listed(client: Caller, workflow: str, **query: str) -> Json:
    """The one of this name in GET /workflows."""
    found = (await client.ask("GET", "/workflows", params=query))["workflows"]
    (one,) = [each for each in found if each["name"] == workflow]
    return one


async def names(client: Caller) -> set[str]:
    """Of all in GET /workflows."""
    return {one["name"] for one in (await client.ask("GET", "/workflows"))["workflows"]}


async def faults(client: Caller) -> list[Json]:
    """The files that gave none."""
    return (await client.ask("GET", "/workflows"))["faults"]


async def trust(client: Caller, workspace: Path, workflow: str, *, expect: int = 201) -> Json:
    """A person trusts this file as it is now."""
    seen = await listed(client, workflow, workspace=str(workspace))
    requested = {"workspace": str(workspace), "path": seen["path"], "sha256": seen["sha256"]}
    return await client.ask("POST", "/workspaces", {"trust": requested}, expect=expect)
