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


def test_wait_for_the_models_server_is_one_line() -> None:
    out, progress = StringIO(), StringIO()
    reporter = TextReporter(Console(out, colour=False), Console(progress, colour=False))
    retry = {"seconds": 11.2, "attempt": 2, "tries": 4, "reason": "provider_rate_limited", "status": 429}
    reporter.show(b"", {"type": "model-retry", "retry": retry})
    unreachable = {**retry, "reason": "provider_unreachable", "status": None, "attempt": 3}
    reporter.show(b"", {"type": "model-retry", "task_id": "one", "retry": unreachable})
    reporter.show(b"", {"type": "model-retry", "retry": {**retry, "reason": "a_later_one", "seconds": 0.3}})
    reporter.show(b"", {"type": "of_a_newer_server", "retry": retry})
    assert progress.getvalue().splitlines() == [
        "The model server is busy (429). Trying again in 12 s (2 of 4).",
        "[one] The model server cannot be reached. Trying again in 12 s (3 of 4).",
        "The model server failed (429). Trying again in 1 s (2 of 4).",
    ]
    assert out.getvalue() == ""
