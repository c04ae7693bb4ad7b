"""Workers whose models say nonsense or never end: the task fails with a reason, the others go on, and the job ends."""

import json
import re
from collections import Counter
from itertools import count
from pathlib import Path

from anycowork.domain.model import LONGEST_REPLY
from support.jobs import approved, plan, report, until, writing
from support.live_server import live_server
from support.scripted_model import Answer, Body, Garbage, Reply, call
from support.spec import proves

NONSENSE: dict[str, tuple[Answer, ...]] = {
    "words": ("I did it, believe me.", "Really."),
    "empty": ("", "  "),
    "deep": ("[" * 5_000, '{"status":' * 5_000),
    "forged": (json.dumps({"status": "success"}), json.dumps({"status": "done", "summary": "done", "evidence": {}})),
    "list": (json.dumps([{"status": "success"}]) + "{", '{"status": "success", "summary": 7}'),
    "bytes": (Garbage(b"\x00\xff\xfe data: {]"), Garbage(b"<html>502</html>", "text/html")),
}
GOOD = (call("create_file", path="good.txt", content="good\n"), report("good is written"))
ENDLESS = Reply(chunks=["la " * 10_000] * (LONGEST_REPLY // 30_000 + 2))


class BadModel:
    """Answers each task in turns from what is written above; `looping` calls a tool for ever."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self._numbers = count()

    def __call__(self, body: Body) -> Answer:
        told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        found = re.search(r"^Task (\S+): ", told, re.MULTILINE)
        if found is None:
            return "One file is written."
        task = found.group(1)
        self.asked[task] += 1
        if task == "looping":
            return call("list_files", path=f"folder-{next(self._numbers)}")
        if task == "endless":
            return ENDLESS
        said = GOOD if task == "good" else NONSENSE[task]
        return said[(self.asked[task] - 1) % len(said)]


@proves("JOB-4/5", "JOB-5/1")
async def test_workers_that_report_garbage_or_never_end_fail_alone_and_the_job_ends(tmp_path: Path) -> None:
    bad = [*NONSENSE, "endless", "looping"]
    steps = [writing(name) for name in bad] + [writing("good"), writing("after", *bad)]
    async with live_server(tmp_path, max_steps=8) as server:
        server.model.mind = model = BadModel()
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(*steps))
        done = await until(server, chat, job["id"], "completed", "failed", seconds=120)
        tasks = {task["id"]: task for task in done["tasks"]}
        assert tasks["good"]["status"] == "completed" and (server.workspace / "good.txt").read_text() == "good\n"
        for name in bad:
            assert tasks[name]["status"] == "failed", tasks[name]
            assert tasks[name]["error"]["message"] and tasks[name]["attempt"] <= 3, "retries are bounded"
        assert tasks["after"]["status"] == "skipped" and model.asked["after"] == 0
        assert done["status"] == "failed" and (await chat.show())["state"] == "idle"
        assert sum(model.asked.values()) < 150, "no model is asked for ever"
