"""The progress of a headless run, as a person reads it."""

from io import StringIO

from anycowork.cli.run_outcome import OutcomeTracker, RunEnding, RunOutcome
from anycowork.cli.run_progress import TextReporter
from anycowork.client.console import Console
from anycowork.domain.messages import Json


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


def test_a_call_is_shown_without_the_notation_of_a_programming_language() -> None:
    progress = StringIO()
    reporter = TextReporter(Console(StringIO(), colour=False), Console(progress, colour=False))
    edits = [{"old": "a", "new": "b"}, {"old": "c", "new": "d"}]
    for parameters in (
        {"edits": edits, "path": "a.txt"},
        {"command": "curl x", "network": ["ä.example"], "reveal": True, "limit": None},
    ):
        message = {"message_type": "tool_call", "payload": {"tool": "do", "parameters": {**parameters}}}
        reporter.show(b"", {"type": "message", "message": message})
    assert progress.getvalue().splitlines() == [
        "→ do path=a.txt, edits=2",
        '→ do command=curl x, network=["ä.example"], reveal=true, limit=null',
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


def test_wait_for_mcp_servers_is_one_line_and_its_end_none() -> None:
    progress = StringIO()
    reporter = TextReporter(Console(StringIO(), colour=False), Console(progress, colour=False))
    for servers in (["git", "mail\x1b[2J"], ["git"], []):
        reporter.show(b"", {"type": "mcp-wait", "wait": {"servers": [*servers]}})
    assert progress.getvalue().splitlines() == [
        "Waiting for the MCP servers git, mail⟨U+001B⟩[2J to start.",
        "Waiting for the MCP server git to start.",
    ]


def test_a_turn_that_ended_at_a_limit_says_what_its_evidence_is() -> None:
    progress = StringIO()
    reporter = TextReporter(Console(StringIO(), colour=False), Console(progress, colour=False))
    error = "The turn reached 10 tool calls."
    outcome = RunOutcome(RunEnding.LIMIT, error=error, code="too_many_steps", evidence={"status": "claimed"})
    reporter.finish(outcome, chat_id=None, advice=["Continue it."])
    assert progress.getvalue().splitlines() == [
        f"limit: {error}",
        "Evidence: claimed. Only the agent says that it is done.",
        "Continue it.",
    ]


def test_a_turn_that_failed_by_its_evidence_says_so_once() -> None:
    progress = StringIO()
    reporter = TextReporter(Console(StringIO(), colour=False), Console(progress, colour=False))
    evidence: Json = {"status": "failed", "checks": [{"command": "make", "state": "unmet", "exit_code": 2}]}
    tracker = OutcomeTracker("t")
    outcome = tracker.see({"type": "turn-ended", "turn_id": "t", "reason": "answered", "evidence": evidence})
    assert outcome is not None
    reporter.finish(outcome, chat_id=None, advice=[])
    assert progress.getvalue().splitlines() == ["failed: Evidence: failed. make: exit code 2"]


def test_who_joins_during_a_wait_reads_what_is_left_of_it() -> None:
    progress = StringIO()
    reporter = TextReporter(Console(StringIO(), colour=False), Console(progress, colour=False))
    until = "2026-01-24T10:00:55.000000Z"
    retry = {"seconds": 55, "attempt": 2, "tries": 4, "reason": "provider_overloaded", "status": 503, "until": until}
    for at in ("10:00:00.000001", "10:00:43.500000", "10:01:00.000000", "09:00:00.000000", "no time", ""):
        reporter.show(b"", {"type": "model-retry", "at": f"2026-01-24T{at}Z" if at else at, "retry": retry})
    lines = progress.getvalue().splitlines()
    assert [line.split(" in ")[1] for line in lines] == [
        f"{seconds} s (2 of 4)." for seconds in (55, 12, 0, 55, 55, 55)
    ]
