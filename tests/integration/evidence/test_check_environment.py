"""How the server runs a check: in the project's own environment first, bounded, twice if it fails, and without a trace."""

import json
from pathlib import Path

import pytest

from support.evidence import evidence_of, states, working_chat
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

CHECK = "python3 check.py"
REQUEST = f"Fix shop.py so that `{CHECK}` passes."
SHOP = {
    "shop.py": "def total():\n    return 2\n",
    "check.py": "import shop, sys\nsys.exit(0 if shop.total() == 3 else 1)\n",
}
RIGHT = call("execute_command", command="printf 'def total():\\n    return 3\\n' > shop.py")


async def test_a_check_that_fails_runs_twice_because_it_may_be_flaky(tmp_path: Path) -> None:
    always = {**SHOP, "check.py": "import sys\nsys.exit(1)\n"}
    async with live_server(tmp_path, replies=[RIGHT, *["Done."] * 3], files=always) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        found = await evidence_of(client, chat)
        runs = [m for m in await chat.messages() if (m["payload"] or {}).get("check") == CHECK]
        assert found["status"] == "failed" and len(runs) == 3, "once before the work, and twice after it"


async def test_a_check_that_hangs_is_stopped_and_the_turn_is_claimed(tmp_path: Path) -> None:
    hanging = {**SHOP, "check.py": "import time\ntime.sleep(3600)\n"}
    async with live_server(tmp_path, replies=[RIGHT, "Done."], files=hanging, command_timeout=1) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        found = await evidence_of(client, chat)
        assert found["status"] == "claimed" and states(found) == {("check", CHECK): "unknown"}
        assert found["expectations"][0]["why"] == "It did not end in time."
        assert len(client.model.requests) == 2, "nobody is told that the work failed"


async def test_a_change_within_the_same_second_is_seen_by_the_check(tmp_path: Path) -> None:
    """Python takes bytecode for new if time in seconds and size of the source are the same."""
    same_time = "touch -d '2020-01-01 00:00:00' shop.py"
    warm = call("execute_command", command=f"{same_time}; python3 -c 'import shop'; ls __pycache__")
    mend = call("execute_command", command=f"printf 'def total():\\n    return 3\\n' > shop.py; {same_time}")
    async with live_server(tmp_path, replies=[warm, mend, "Done."], files=SHOP) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        assert list((client.workspace / "__pycache__").iterdir()), "there is bytecode of the earlier text"
        found = await evidence_of(client, chat)
        assert found["status"] == "checked", json.dumps(found)


OWN = '#!/bin/sh\necho own\nPATH=/usr/local/bin:/usr/bin:/bin exec python3 "$@"\n'


@pytest.mark.parametrize(
    ("program", "first_line"), [(OWN, "own"), ("#!/no/such/python\n", "usual")], ids=["own", "broken"]
)
async def test_the_projects_own_programs_come_first_then_those_that_commands_see(
    tmp_path: Path, program: str, first_line: str
) -> None:
    files = {**SHOP, "check.py": f"print('usual')\n{SHOP['check.py']}", ".venv/bin/python3": program}
    async with live_server(tmp_path, replies=[RIGHT, "Done."], files=files) as client:
        (client.workspace / ".venv/bin/python3").chmod(0o755)
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        found = await evidence_of(client, chat)
        assert found["status"] == "checked", json.dumps(found)
        results = [m["content"] for m in await chat.messages() if m["role"] == "tool"]
        assert results[-1].startswith(first_line)


@proves("EVD-3/1")
async def test_a_check_that_was_found_runs_before_and_after_and_leaves_nothing(tmp_path: Path) -> None:
    files = {**SHOP, "Makefile": "test:\n\tpython3 check.py\n\ttouch left-behind\n"}
    async with live_server(tmp_path, replies=[RIGHT, "Done."], files=files) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send("Fix the total in shop.py.")
        found = await evidence_of(client, chat)
        (check,) = found["checks"]
        assert found["status"] == "checked" and check["command"] == "make test" and check["owner"] == "project"
        assert not check["passed_before"] and found["expectations"] == []
        assert sorted(path.name for path in client.workspace.iterdir()) == ["Makefile", "check.py", "shop.py"]
