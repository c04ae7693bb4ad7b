"""One job on several joined workers that share no folder: parallel writers, a conflict, a race and a review, with workers that die or
are cut off."""

import asyncio
import re
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from support.jobs import SHARED, approved, by_task, plan, report, until, until_task
from support.live_server import LiveServer, live_server
from support.scripted_model import Answer, Body, Reply, call
from support.spec import proves
from support.workers import joined_process, joined_worker, relay, until_workers

FOREVER = "sleep 600"
AFTER = {"a2": "a", "b2": "b", "c2": "c", "d2": "d"}
LAST = {"left": ["a2", "b2"], "right": ["c2", "d2"], "index": ["left", "right"], "end": ["index"]}


def command_of(task: str) -> str:
    return f"sed -i s/draft/{task}/ shared.txt" if task in "ab" else f"echo {task} > {task}.txt"


def twelve_steps() -> list[dict[str, Any]]:
    needs = {**{name: [] for name in "abcd"}, **{name: [task] for name, task in AFTER.items()}, **LAST}
    return [
        {
            "id": name,
            "action": f"run {name}",
            "depends_on": before,
            "commands": [command_of(name), FOREVER],
            "paths": ["shared.txt" if name in "ab" else f"{name}.txt"],
        }
        for name, before in needs.items()
    ]


def mind_of_twelve(completed_a: asyncio.Event) -> Callable[[Body], Answer]:
    """`c` and `d` first run a command that only ends with its worker. Who hears that its worker is gone runs its command again."""
    begun: set[str] = set()

    def answer(body: Body) -> Answer:
        texts = [str(message["content"]) for message in body["messages"] if message["role"] != "system"]
        task = re.search(r"^Task (\S+): ", "\n".join(texts), re.MULTILINE)
        if task is None:
            return "Done."
        name = task.group(1)
        if name not in begun:
            begun.add(name)
            return call("execute_command", command=FOREVER if name in "cd" else command_of(name))
        if "Run it again" in texts[-1] or "Run the command again" in texts[-1]:
            return call("execute_command", command=command_of(name))
        return Reply(report(name), hold=completed_a) if name == "b" else report(name)

    return answer


async def running_on(server: LiveServer, job: dict[str, Any], *tasks: str) -> list[str]:
    """The workers of these tasks, once each of them runs a command that never ends."""
    runs = server.server.services.server.joined_workers.runs
    async with asyncio.timeout(120):
        while True:
            listed = (await server.ask("GET", f"/jobs/{job['id']}/tasks"))["tasks"]
            workers = [task["worker"] for task in listed if task["id"] in tasks]
            taken = [
                worker_id
                for worker_id, live in runs.living().items()
                for run in live.runs.values()
                if run.taken and run.command.command == FOREVER
            ]
            if sorted(taken) == sorted(filter(None, workers)) and len(taken) == len(tasks):
                return workers
            await asyncio.sleep(0.05)


@proves("JOB-12/1", "JOB-12/2", "JOB-12/3")
async def test_twelve_tasks_end_well_on_three_workers_of_which_one_dies_and_one_is_cut_off(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with live_server(home, files={"shared.txt": SHARED}) as server, AsyncExitStack() as stack:
        server.server.services.server.joined_workers.runs.silent_seconds = 6.0
        lines, processes, ids = [], [], []
        for number in range(3):
            lines.append(await stack.enter_async_context(relay(server)))
            invite = await server.ask("POST", "/workers/invites", {}, expect=201)
            folder = tmp_path / f"machine{number}"
            processes.append(stack.enter_context(joined_process(folder, lines[-1].url, invite["token"], hidden=home)))
            listed = await until_workers(server, lambda workers, count=number + 1: len(workers) == count)
            ids += [worker["id"] for worker in listed if worker["id"] not in ids]
        completed_a = asyncio.Event()
        server.model.mind = mind_of_twelve(completed_a)
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(*twelve_steps()), parallel=4, commit="job")
        of_c, of_d = await running_on(server, job, "c", "d")
        assert of_c != of_d, "the tasks are spread"
        processes[ids.index(of_c)].kill()
        lines[ids.index(of_d)].cut()
        await until_task(chat, "a")
        completed_a.set()
        assert (await chat.rest())["state"] == "awaiting_answer"
        [question] = await chat.of_type("question")
        conflict = question["payload"]["conflict"]
        assert (conflict["task"], conflict["workspace"]) == ("title: b\n", "title: a\n")
        lines[ids.index(of_d)].connect()
        await server.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "task"})
        done = await until(server, chat, job["id"], "awaiting_commit", "failed", seconds=240)
        assert done["status"] == "awaiting_commit", [one["content"] for one in await chat.of_type("tool_result")]
        assert (server.workspace / "shared.txt").read_text() == SHARED, "nothing is written before the review"
        await until_workers(server, lambda workers: {worker["id"] for worker in workers} == {*ids} - {of_c})
        for process in processes:
            process.kill()
            process.wait(60)
        for number in range(3):
            shutil.rmtree(tmp_path / f"machine{number}")
        await server.ask("POST", f"/jobs/{job['id']}/commit", {})
        written = {path.name: path.read_text() for path in server.workspace.iterdir()}
        tasks = [*"cd", *AFTER, *LAST]
        assert written == {"shared.txt": "title: b\n", **{f"{name}.txt": f"{name}\n" for name in tasks}}
        await server.ask("POST", f"/jobs/{job['id']}/tasks/d2/undo", {})
        assert not (server.workspace / "d2.txt").exists() and (server.workspace / "d.txt").exists()


@proves("JOB-12/2")
async def test_race_runs_on_joined_workers_and_one_is_kept(tmp_path: Path) -> None:
    agents = {name: {"role": "actor"} for name in ("fast", "thorough")}
    commands = {name: f"echo {name} > out.txt" for name in agents}
    step = {"id": "t", "action": "write", "paths": ["out.txt"], "commands": [*commands.values()]}
    async with (
        live_server(tmp_path, agents=agents) as server,
        joined_worker(tmp_path / "one", server) as one,
        joined_worker(tmp_path / "two", server) as two,
    ):
        server.model.mind = by_task(
            {f"t@{name}": [call("execute_command", command=commands[name]), report(name)] for name in agents}
        )
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(step), race=[*agents])
        job = await until(server, chat, job["id"], "awaiting_commit", "failed")
        assert job["status"] == "awaiting_commit" and not (server.workspace / "out.txt").exists()
        results = [result for result in await chat.results() if result["tool"] == "execute_command"]
        assert {result["facts"]["worker"] for result in results} == {one, two}
        await server.ask("POST", f"/jobs/{job['id']}/commit", {"agent": "thorough"})
        assert (server.workspace / "out.txt").read_text() == "thorough\n"
