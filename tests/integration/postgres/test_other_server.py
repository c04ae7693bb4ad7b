"""Two servers on one database: whatever is asked of a chat or a job that one of them works on, the other answers as that one would."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from anycowork.api.application import NOUNS
from integration.postgres.test_two_servers import two_servers
from support.live_server import LiveServer
from support.spec import proves
from support.two_servers import CHAT_STATES, JOB_STATES, Scene, Stage, outcome, plain, request

Json = dict[str, Any]
Asked = tuple[str, str, Any]

JOB_REQUESTS: tuple[Asked, ...] = (
    ("GET", "/jobs/{job_id}", None),
    ("GET", "/jobs/{job_id}/tasks", None),
    ("GET", "/jobs/{job_id}/tasks/{task_id:path}", None),
    ("GET", "/jobs/{job_id}/diff", None),
    ("GET", "/jobs/{job_id}/audit", None),
    ("POST", "/jobs/{job_id}/approve", {}),
    ("POST", "/jobs/{job_id}/pause", None),
    ("POST", "/jobs/{job_id}/resume", None),
    ("POST", "/jobs/{job_id}/retry", {"task_id": "{task_id}"}),
    ("POST", "/jobs/{job_id}/replan", None),
    ("POST", "/jobs/{job_id}/commit", {}),
    ("POST", "/jobs/{job_id}/commit", {"agent": "worker"}),
    ("POST", "/jobs/{job_id}/drop", None),
    ("POST", "/jobs/{job_id}/tasks/{task_id}/undo", {"dry_run": True}),
    ("POST", "/jobs/{job_id}/tasks/{task_id}/undo", {}),
    ("POST", "/jobs/{job_id}/forget", None),
    ("POST", "/context/{chat_id}/jobs", {"plan": {"goal": "More", "steps": [{"id": "c", "action": "look"}]}}),
    ("POST", "/jobs/{job_id}/cancel", None),
)
CHAT_REQUESTS: tuple[Asked, ...] = (
    ("GET", "/context/{chat_id}", None),
    ("GET", "/context/{chat_id}/messages", None),
    ("GET", "/context/{chat_id}/approvals", None),
    ("GET", "/context/{chat_id}/queue", None),
    ("GET", "/context/{chat_id}/snapshots", None),
    ("GET", "/context/{chat_id}/snapshots/{snapshot_id}/diff", None),
    ("POST", "/context/{chat_id}/snapshots/{snapshot_id}/restore", {"dry_run": True}),
    ("POST", "/context/{chat_id}/snapshots/{snapshot_id}/restore", {}),
    ("PATCH", "/context/{chat_id}", {"title": "Named"}),
    ("POST", "/context/{chat_id}/mode", {"mode": "plan", "confirm": True}),
    ("PUT", "/context/{chat_id}/role", {"role": "actor", "confirm": True}),
    ("POST", "/context/{chat_id}/continue", None),
    ("POST", "/context/{chat_id}/dismiss", None),
    ("POST", "/context/{chat_id}/compact", None),
    ("DELETE", "/context/{chat_id}/compact", None),
    ("POST", "/context/{chat_id}/plans", {"plan": {"goal": "A", "steps": [{"id": "a", "action": "look"}]}}),
    ("POST", "/context/{chat_id}/messages", {"content": "Say more."}),
    ("POST", "/context/{chat_id}/messages", {"content": "Say more.", "when": "now"}),
    ("POST", "/context/{chat_id}/messages", {"content": "Say more.", "when": "idle"}),
    ("POST", "/context/{chat_id}/messages/{message_id}/reveal", {"number": 1}),
    ("POST", "/context/{chat_id}/approvals", "allow_once"),
    ("POST", "/context/{chat_id}/approvals", "deny"),
    ("POST", "/context/{chat_id}/questions/{message_id}/answer", {"value": "a"}),
    ("POST", "/context/{chat_id}/stop", None),
    ("DELETE", "/context/{chat_id}", None),
)
NOT_ASKED = {
    "files of the workspace, which all servers share": (
        *("files", "file", "changes", "symbols", "fork", "export", "git", "memory"),
    ),
    "rows that all servers read": (
        *("messages/{message_id}/images/{number}", "approvals/{approval_id}/disclosure", "audit", "usage"),
        *("evidence", "origins"),
        *("plans/{message_id}/disclosure", "plans/{message_id}/approve", "queue/{queued_id}"),
    ),
    "programs of the server that is asked": ("person-commands", "terminals", "mcp_servers"),
}


def test_every_route_of_a_chat_or_a_job_is_walked_or_named() -> None:
    walked = {path for _, path, _ in (*JOB_REQUESTS, *CHAT_REQUESTS)}
    named = tuple(f"/context/{{chat_id}}/{path}" for paths in NOT_ASKED.values() for path in paths)
    known = {route.path for noun in NOUNS for route in noun.routes.routes}  # type: ignore[attr-defined]  # all are routes of paths
    left = {path for path in known if "{chat_id}" in path or "{job_id}" in path} - walked
    assert walked <= known
    assert [path for path in left if path not in named and not path.startswith(tuple(f"{one}/" for one in named))] == []


@pytest.fixture
async def servers(tmp_path: Path, database_url: str) -> AsyncIterator[tuple[LiveServer, LiveServer]]:
    async with two_servers(tmp_path, database_url) as pair:
        rule = {"tool": "execute_command", "resource": "echo *", "effect": "allow", "scope": "global"}
        await pair[0].ask("POST", "/rules", rule, expect=201)
        yield pair


@proves("JOB-7/2")
@pytest.mark.parametrize("state", JOB_STATES)
async def test_job_on_another_server_is_answered_for_as_by_its_own(
    servers: tuple[LiveServer, LiveServer], state: str
) -> None:
    one, two = servers
    stage = Stage(one, two)
    own = await _walk(stage, state, one, JOB_REQUESTS)
    assert own == await _walk(stage, state, two, JOB_REQUESTS)
    assert any(status < 300 for asked, (status, *_) in own.items() if not asked.startswith("GET"))


@proves("SNAP-5/2")
@pytest.mark.parametrize("state", CHAT_STATES)
async def test_chat_on_another_server_is_answered_for_as_by_its_own(
    servers: tuple[LiveServer, LiveServer], state: str
) -> None:
    one, two = servers
    stage = Stage(one, two)
    own = await _walk(stage, state, one, CHAT_REQUESTS)
    assert own == await _walk(stage, state, two, CHAT_REQUESTS)
    assert any(status < 300 for asked, (status, *_) in own.items() if not asked.startswith("GET"))


async def _walk(stage: Stage, state: str, server: LiveServer, requests: Sequence[Asked]) -> dict[str, tuple[Any, ...]]:
    """Asks the server everything about chats in this state. One that was changed is looked at when it rests, and replaced by a new one."""
    answers: dict[str, tuple[Any, ...]] = {}
    scene: Scene | None = None
    for method, path, body in requests:
        scene = scene or await stage.scene(state)
        filled, sent = await _filled(scene, path, body)
        status, answer = await request(server, method, filled, sent)
        answers[f"{method} {path} {body}"] = (status, _of_moment(answer) if method == "POST" else answer)
        if status < 300 and method != "GET":
            answers[f"after {method} {path} {body}"] = (0, await outcome(server, scene))
            scene = None
    return answers


def _of_moment(answer: Any) -> Any:
    """An answer to a request that starts something says how far that has come; `outcome` says how it ends."""
    if not isinstance(answer, dict) or "error" not in answer:
        return sorted(answer) if isinstance(answer, dict) else answer
    return plain(answer["error"])


async def _filled(scene: Scene, path: str, body: Any) -> tuple[str, Any]:
    """The path and the body with the names of this scene."""
    tasks = scene.job.get("tasks") or [{"id": "a"}]
    failed = [task["id"] for task in tasks if task["status"] == "failed"] if scene.job.get("tasks") else []
    names: dict[str, Callable[[], Any] | str] = {"task_id": (failed or [tasks[0]["id"]])[0]}
    filled = path.replace("{chat_id}", scene.chat.id).replace("{job_id}", scene.job.get("id", ""))
    if "{message_id}" in filled:
        asked = await scene.chat.of_type("question")
        filled = filled.replace("{message_id}", asked[-1]["id"] if asked else "none")
    if "{snapshot_id}" in filled:
        taken = (await scene.chat.client.ask("GET", f"{scene.chat.path}/snapshots"))["snapshots"]
        filled = filled.replace("{snapshot_id}", taken[0]["id"] if taken else "none")
    filled = filled.replace("{task_id:path}", "{task_id}").replace("{task_id}", str(names["task_id"]))
    if path.endswith("/approvals") and body is not None:
        waiting = await scene.chat.approvals()
        return filled, {
            "decisions": [{"id": each["id"], "decision": body} for each in waiting]
            or [{"id": "none", "decision": body}]
        }
    if isinstance(body, dict) and body.get("task_id") == "{task_id}":
        return filled, {"task_id": names["task_id"]}
    return filled, body
