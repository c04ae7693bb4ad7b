"""Jobs in a terminal, whatever a server answers."""

from anycowork.cli.job_tables import agent_lines, audit_lines, diff_lines


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
    head, row, *more = audit_lines({"steps": [step, {"id": "b", "status": "skipped"}]})
    assert head.split() == ["task", "agent", "status", "files", "commands", "seconds", "cost"]
    assert row.split() == ["a", "scout", "done", "1", "1", "1.5", "$0.2500"]
    assert more[0] == "  unplanned: execute_command rm x (denied)" and more[1].endswith("b.txt")
    assert more[2].split() == ["b", "-", "skipped", "0", "0", "-", "-"]


def test_diff_of_a_race_stands_agent_by_agent_and_garbage_is_no_fault() -> None:
    one = {"agent": "fast", "status": "completed", "completed": 2, "proved": 1, "task_ids": ["a@fast", "b@fast"]}
    one |= {"diff": "+x", "files": [1], "usage": None, "result": "done"}
    lines = list(diff_lines({"candidates": [one], "conflicts": [{"path": "a", "reason": "why"}], "diff": ""}))
    assert lines == ["fast  completed  2 of 2 tasks, 1 proved  - s  -  1 files", "  done", "+x", "conflict: a: why"]
    assert list(diff_lines({"candidates": "?", "diff": None})) == [] and list(audit_lines({"steps": None}))[1:] == []
    [agent] = agent_lines({"agents": [{"name": "scout", "role": "planner", "model": None}]})
    assert agent.startswith("scout ")
