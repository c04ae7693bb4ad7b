"""The progress of a headless run, as a person reads it."""

from io import StringIO

from anycowork.cli.run_progress import TextReporter
from anycowork.client.console import Console


def test_lines_of_tasks_that_run_side_by_side_name_their_task() -> None:
    progress = StringIO()
    reporter = TextReporter(Console(StringIO(), colour=False), Console(progress, colour=False))
    for task in ("one", "two", None):
        call = {"tool": "read_file", "parameters": {"path": "a.txt"}}
        message = {"message_type": "tool_call", "payload": call, "task_id": task, "agent_role": "actor"}
        reporter.show(b"", {"type": "message", "message": message})
    assert progress.getvalue().splitlines() == [
        "[actor]",
        "[one] → read_file path=a.txt",
        "[two] → read_file path=a.txt",
        "→ read_file path=a.txt",
    ]
