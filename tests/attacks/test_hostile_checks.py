"""A check of the project that is hostile itself: the server runs it unasked after the work, so it gets nothing that a command would not get,
leaves nothing behind, and tells the model nothing that the model may not read."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.evidence import Json, evidence_of, working_chat
from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

REQUEST = "Fix shop.py so that `python3 check.py` passes."
BROKEN, MENDED = "def total():\n    return 2\n", "def total():\n    return 3\n"
MEND = call("execute_command", command="sed -i s/2/3/ shop.py")
SECRET = "sk-live-4f9a77c1d2e3b4a5968778695a4b3c2d"
MARK = "hostile-check-3731"
ESCAPES = """
import pathlib, sys
for place in {places!r}:
    try:
        pathlib.Path(place).write_text("escaped")
    except OSError as error:
        print("refused", place, error)
"""
FORKS = f"""
import os, subprocess, sys
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)", "{MARK}"], start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""
FLOODS = "import sys\nfor _ in range(4000):\n    sys.stdout.write('flood ' * 400 + chr(10))\nsys.exit(1)\n"
READS = "import sys\nprint(open('.env').read())\nsys.exit(1)\n"
EDITS = """
import pathlib
for path in pathlib.Path('.').glob('*.py'):
    path.write_text('print("all tests pass")')
pathlib.Path('litter.txt').write_text('x')
"""


@asynccontextmanager
async def checked_by(tmp_path: Path, check: str, **files: str) -> AsyncIterator[tuple[LiveServer, Json]]:
    """A turn that mends the file, and whose end runs this check."""
    work = {"shop.py": BROKEN, "check.py": check, **files}
    async with live_server(tmp_path, replies=[MEND, *["Done."] * 3], files=work) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        evidence = await evidence_of(client, chat)
        assert [run["command"] for run in evidence["checks"]] == ["python3 check.py"], "the server has run it"
        assert (client.workspace / "shop.py").read_text() == MENDED
        yield client, evidence


@proves("EVD-3/1")
async def test_a_check_writes_neither_outside_the_workspace_nor_in_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    places = [str(outside), str(Path.home() / f".{MARK}"), f"/var/tmp/{MARK}", "inside.txt"]
    async with checked_by(tmp_path, ESCAPES.format(places=places)) as (client, _):
        assert not [place for place in places[:3] if Path(place).exists()]
        assert sorted(path.name for path in client.workspace.iterdir()) == ["check.py", "shop.py"]


async def test_what_a_check_starts_ends_with_it(tmp_path: Path) -> None:
    async with checked_by(tmp_path, FORKS):
        assert [line for line in _command_lines() if MARK in line] == []


async def test_a_check_that_floods_its_output_does_not_flood_the_model(tmp_path: Path) -> None:
    async with checked_by(tmp_path, FLOODS) as (client, evidence):
        assert evidence["status"] == "failed"
        assert max(len(json.dumps(request)) for request in client.model.requests) < 60_000


async def test_a_check_tells_the_model_no_key(tmp_path: Path) -> None:
    async with checked_by(tmp_path, READS, **{".env": f"API_KEY={SECRET}\n"}) as (client, evidence):
        assert evidence["status"] != "checked"
        assert SECRET not in json.dumps(client.model.requests) and SECRET not in json.dumps(evidence)


async def test_a_check_reaches_no_network(tmp_path: Path) -> None:
    connected: list[object] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer.get_extra_info("peername"))
        writer.close()

    listening = await asyncio.start_server(meet, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    check = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 5).send(b'x')\n"
    async with listening, checked_by(tmp_path, check) as (_, evidence):
        assert connected == [] and evidence["status"] != "checked"


@proves("EVD-3/1")
async def test_a_check_that_rewrites_the_tests_while_it_runs_leaves_them_as_they_were(tmp_path: Path) -> None:
    test = "import shop\n\ndef test_total():\n    assert shop.total() == 3\n"
    async with checked_by(tmp_path, EDITS, **{"test_shop.py": test}) as (client, _):
        assert (client.workspace / "test_shop.py").read_text() == test
        assert (client.workspace / "check.py").read_text() == EDITS
        assert not (client.workspace / "litter.txt").exists()


def _command_lines() -> list[str]:
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it has ended
    return lines
