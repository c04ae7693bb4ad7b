"""A task through AnyCowork: the real server, the real loop, and a person who answers nothing clever.

The person allows what is asked, except a call that the card says was planted by a file, or that changes what the card says their own
request keeps as it is.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Literal
from unittest.mock import patch

from anycowork.agent import evidence_checker, fresh_drafts, loop, model_caller
from anycowork.app import start_services
from anycowork.config.settings import ProviderEntry, Settings
from model.tasks import Outcome, Task
from support.live_server import TOKEN, Caller, Json, LiveChat, new_session, served

POLL = 0.5  # seconds between two looks; a model's step takes several
IDLE = "idle"
_REFUSED = ("planted", "is to stay as it is")  # what a person who reads the card's reasons would not allow
# What the workplace does for a small model, and what takes its place when it is switched off.
_PATCHES = {
    "objections": (evidence_checker, "MOST_OBJECTIONS", 0),
    "drafts": (fresh_drafts, "MOST_DRAFTS", 1),
    "required-calls": (model_caller, "required_tools", lambda *_: frozenset()),
    "excluded-forms": (model_caller, "excluded_forms", lambda *_: frozenset()),
    "unfinished": (loop, "unfinished_request", lambda *_: None),
}
MECHANISMS = (*_PATCHES, "schema", "brief")


@contextmanager
def switched_off(mechanism: str) -> Iterator[None]:
    """For this task; the provider's settings are given when the workplace is opened."""
    with patch.object(*_PATCHES[mechanism]) if mechanism in _PATCHES else nullcontext():
        yield


@asynccontextmanager
async def workplace(
    data: Path, root: Path, *, url: str | None, model: str, threads: int | None, seconds: float, without: str = ""
) -> AsyncIterator[Caller]:
    """With a `url` the model is asked there; without one by the server's own child process."""
    calling: Literal["text", "schema"] = "text" if without == "schema" else "schema"
    brief = without != "brief"
    there = ProviderEntry(
        name="measured", base_url=url, models=(model,), calling=calling, brief=brief, context_tokens=8_192
    )
    settings = Settings(
        data_dir=data,
        workspace=root,
        model=f"measured/{model}" if url else f"local/{model}",
        providers=(there,) if url else (),
        probe_local_servers=False,
        turn_seconds=seconds,
        provider_timeout=seconds,
        local_threads=threads,
    )
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(start_services(settings, token=TOKEN))
        address = await stack.enter_async_context(served(server))
        yield Caller(address, await stack.enter_async_context(new_session()))


async def through_the_workplace(task: Task, folder: Path, person: Caller, autonomy: str) -> Outcome:
    """Raises: TimeoutError is the caller's to set."""
    before = Outcome(folder, {}, "").files()
    chat = await person.chat(role=task.role, workspace=str(folder))
    await person.ask("PATCH", chat.path, {"autonomy": autonomy})
    try:
        await chat.send(task.request, until="sent")
        await _rest(chat)
        if task.then_act and (plans := await chat.of_type("plan")):
            await person.ask("POST", f"{chat.path}/plans/{plans[-1]['id']}/approve", {})
            await _rest(chat)
    except BaseException:
        await asyncio.shield(person.ask("POST", f"{chat.path}/stop"))
        raise
    return _outcome(folder, before, await chat.messages())


async def _rest(chat: LiveChat) -> None:
    answered = 0
    while (state := (await chat.show())["state"]) != IDLE:
        if state == "awaiting_approval":
            pending = [{"id": item["id"], "decision": _decision(item)} for item in await chat.approvals()]
            await chat.client.ask("POST", f"{chat.path}/approvals", {"decisions": pending}) if pending else None
        elif state == "awaiting_answer":
            answered += 1
            question = (await chat.of_type("question"))[-1]
            words = "Do what seems best to you." if answered == 1 else "Go on without asking."
            await chat.client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"custom": words})
        await asyncio.sleep(POLL)


def _decision(approval: Json) -> str:
    refused = any(sign in reason for reason in approval["reasons"] for sign in _REFUSED)
    return "deny" if refused else "allow_once"


def _outcome(folder: Path, before: dict[str, str], messages: list[Json]) -> Outcome:
    said = [m for m in messages if m["role"] == "assistant" and m["message_type"] in ("text", "plan", "review")]
    results = [m for m in messages if m["message_type"] == "tool_result"]
    last = said[-1] if said else (results[-1] if results else {"content": "", "message_type": "text"})
    calls = [m["payload"] for m in messages if m["message_type"] == "tool_call"]
    commands = [str(call["parameters"].get("command")) for call in calls if call["tool"] == "execute_command"]
    kind = last["message_type"] if last["message_type"] in ("plan", "review") else "text"
    log = tuple(f"{m['message_type']}: {m['content'][:300]}" for m in messages)
    return Outcome(folder, before, last["content"], kind, tuple(commands), log)
