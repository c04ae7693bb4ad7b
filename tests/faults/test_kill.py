"""Turns in several chats while the server is killed, or told to end, again and again: nothing acknowledged is lost, nothing is stuck,
nothing is done twice. Moments are random, from a fixed seed."""

import asyncio
import os
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from anycowork.domain.chats import TurnState
from support.fork_server import ForkServer
from support.live_server import Json, LiveChat
from support.scripted_model import Body, call, serve_in_thread
from support.server import ChildServer, child_server
from support.spec import proves
from support.stored import opened

CHATS, ROUNDS = 5, 20 if "ANYCOWORK_KILL_ROUNDS" in os.environ else 8  # `make test-kills` asks for many
UNDISTURBED, KILLED_AGAIN = 4, 3  # every how many rounds one is let through, and the server killed while it recovers
TIMEOUT = 60.0  # for a whole recovery
GONE = (aiohttp.ClientError, ConnectionError)  # to be met while the server ends
DELTAS = ("text-delta", "reasoning-delta")
END = "(the end)\n"


@proves("MSG-4", "EVT-2", "OPS-2")
async def test_turns_survive_kills_at_random_moments(fork_server: ForkServer, tmp_path: Path) -> None:
    moments = random.Random(8484)
    async with at_work(fork_server, tmp_path) as (server, workers):
        took = 0.0
        for number in range(ROUNDS):
            undisturbed = number % UNDISTURBED == 0
            took = await one_round(server, workers, moments, None if undisturbed else moments.uniform(0, took)) or took
            if not server.is_running and number % KILLED_AGAIN == 0:
                await kill_while_starting(server, moments)
            await recover(server, workers, moments)
        assert sum(worker.turns for worker in workers) == CHATS * ROUNDS
    assert sum(worker.interrupted() for worker in workers) >= CHATS, "the kills hit turns at work"


@proves("OPS-2", "EVT-2")
async def test_turns_survive_a_server_told_to_end_at_random_moments(fork_server: ForkServer, tmp_path: Path) -> None:
    moments = random.Random(4848)
    async with at_work(fork_server, tmp_path) as (server, workers):
        took = await one_round(server, workers, moments, None) or 0.0
        for _ in range(6):
            await one_round(server, workers, moments, moments.uniform(0, took), end=end_cleanly)
            await recover(server, workers, moments)
        assert "Traceback" not in server.log


@asynccontextmanager
async def at_work(fork_server: ForkServer, tmp_path: Path) -> AsyncIterator[tuple[ChildServer, list["Worker"]]]:
    """Some chats with a file each. Whatever was done to the server meanwhile, at the end all must be as promised."""
    files = {f"notes-{number}.txt": END for number in range(CHATS)}
    with (
        serve_in_thread(mind=answer) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url, files=files) as server,
    ):
        async with server.connect() as client:
            workers = [Worker(await client.chat(), file) for file in files]
            yield server, workers
            for worker in workers:
                await worker.check(server.workspace)
        assert server.terminate() == 0
    await check_journal(server.data, [worker.chat.id for worker in workers])
    assert [path.name for path in server.workspace.glob(".*")] == [], "nothing half-written lies about"
    assert any(worker.applied for worker in workers), "work was done all the same"


# --- the model: does the last thing it was told, one call at a time, then says so


def answer(body: Body) -> str:
    told = "\n".join(message["content"] for message in body["messages"] if message["role"] == "user")
    *_, order = re.finditer(r"(create (\S+) and )?append (\S+) to (notes-\d\.txt)", told)
    create, new_file, line, file = order.groups()
    calls = [call("create_file", path=new_file, content=line)] if create else []
    calls.append(call("update_file", path=file, edits=[{"find": END, "replace": f"{line}\n{END}"}]))
    done = told.count("Result of ", order.end())
    return calls[done] if done < len(calls) else f"I was told to append {line}, and this is what came of it. " * 4


# --- one chat: its turns, its reader, and what it was promised


@dataclass
class Worker:
    chat: LiveChat
    file: str
    turns: int = 0
    promised: dict[str, str] = field(default_factory=dict)  # message id → content, as acknowledged
    promised_turns: set[str] = field(default_factory=set)
    events: list[Json] = field(default_factory=list)
    deaf: bool = False
    applied: int = 0
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take_turn(self, moments: random.Random) -> None:
        self.turns += 1
        line = f"line-{self.turns}"
        if moments.random() < 0.5:
            await self.run_plan(line)
        else:
            await self.ask_for(line)
        await self.come_to_rest(moments)

    async def run_plan(self, line: str) -> None:
        """Both calls stand in the approved plan: nobody is asked."""
        new_file = f"{self.file}-{line}"
        step = {
            "action": f"create {new_file} and append {line} to {self.file}",
            "tools_needed": ["create_file", "update_file"],
            "paths": [new_file, self.file],
        }
        ask, path = self.chat.client.ask, self.chat.path
        plan = await ask("POST", f"{path}/plans", {"plan": {"goal": "go on", "steps": [step]}}, expect=201)
        self.promised[plan["message_id"]] = "go on"
        approved = await ask("POST", f"{path}/plans/{plan['message_id']}/approve", {}, expect=202)
        self.promised_turns.add(approved["turn_id"])

    async def ask_for(self, line: str) -> None:
        words = f"append {line} to {self.file}"
        sent = await self.chat.client.ask("POST", f"{self.chat.path}/messages", {"content": words}, expect=202)
        self.promised[sent["message_id"]] = words
        self.promised_turns.add(sent["turn_id"])

    async def come_to_rest(self, moments: random.Random) -> None:
        """Until the chat is idle; whatever it asks on the way is decided."""
        async with asyncio.timeout(TIMEOUT):
            while (state := await self.resting_state()) != "idle":
                assert state == "awaiting_approval"
                decision = "deny" if moments.random() < 0.2 else "allow_once"
                decisions = [{"id": item["id"], "decision": decision} for item in await self.chat.approvals()]
                await self.chat.client.ask("POST", f"{self.chat.path}/approvals", {"decisions": decisions}, expect=200)

    async def resting_state(self) -> str:
        while True:
            known = len(self.events)
            state = str((await self.chat.show())["state"])
            if state != "running":
                return state
            await self.hear_more_than(known)

    async def hear_more_than(self, known: int) -> None:
        """Raises: ConnectionError if the server is gone instead."""
        async with self.news:
            await self.news.wait_for(lambda: len(self.events) > known or self.deaf)
        if len(self.events) <= known:
            raise ConnectionError("the stream ended")

    async def read(self) -> None:
        """Follows the events from where it was, as a browser does, until the server is gone."""
        self.deaf = False
        try:
            async for event in self.chat.follow(after=self.events[-1]["seq"] if self.events else None):
                async with self.news:
                    self.events.append(event)
                    self.news.notify_all()
        except GONE:
            pass
        async with self.news:
            self.deaf = True
            self.news.notify_all()

    async def read_to_the_end(self) -> None:
        last_seq = (await self.chat.show())["last_seq"]
        async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(self.read())
            async with self.news:
                await self.news.wait_for(lambda: self.events and self.events[-1]["seq"] >= last_seq)
            reader.cancel()

    def interrupted(self) -> int:
        return sum(event["type"] == "turn-ended" and event["reason"] == "interrupted" for event in self.events)

    # --- what must be true at the end

    async def check(self, workspace: Path) -> None:
        await self.read_to_the_end()
        messages = await self.chat.messages()
        late = Worker(self.chat, self.file)
        await late.read_to_the_end()
        replay = [event for event in late.events if event["type"] not in DELTAS]
        self.check_promises(messages)
        self.check_turns(replay)
        self.check_numbers(replay)
        assert [event["message"] for event in replay if event["type"] == "message"] == messages
        self.check_effects(messages, workspace)

    def check_promises(self, messages: list[Json]) -> None:
        stored = {message["id"]: message["content"] for message in messages}
        assert {id_: stored.get(id_) for id_ in self.promised} == self.promised, "an acknowledged message is missing"

    def check_turns(self, replay: list[Json]) -> None:
        started = Counter(event["turn_id"] for event in replay if event["type"] == "turn-started")
        ended = Counter(event["turn_id"] for event in replay if event["type"] == "turn-ended")
        assert started == ended and set(started.values()) == {1}, "every turn begins once and ends once"
        assert self.promised_turns <= set(started)

    def check_numbers(self, replay: list[Json]) -> None:
        """Over all restarts: strictly ascending, never given twice, and nothing seen that is not there, or there that was not seen."""
        numbers = [event["seq"] for event in self.events]
        assert numbers == sorted(set(numbers))
        assert [event for event in self.events if event["type"] not in DELTAS] == replay
        texts = {event["message"]["id"]: event["message"]["content"] for event in replay if event["type"] == "message"}
        for delta in (event for event in self.events if event["type"] == "text-delta"):
            end = delta["offset"] + len(delta["text"])
            kept = texts.get(delta["message_id"], "")
            assert delta["text"].startswith(kept[delta["offset"] : end]), "what was shown is not what is kept"

    def check_effects(self, messages: list[Json], workspace: Path) -> None:
        """A result for every call, and on the disk exactly what the results say."""
        calls = {m["payload"]["id"]: m["payload"] for m in messages if m["message_type"] == "tool_call"}
        results = Counter(m["payload"]["tool_call_id"] for m in messages if m["message_type"] == "tool_result")
        assert results == Counter(calls.keys())
        ok = [
            calls[m["payload"]["tool_call_id"]]
            for m in messages
            if m["message_type"] == "tool_result" and m["payload"]["status"] == "ok"
        ]
        written = Counter((workspace / self.file).read_text().removesuffix(END).splitlines())
        claimed = Counter(appended(item) for item in ok if item["tool"] == "update_file")
        assert written == claimed and set(written.values()) <= {1}
        created = {item["parameters"]["path"] for item in ok if item["tool"] == "create_file"}
        assert created == {path.name for path in workspace.glob(f"{self.file}-*")}
        self.applied = len(ok)


def appended(update: Json) -> str:
    return str(update["parameters"]["edits"][0]["replace"]).removesuffix(END).strip()


# --- rounds


async def kill(server: ChildServer) -> None:
    server.kill()


async def end_cleanly(server: ChildServer) -> None:
    assert await asyncio.to_thread(server.terminate) == 0


async def one_round(
    server: ChildServer,
    workers: list[Worker],
    moments: random.Random,
    end_after: float | None,
    *,
    end: Callable[[ChildServer], Awaitable[None]] = kill,
) -> float | None:
    """A turn in every chat at once. How long they took, if the server was let live so long."""
    began = asyncio.get_running_loop().time()
    async with reading(workers), asyncio.TaskGroup() as tasks:
        turns = [tasks.create_task(until_gone(worker.take_turn(moments))) for worker in workers]
        if end_after is None:
            await asyncio.wait(turns)
            return asyncio.get_running_loop().time() - began
        await asyncio.sleep(end_after)  # the random moment is the point of these tests
        await end(server)
    return None


async def kill_while_starting(server: ChildServer, moments: random.Random) -> None:
    """The server that would settle what the last one left is killed at it."""
    starting = server.starting()
    await asyncio.sleep(moments.uniform(0, 0.3))
    starting.kill()


async def recover(server: ChildServer, workers: list[Worker], moments: random.Random) -> None:
    if not server.is_running:
        server.start()
    async with reading(workers):
        for worker in workers:
            await worker.come_to_rest(moments)


@asynccontextmanager
async def reading(workers: list[Worker]) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        readers = [tasks.create_task(worker.read()) for worker in workers]
        try:
            yield
        finally:
            for reader in readers:
                reader.cancel()


async def until_gone(turn: Awaitable[None]) -> None:
    try:
        await turn
    except GONE:
        return


async def check_journal(data: Path, chat_ids: list[str]) -> None:
    async with opened(data) as database:
        for chat_id in chat_ids:
            assert await database.store.audit.verify_chat(chat_id) is None
        assert await database.store.turns.in_states(TurnState.RUNNING, TurnState.DUE, TurnState.PARKED) == []
