"""`anycowork run --job` and `anycowork jobs`, as people type them."""

import json
import re

from support.cli_process import CommandLine, ServeProcess
from support.jobs import plan, report, writing
from support.scripted_model import ScriptedModel, call


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
