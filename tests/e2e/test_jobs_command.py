"""`anycowork run --job` and `anycowork jobs`, as people type them."""

import asyncio
import json
import re
from pathlib import Path

from support.cli_process import CommandLine, ServeProcess
from support.jobs import SHARED, by_task, plan, report, state_of, twelve_answers, twelve_tasks, writing
from support.scripted_model import ScriptedModel, call
from support.spec import proves


def test_job_is_planned_parked_for_approval_and_carried_out_from_the_command_line(
    shared: tuple[CommandLine, ServeProcess], models: ScriptedModel
) -> None:
    cli = shared[0]
    models.replies[:] = [
        json.dumps(plan(writing("job-a"))),
        call("create_file", path="job-a.txt", content="a\n"),
        report("job-a.txt is written"),
        "The file is written.",
    ]
    planned = cli.type("run", "--job", "Write job-a")
    assert planned.returncode == 3, planned.stderr
    job = re.search(r"jobs approve (\S+)", planned.stderr)
    assert job is not None and not (cli.workspace / "job-a.txt").exists()
    done = cli.type("jobs", "approve", job.group(1))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "The file is written." and (cli.workspace / "job-a.txt").read_text() == "a\n"
    assert "Task job-a (completed): job-a.txt is written" in done.stderr
    shown = cli.type("jobs", "show", job.group(1))
    assert "completed (claimed): job-a.txt is written" in shown.stdout


@proves("JOB-3/6", "JOB-3/7", "JOB-10", "PLN-5/1")
def test_twelve_tasks_with_a_conflict_and_a_review_run_from_the_command_line(
    shared: tuple[CommandLine, ServeProcess], models: ScriptedModel
) -> None:
    cli, server = shared
    (cli.workspace / "shared.txt").write_text(SHARED)
    (plan_file := cli.home / "plan.json").write_text(json.dumps(twelve_tasks()))
    before = state_of(cli.workspace)
    told = asyncio.Event()
    told.set()
    try:
        for review in ("--review", None):
            models.mind = by_task(twelve_answers(told), lambda told: "The guide is written.")
            words = ["run", "--job", "--parallel", "4", "--approved-plan", str(plan_file), *filter(None, [review])]
            asked = cli.type(*words)
            assert asked.returncode == 3, asked.stderr
            for version in ("The task's version:", "The version that is there now, by", "title: by a", "title: by b"):
                assert version in asked.stderr
            address = re.search(r"/context/\S+/questions/\S+?/answer", asked.stderr)
            assert address is not None
            job = server.get("/jobs?limit=1")["jobs"][0]["id"]
            if review:
                for word, code in (("show", 0), ("follow", 3)):
                    waits = cli.type("jobs", word, job)
                    printed = waits.stdout + waits.stderr
                    assert waits.returncode == code and re.search("Asks: Task '.*' and task '.*' changed", printed), (
                        printed
                    )
                    assert "(task, workspace, retry, merge)" in printed and address.group() in printed, printed
                    assert "Then follow the job" in printed and "Follow it:" not in printed
            server.post(address.group(), {"value": "workspace"})
            done = cli.type("jobs", "follow", job)
            table = [line.split() for line in done.stderr.splitlines()]
            assert ["task", "agent", "status", "files", "commands", "seconds", "cost"] in table, done.stderr
            rows = {row[0]: row[1:5] for row in table if len(row) == 7 and row[1] == "worker"}
            assert len(rows) == 12 and rows["index"] == ["worker", "claimed", "1", "0"]
            if review:
                assert done.returncode == 3 and f"jobs drop {job}" in done.stderr, done.stderr
                assert state_of(cli.workspace) == before
                assert cli.type("jobs", "drop", job).returncode == 0
                assert state_of(cli.workspace) == before, "dropped without a trace"
            else:
                assert done.returncode == 0 and done.stdout.strip() == "The guide is written."
                assert len(state_of(cli.workspace)) == len(before) + 10
    finally:
        models.mind = None


def test_job_runs_to_its_end_without_any_model(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    planned = cli.type("run", "--job", 'create list.txt with "Tea" then append "Milk" to list.txt')
    assert planned.returncode == 3, planned.stderr
    job = re.search(r"jobs approve (\S+)", planned.stderr)
    assert job is not None
    done = cli.type("jobs", "approve", job.group(1))
    assert done.returncode == 0 and "All tasks are done" in done.stdout, done.stderr
    assert (cli.workspace / "list.txt").read_text() == "Tea\nMilk\n"
