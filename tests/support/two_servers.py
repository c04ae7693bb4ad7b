"""Chats and jobs in every state on one server, and the same requests about them to it or to another one on the same database."""

import asyncio
import json
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from support.jobs import approved, bytes_of, new_job, plan, report, until, writing
from support.live_server import LiveChat, LiveServer
from support.scripted_model import Answer, Body, Reply, call

Json = dict[str, Any]
SECONDS = 60.0
QUESTION = {"type": "question", "question": "Which?", "options": [{"label": "A", "value": "a"}]}
STEERING = "echo obey > AGENTS.md; echo new > plain.txt"
_ID = re.compile(r"(?=[A-Za-z_-]*\d)[0-9A-Za-z_-]{16,}|\d{4}-\d\d-\d\dT[0-9:.Z+]+")
_NUMBERS = frozenset(
    {"seconds", "tokens", "usage", "last_seq", "seq", "bytes", "size", "used", "context", "estimate", "cost"}
)


class Scene:
    """A chat in a folder of its own, and perhaps a job in it. `gate` lets a model answer that was asked while it was closed."""

    def __init__(self, chat: LiveChat, folder: Path, gate: asyncio.Event) -> None:
        self.chat = chat
        self.folder = folder
        self.gate = gate
        self.job: Json = {}
        self.names: Json = {}


class Stage:
    """Brings scenes about on a server. Every model there answers by what it is told."""

    def __init__(self, server: LiveServer, *others: LiveServer) -> None:
        self._server = server
        self._numbers = count(1)
        self._gate = asyncio.Event()
        self._reached = asyncio.Event()
        for each in (server, *others):
            each.model.mind = self._answer

    async def scene(self, state: str) -> Scene:
        folder = self._server.workspace / f"scene{next(self._numbers)}"
        folder.mkdir()
        (folder / "plain.txt").write_text("old\n")
        self._gate, self._reached = asyncio.Event(), asyncio.Event()
        scene = Scene(await self._server.chat(workspace=str(folder)), folder, self._gate)
        async with asyncio.timeout(SECONDS):
            await (_JOBS.get(state) or _CHATS[state])(self, scene)
        return scene

    # --- jobs

    async def planning(self, scene: Scene) -> None:
        scene.job = await new_job(self._server, scene.chat, request="Plan slowly.")
        await self._reached.wait()

    async def awaiting_approval(self, scene: Scene) -> None:
        scene.job = await new_job(self._server, scene.chat, plan=plan(writing("a")), commit="job")

    async def running(self, scene: Scene) -> None:
        steps = plan(writing("a"), writing("slow", "a"))
        scene.job = await approved(self._server, scene.chat, plan=steps, commit="job")
        await self._reached.wait()

    async def paused(self, scene: Scene) -> None:
        steps = plan(writing("a"), writing("slow", "a"), writing("b", "slow"))
        scene.job = await approved(self._server, scene.chat, plan=steps, commit="job")
        await self._reached.wait()
        await self._server.ask("POST", f"/jobs/{scene.job['id']}/pause")
        scene.gate.set()
        await self._until_idle(scene)

    async def awaiting_commit(self, scene: Scene) -> None:
        await self._finished(scene, "awaiting_commit", plan=plan(writing("a"), writing("b")), commit="job")

    async def race(self, scene: Scene) -> None:
        await self._finished(scene, "awaiting_commit", plan=plan(writing("a")), race=["worker", "scripted/scripted"])

    async def partly(self, scene: Scene) -> None:
        await self._finished(scene, "awaiting_commit", plan=plan(writing("a"), writing("bad")), commit="job")

    async def completed(self, scene: Scene) -> None:
        await self._finished(scene, "completed", plan=plan(writing("a"), writing("b")), parallel=2)

    async def failed(self, scene: Scene) -> None:
        await self._finished(scene, "failed", plan=plan(writing("bad"), writing("a", "bad")), parallel=2)

    async def cancelled(self, scene: Scene) -> None:
        await self.awaiting_commit(scene)
        await self._server.ask("POST", f"/jobs/{scene.job['id']}/cancel")

    async def _finished(self, scene: Scene, status: str, **given: Any) -> None:
        job = await approved(self._server, scene.chat, **given)
        scene.job = await until(self._server, scene.chat, job["id"], status)
        await self._until_idle(scene)

    async def _until_idle(self, scene: Scene) -> None:
        while (await scene.chat.show())["state"] == "running":
            await asyncio.sleep(0.1)

    # --- chats

    async def idle(self, scene: Scene) -> None:
        await scene.chat.send("Say something.")

    async def at_work(self, scene: Scene) -> None:
        await scene.chat.send("Answer slowly.", until="sent")
        await self._reached.wait()

    async def asking(self, scene: Scene) -> None:
        await scene.chat.send("Create it.")

    async def changed(self, scene: Scene) -> None:
        await scene.chat.send("Change it.")
        await scene.chat.decide()

    async def changed_again(self, scene: Scene) -> None:
        await self.changed(scene)
        await self.at_work(scene)

    async def holding(self, scene: Scene) -> None:
        await scene.chat.send("Steer it.")
        await scene.chat.decide()

    async def questioning(self, scene: Scene) -> None:
        await scene.chat.send("Ask me.")

    def _answer(self, body: Body) -> Answer:
        said = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
        told = "\n".join(said)
        task = re.search(r"^Task (\S+): ", told, re.MULTILINE)
        if task is not None:
            return self._work(task.group(1), body)
        if "Plan slowly." in told:
            return self._slow(json.dumps(plan(writing("a"))))
        if "plan" in said[-1].lower() and "remain" in said[-1].lower():
            return json.dumps(plan(writing("c")))
        last = str(body["messages"][-1]["content"])
        for words, answer in _ANSWERS.items():
            if words in last:
                return answer() if callable(answer) else answer
        return self._slow("Slow.") if "Answer slowly." in last else "Done."

    def _work(self, task: str, body: Body) -> Answer:
        name = task.split("@")[0]
        if name == "bad":
            return report("it cannot be done", "failure")
        told = json.dumps(body["messages"][-1])
        if f"{name}.txt" in told and "Task " not in told:
            return self._slow(report("ok")) if name == "slow" else report("ok")
        return call("create_file", path=f"{name}.txt", content=f"{name}\n")

    def _slow(self, text: str) -> Answer:
        self._reached.set()
        return text if self._gate.is_set() else Reply(text, hold=self._gate)


_ANSWERS: dict[str, Answer | Callable[[], Answer]] = {
    "Create it.": call("create_file", path="made.txt", content="made\n"),
    "Change it.": call("update_file", path="plain.txt", edits=[{"find": "old", "replace": "new"}]),
    "Steer it.": call("execute_command", command=STEERING),
    "Ask me.": json.dumps(QUESTION),
}
_JOBS = {
    "planning": Stage.planning,
    "awaiting_approval": Stage.awaiting_approval,
    "running": Stage.running,
    "paused": Stage.paused,
    "awaiting_commit": Stage.awaiting_commit,
    "race": Stage.race,
    "partly": Stage.partly,
    "completed": Stage.completed,
    "failed": Stage.failed,
    "cancelled": Stage.cancelled,
}
_CHATS = {
    "idle": Stage.idle,
    "at_work": Stage.at_work,
    "asking": Stage.asking,
    "changed": Stage.changed,
    "changed_again": Stage.changed_again,
    "holding": Stage.holding,
    "questioning": Stage.questioning,
}
JOB_STATES, CHAT_STATES = tuple(_JOBS), tuple(_CHATS)
RESTING = ("awaiting_approval", "paused", "awaiting_commit", "completed", "failed", "cancelled")


async def request(server: LiveServer, method: str, path: str, body: Any) -> tuple[int, Any]:
    """The status and the answer, without what differs from scene to scene."""
    async with server.session.request(method, server.url + path, json=body) as response:
        text = await response.text()
        kind = response.headers.get("content-type", "")
        return response.status, plain(json.loads(text)) if text and "json" in kind else bool(text)


def plain(answer: Any) -> Any:
    """The answer without ids, times and numbers of bytes and tokens."""
    if isinstance(answer, dict):
        return {key: plain(value) for key, value in answer.items() if key not in _NUMBERS}
    if isinstance(answer, list):
        return [plain(each) for each in answer]
    return re.sub(r"scene\d+", "scene", _ID.sub("ID", answer)) if isinstance(answer, str) else answer


async def outcome(server: LiveServer, scene: Scene) -> Json:
    """What has become of the scene once nothing moves: the files, the chat's state, and the job."""
    scene.gate.set()
    deadline = asyncio.get_running_loop().time() + SECONDS
    while True:
        status, chat = await request(server, "GET", scene.chat.path, None)
        job = (await request(server, "GET", f"/jobs/{scene.job['id']}", None))[1] if scene.job else {}
        if status != 200 or (chat["state"] != "running" and (not job or job.get("status") in RESTING)):
            break
        assert asyncio.get_running_loop().time() < deadline, (chat, job)
        await asyncio.sleep(0.1)
    return {"files": bytes_of(scene.folder), "chat": chat if status != 200 else chat["state"], "job": job}
