"""A check that failed because nothing leads out says so, and is not held against the work; one that only prints such words failed."""

from pathlib import Path

import pytest

from support.evidence import evidence_of, working_chat
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

CHECK = "python3 check.py"
REQUEST = f"Fix shop.py so that `{CHECK}` passes."
CHANGE = call("execute_command", command="printf 'def total():\\n    return 3\\n' > shop.py")
LOOKS_UP = "import socket\nsocket.getaddrinfo('example.org', 443)\n"
CONNECTS = "import socket\nsocket.create_connection(('192.0.2.1', 443), timeout=5)\n"
ASKS_A_SERVICE = "import socket\nsocket.create_connection(('127.0.0.1', 5432), timeout=5)\n"
IMPORTS_WHAT_IS_GONE = "import a_module_that_nobody_wrote\n"
PRINTS = "print('connection refused: could not resolve host, name or service not known')\nraise SystemExit(1)\n"
RESOLVES_CONFLICTS = "raise SystemExit('the resolution of a conflict failed')\n"
REPORTS_ITS_PEER = "raise SystemExit('expected ENOTFOUND, got EAI_AGAIN')\n"


@proves("EVD-3/1")
@pytest.mark.parametrize("check", [LOOKS_UP, CONNECTS, ASKS_A_SERVICE])
async def test_a_check_that_got_no_connection_is_not_held_against_the_work(tmp_path: Path, check: str) -> None:
    files = {"check.py": check, "shop.py": "def total():\n    return 2\n"}
    async with live_server(tmp_path, replies=[CHANGE, "Done."], files=files) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        evidence = await evidence_of(client, chat)
        assert evidence["status"] == "claimed"
        assert [run["remark"] for run in evidence["checks"]] == ["It needs the network."]


@proves("EVD-3/1", "EVD-3/2")
@pytest.mark.parametrize("check", [IMPORTS_WHAT_IS_GONE, PRINTS, RESOLVES_CONFLICTS, REPORTS_ITS_PEER])
async def test_a_check_that_asked_for_no_connection_failed_whatever_it_prints(tmp_path: Path, check: str) -> None:
    files = {"check.py": check, "shop.py": "def total():\n    return 2\n"}
    async with live_server(tmp_path, replies=[CHANGE, "Done.", "Done.", "Done."], files=files) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        evidence = await evidence_of(client, chat)
        assert evidence["status"] == "failed" and [run["state"] for run in evidence["checks"]] == ["unmet"]
        told = [m["content"] for m in await chat.messages() if "Not done yet." in m["content"]]
        assert len(told) == 2
        assert not any("ran without network" in m["content"] for m in await chat.messages())
