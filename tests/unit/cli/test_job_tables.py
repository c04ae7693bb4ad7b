"""Jobs in a terminal, whatever a server answers."""

from anycowork.cli.job_tables import agent_lines, audit_lines, diff_lines, job_details
from anycowork.domain.messages import Json


def test_audit_has_a_row_for_each_task_and_names_what_was_not_planned() -> None:
    step = {
        "id": "a",
        "agent": "scout",
        "status": "done",
        "files": ["a.txt"],
        "commands": ["make"],
        "usage": {"seconds": 1.5, "cost": 0.25, "tokens": 3},
        "unplanned": [{"tool": "execute_command", "resource": "rm x", "status": "denied"}],
        "untouched": ["b.txt"],
    }
    undone: Json = {"id": "c", "status": "claimed", "undone_by": "snapshot"}
    head, row, *more = audit_lines({"steps": [step, {"id": "b", "status": "skipped"}, undone]})
    assert head.split() == ["task", "agent", "status", "files", "commands", "seconds", "cost"]
    assert row.split() == ["a", "scout", "done", "1", "1", "1.5", "$0.2500"]
    assert more[0] == "  unplanned: execute_command rm x (denied)" and more[1].endswith("b.txt")
    assert more[2].split() == ["b", "-", "skipped", "0", "0", "-", "-"]
    assert more[3].split() == ["c", "-", "undone", "0", "0", "-", "-"]


def test_diff_of_a_race_stands_agent_by_agent_and_garbage_is_no_fault() -> None:
    one = {"agent": "fast", "status": "completed", "completed": 2, "proved": 1, "task_ids": ["a@fast", "b@fast"]}
    one |= {"diff": "+x", "files": [1], "usage": None, "result": "done"}
    lines = list(diff_lines({"candidates": [one], "conflicts": [{"path": "a", "reason": "why"}], "diff": ""}))
    assert lines == ["fast  completed  2 of 2 tasks, 1 proved  - s  -  1 files", "  done", "+x", "conflict: a: why"]
    assert list(diff_lines({"candidates": "?", "diff": None})) == [] and list(audit_lines({"steps": None}))[1:] == []
    [agent] = agent_lines({"agents": [{"name": "scout", "role": "planner", "model": None}]})
    assert agent.startswith("scout ")


def test_job_says_why_a_task_failed_and_which_file_only_the_plan_named() -> None:
    guess: Json = {
        "subject": "new.txt",
        "state": "unknown",
        "why": "Only the plan named it, and nothing was written there.",
    }
    evidence: Json = {
        "status": "claimed",
        "expectations": [guess, {"subject": "b.txt", "state": "met", "why": "It is there."}],
    }
    reason: Json = {"code": "reported_failure", "message": "There is no such page."}
    tasks: list[Json] = [
        {"id": "a", "status": "completed", "description": "write", "result": "it is in b.txt", "evidence": evidence},
        {"id": "b", "status": "failed", "description": "look", "result": None, "error": reason},
        {"id": "c", "status": "running", "description": "look again", "error": reason},
        {"id": "d", "status": "skipped", "description": "draw", "error": None},
    ]
    error: Json = {"code": "tasks_failed", "message": "These tasks did not complete: b, d."}
    job: Json = {
        "id": "j",
        "status": "failed",
        "request": "Write.",
        "tasks": [*tasks],
        "error": error,
        "plan": {"steps": []},
    }
    assert list(job_details(job)) == [
        "j  failed: Write.",
        "  a              completed (claimed): it is in b.txt",
        "    new.txt: Only the plan named it, and nothing was written there.",
        "  b              failed: There is no such page.",
        "  c              running: look again",
        "  d              skipped: draw",
        "  These tasks did not complete: b, d.",
    ]


def test_plan_that_waits_is_shown_with_everything_that_approving_it_grants() -> None:
    step: Json = {
        "id": "a",
        "step_number": 1,
        "action": "write a\n  b   delete",
        "reason": "",
        "tools_needed": ["create_file"],
    }
    step |= {"paths": ["a.txt", "b.txt"], "commands": ["make\nall"], "agent": "scribe", "dependencies": []}
    plan: Json = {"goal": "Write", "steps": [step], "budget": {"calls": 3}}
    job: Json = {"id": "j", "status": "awaiting_approval", "request": "Write.", "tasks": [], "plan": plan}
    assert list(job_details(job))[1:] == [
        "Plan: Write",
        "  a              write a⏎  b   delete",
        "    tools needed: create_file",
        "    paths: a.txt, b.txt",
        "    commands: make⏎all",
        "    agent: scribe",
        '  budget: {"calls": 3}',
    ]


def test_job_says_which_worker_has_a_task_and_what_a_waiting_one_needs() -> None:
    tasks: list[Json] = [
        {"id": "a", "status": "running", "description": "build", "worker": "w-1", "waiting_for": None},
        {"id": "b", "status": "pending", "description": "train", "waiting_for": "a worker that offers gpu"},
    ]
    lines = list(job_details({"id": "j", "status": "running", "request": "Do it.", "tasks": [*tasks]}))
    assert lines[1:] == [
        "  a              running: build",
        "    worker: w-1",
        "  b              pending: train",
        "    waits for a worker that offers gpu",
    ]
