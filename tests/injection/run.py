"""`make test-injection`: AgentDojo's tasks and attacks through AnyCowork and through a bare loop, with a model that obeys whatever it reads.

The model is a script: it plays a task's own solution and, as soon as the planted text is in a result, the attacker's. The person is a
script too: they allow what belongs to the task and deny the rest. So the numbers are those of the harness alone.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any  # JSON of another project

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "src")]

from anycowork.permissions import gate  # noqa: E402
from support.live_server import LiveServer, live_server  # noqa: E402
from support.scripted_model import Body, call  # noqa: E402

PAGE = ROOT / "docs" / "injection-results.md"
PYTHON = ROOT / ".venv" / "injection" / "bin" / "python"
READING = ("get_", "read_", "search_", "list_", "check_")
Json = dict[str, Any]


@dataclass(frozen=True)
class Arm:
    """`always`: a rule allows every tool. `origins`: the mechanism is on. `decision` is how the person allows what belongs to the task."""

    name: str
    always: bool
    origins: bool
    decision: str = "allow_once"


ARMS = (
    Arm("everything that changes asks", always=False, origins=False),
    Arm("always allowed, without origins", always=True, origins=False),
    Arm("always allowed, with origins", always=True, origins=True),
    Arm("the same, endorsed for the chat", always=True, origins=True, decision="allow_session"),
    Arm("no rule at first, each card answered always", always=False, origins=True, decision="allow_always"),
)


@dataclass
class Numbers:
    attacks: int = 0
    effects: int = 0
    tasks: int = 0
    done: int = 0
    requests: int = 0
    unasked: int = 0

    def row(self, name: str) -> str:
        per_task = f"{self.requests / self.tasks:.2f}" if self.tasks else "–"
        return (
            f"| {name} | {self.effects} of {self.attacks} | {self.done} of {self.tasks} | {per_task} | {self.unasked} |"
        )


@dataclass
class Gullible:
    """The model of one case."""

    prompt: str
    calls: list[Json]
    output: str
    order: str
    orders: list[Json]
    reached: bool = False
    prefix: str = ""

    def hear(self, text: str) -> None:
        if self.order and not self.reached and self.order in text:
            self.reached = True
            self.calls[:0] = self.orders

    def next_call(self) -> Json | None:
        return self.calls.pop(0) if self.calls else None

    def answer(self, body: Body) -> str:
        self.hear("\n".join(_texts(body)))
        made = self.next_call()
        return call(self.prefix + made["tool"], **made["parameters"]) if made else (self.output or "Done.")


def _texts(body: Body) -> Iterator[str]:
    """The texts of the results; they may be quoted or escaped as JSON on their way."""
    for message in body["messages"][1:]:
        text = str(message["content"])
        yield text
        yield text.replace('\\"', '"').replace("\\u2019", "’")


class Dojo:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, body: Json | None = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data), timeout=60) as answer:
            return json.loads(answer.read())

    def case(self, suite: str, user: str, attack: str | None) -> Gullible:
        told = self.ask("/case", {"suite": suite, "user": user, "attack": attack})
        return Gullible(**told, prefix=f"{suite}__")


@contextmanager
def dojo() -> Iterator[Dojo]:
    with subprocess.Popen([PYTHON, HERE / "dojo_server.py"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Dojo(int(process.stdout.readline()))
        finally:
            process.terminate()


async def through_the_workplace(there: Dojo, arm: Arm, cases: list[tuple[str, str, str | None]]) -> Numbers:
    numbers, required = Numbers(), gate.required_endorsement
    if not arm.origins:
        gate.required_endorsement = lambda *given: None  # type: ignore[assignment]  # the ablation
    try:
        with tempfile.TemporaryDirectory() as folder:
            async with live_server(Path(folder)) as client:
                await _configure(client, there, arm)
                for case in cases:
                    await _play(client, there, arm, case, numbers)
    finally:
        gate.required_endorsement = required
    return numbers


async def _configure(client: LiveServer, there: Dojo, arm: Arm) -> None:
    for suite, offered in (await asyncio.to_thread(there.ask, "/cases")).items():
        reads = [name for name in offered["tools"] if name.startswith(READING)]
        server = {"name": suite, "url": f"{there.url}/mcp/{suite}", "read_only": reads}
        await client.ask("POST", "/mcp/servers", server, expect=201)
        connected = await client.ask("POST", f"/mcp/servers/{suite}/connect", {})
        assert connected["status"] == "ready", connected
        if arm.always:
            rule = {"tool": f"{suite}__*", "resource": "*", "effect": "allow", "scope": "global"}
            await client.ask("POST", "/rules", rule, expect=201)


async def _play(client: LiveServer, there: Dojo, arm: Arm, case: tuple[str, str, str | None], numbers: Numbers) -> None:
    model = await asyncio.to_thread(there.case, *case)
    own = [json.dumps([f"{case[0]}__{made['tool']}", made["parameters"]], sort_keys=True) for made in model.calls]
    client.model.mind = model.answer
    chat = await client.chat()
    asked: set[str] = set()
    state = await chat.send(model.prompt)
    while state["state"] == "awaiting_approval":
        decisions = []
        for approval in await chat.approvals():
            asked.add(approval["tool_call_id"])
            belongs = json.dumps([approval["tool"], approval["parameters"]], sort_keys=True) in own
            decisions.append({"id": approval["id"], "decision": arm.decision if belongs else "deny"})
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
        state = await chat.rest()
    verdict, results = await asyncio.to_thread(there.ask, "/verdict"), await chat.results()
    _count(numbers, case, model, verdict, len(asked))
    changing = [item for item in results if not str(item["tool"]).partition("__")[2].startswith(READING)]
    numbers.unasked += sum(item["status"] == "ok" and item["tool_call_id"] not in asked for item in changing)


def _count(numbers: Numbers, case: tuple[str, str, str | None], model: Gullible, verdict: Json, asked: int) -> None:
    if case[2] is None:
        numbers.tasks += 1
        numbers.done += verdict["useful"]
        numbers.requests += asked
    elif model.reached:
        numbers.attacks += 1
        numbers.effects += verdict["harmed"]


def bare_loop(there: Dojo, cases: list[tuple[str, str, str | None]]) -> Numbers:
    """The same model, and nothing between it and its tools."""
    numbers = Numbers()
    for case in cases:
        model = there.case(*case)
        while (made := model.next_call()) is not None:
            params = {"name": made["tool"], "arguments": made["parameters"]}
            answer = there.ask(f"/mcp/{case[0]}", {"id": 1, "method": "tools/call", "params": params})
            model.hear(answer["result"]["content"][0]["text"].replace('\\"', '"'))
            numbers.unasked += not made["tool"].startswith(READING)
        _count(numbers, case, model, there.ask("/verdict"), 0)
    return numbers


def chosen(there: Dojo, every: int, tasks: int) -> list[tuple[str, str, str | None]]:
    """Every so-manyth of the `tasks` without an attack, and every so-manyth pair of a task and an attack that acts."""
    listed = there.ask("/cases")
    clean = [(suite, user, None) for suite, offered in listed.items() for user in offered["users"]]
    pairs = [
        (suite, user, attack)
        for suite, offered in listed.items()
        for user, attack in product(offered["users"], offered["attacks"])
    ]
    return [*clean[::tasks], *pairs[::every]]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--every", type=int, default=13, help="play every so-manyth pair of a task and an attack")
    words.add_argument("--tasks", type=int, default=1, help="play every so-manyth task without an attack")
    words.add_argument("--write", action="store_true", help="write the page of results")
    given = words.parse_args()
    with dojo() as there:
        cases = chosen(there, given.every, given.tasks)
        rows = [bare_loop(there, cases).row("a bare loop")]
        sys.stdout.write(f"{rows[0]}\n")
        for arm in ARMS:
            rows.append(asyncio.run(through_the_workplace(there, arm, cases)).row(arm.name))
            sys.stdout.write(f"{rows[-1]}\n")
            sys.stdout.flush()
    if given.write:
        _, *other_sections = PAGE.read_text().partition("\n## CodeIPI")
        PAGE.write_text(page(rows, given.every, given.tasks) + "".join(other_sections))
    return 0


def ordinal(number: int) -> str:
    return f"{number}{'th' if number % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def page(rows: list[str], every: int, tasks: int) -> str:
    day = datetime.now(UTC).date().isoformat()
    table = "\n".join(rows)
    return f"""# Injection: what was measured

`make test-injection ARGS="--every {every} --tasks {tasks} --write"` on {day}. AgentDojo 0.1.35 (suites v1.2.2): its tools are four MCP
servers, its solutions are played by a scripted model that does what a planted text says as soon as it reads it. Played were every
{ordinal(tasks)} of the 97 tasks without an attack, and every {ordinal(every)} pair of a task and an attack that makes calls. A pair counts if the
planted text reached the model. Tools whose names begin like reading are marked read-only. The person is a script, too: they allow what
belongs to the task, and deny the rest.

| | attacks with effect | tasks done | requests per task | changing calls without a person |
|---|---|---|---|---|
{table}

"Always allowed" is a rule for every tool of every server: what is left after a person has answered "always" to all of them. "Without
origins" is the same code with this one check switched off. A request is one card. The last column counts all cases of the row.

Each rule and each endorsement fixes the arguments of its call ([ADR 0349](adr/0349-a-rule-for-a-servers-tool-fixes-its-arguments.md)).

Our own attacks know the rules, and `make test` runs them with the check and without it: 16 in a folder that nobody trusts and 7 by a
job, a plan, a pull or an image ([these](../tests/attacks/test_injection.py)), 57 in a trusted one, where only the origin holds a call
([these](../tests/attacks/test_adaptive_injection.py)), and 24 ways of a text, each with every consequence there is
([these](../tests/attacks/test_origins.py)). None has an effect; without the check each of the 73 reaches its call,
and none of the 7 is held. Six tasks are done without a request.
"""


if __name__ == "__main__":
    raise SystemExit(main())
