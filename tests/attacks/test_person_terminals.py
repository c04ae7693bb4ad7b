"""A person's terminal has the rights of the server's user. Nobody but an admin reaches it, its floods stay bounded, and nothing survives it."""

import asyncio
import os
from pathlib import Path

import aiohttp
import pytest

from anycowork.domain.errors import Conflict
from anycowork.domain.principals import EDITOR_HEADER, MCP_HOST_HEADER, OWNER
from anycowork.tools.person_terminal import MOST_UNREAD, SCROLLBACK, PersonShell, PersonTerminal, TerminalSize
from anycowork.workspace.folder import Folder
from support.attempts import Attempts
from support.live_server import TOKEN, LiveChat, live_server
from support.people import end_access, person
from support.person_commands import end_of, start
from support.person_terminals import open_terminal, read_terminal
from support.processes import ready_to_read
from support.spec import proves

SECRET = "sk-of-the-server-alone"
SIZE = {"rows": 24, "columns": 80}


@proves("UI-13/1")
async def test_only_an_admin_opens_types_or_reads_and_only_their_own(tmp_path: Path, attempts: Attempts) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        terminal_id = await open_terminal(chat)
        key = (await client.ask("POST", "/keys", {"name": "program"}, expect=201))["key"]
        async with (
            person(client, "Vera", "viewer") as viewer,
            person(client, "Mia", "member") as member,
            person(client, "Ada", "admin") as admin,
        ):
            callers = {
                "a viewer": (viewer.session, {}, (403,)),
                "a member": (member.session, {}, (403,)),
                "another admin": (admin.session, {}, (404, 409)),
                "a client key": (client.session, {"Authorization": f"Bearer {key}"}, (403,)),
                "an editor with the person's token": (client.session, {EDITOR_HEADER: "zed"}, (403,)),
                "an MCP host with the person's token": (client.session, {MCP_HOST_HEADER: "host"}, (403,)),
                "another site": (client.session, {"Origin": "http://evil.example"}, (403,)),
                "nobody": (client.session, {"Authorization": ""}, (401,)),
            }
            own = f"terminals/{terminal_id}"
            requests = (
                ("POST", "terminals", SIZE),
                ("POST", f"{own}/input", {"text": "touch planted\r"}),
                ("PUT", f"{own}/size", SIZE),
                ("GET", f"{own}/output", None),
            )

            async def refused(case: tuple[str, int]) -> None:
                session, headers, statuses = callers[case[0]]
                method, path, body = requests[case[1]]
                address = f"{client.url}{chat.path}/{path}"
                async with session.request(method, address, json=body, headers=headers) as answer:
                    assert answer.status in statuses, await answer.text()

            await attempts.each([(who, at) for who in callers for at in range(len(requests))], refused)

        async def refused_by_cookie(request: int) -> None:
            async with aiohttp.ClientSession() as browser:
                await browser.get(f"{client.url}/?token={TOKEN}", allow_redirects=False)
                method, path, body = requests[request]
                async with browser.request(method, f"{client.url}{chat.path}/{path}", json=body) as answer:
                    assert answer.status in (401, 403)

        await attempts.each(range(len(requests)), refused_by_cookie)
        assert not (client.workspace / "planted").exists()


async def test_it_sees_neither_the_servers_variables_nor_its_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SOME_PROVIDER_KEY", "ANYCOWORK_TOKEN", "ANYCOWORK_MODEL_KEY"):
        monkeypatch.setenv(name, SECRET)
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        (tmp_path / "data" / "token").write_text(SECRET)
        async with read_terminal(chat, await open_terminal(chat)) as terminal:
            await terminal.type(
                f"env; cat {tmp_path}/data/token; cat /proc/*/environ | tr '\\0' '\\n'; echo d''one; exit\r"
            )
            printed = await terminal.ends()
        assert b"done" in printed and b"PATH=" in printed
        assert SECRET.encode() not in printed and b"ANYCOWORK_" not in printed


async def test_the_terminal_of_a_person_who_is_removed_ends_at_once(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        async with person(client, "Ada", "admin") as admin:
            theirs = LiveChat(admin, {"id": chat.id})
            terminal_id = await open_terminal(theirs)
            async with read_terminal(theirs, terminal_id) as terminal:
                await terminal.type("echo be''gun; sleep 600\r")
                await terminal.sees("begun")
                async with client.session.delete(f"{client.url}/people/{admin.id}") as answer:
                    assert answer.status == 204
                assert (await end_of(chat, terminal_id))["ended"] == "stopped"


@pytest.mark.parametrize("end", ["removed", "demoted", "a new token"])
@pytest.mark.parametrize("kind", ["a terminal that no page reads", "a command"])
async def test_what_a_person_runs_ends_with_their_access(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, end: str
) -> None:
    monkeypatch.setitem(PersonTerminal.__init__.__kwdefaults__, "alone_seconds", 3600.0)  # not why it ends
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        async with person(client, "Ada", "admin") as admin:
            theirs = LiveChat(admin, {"id": chat.id})
            started = await (open_terminal(theirs) if kind.startswith("a terminal") else start(theirs, "sleep 600"))
            await end_access(client, admin.id, end)
            assert (await end_of(chat, started))["ended"] == "stopped"


async def test_a_change_that_takes_no_right_away_ends_no_command(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        async with person(client, "Ada", "admin") as admin:
            theirs = LiveChat(admin, {"id": chat.id})
            started = await start(theirs, "until [ -e go ]; do sleep 0.05; done")
            await client.ask("PATCH", f"/people/{admin.id}", {"name": "Ada Lovelace"})
            (client.workspace / "go").touch()
            assert (await end_of(chat, started))["ended"] == "exited"


async def test_no_chat_is_deleted_while_what_a_person_runs_there_has_no_recorded_end(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        started = await open_terminal(chat)
        async with person(client, "Mia", "member") as member:
            refused = await member.ask("DELETE", chat.path, expect=409)
            assert "stop it" in refused["error"]["message"].lower()
            await client.ask("POST", f"{chat.path}/person-commands/{started}/stop")
            assert (await end_of(chat, started))["ended"] == "stopped"
            assert await member.status("DELETE", chat.path) == 204


async def test_no_command_begins_in_a_chat_that_is_being_deleted(tmp_path: Path) -> None:
    """Whichever of the two is recorded first, the other does not happen."""
    async with live_server(tmp_path) as client:
        services, chat = client.server.services, await client.chat()
        removal = await services.person_commands.removal_of(chat.id)
        started = await start(chat, "sleep 600")
        with pytest.raises(Conflict, match="in this very moment"):
            await services.chats.remove_chat(OWNER, chat.id, removal)
        await client.ask("POST", f"{chat.path}/person-commands/{started}/stop")
        assert (await end_of(chat, started))["ended"] == "stopped"
        removal = await services.person_commands.removal_of(chat.id)
        await services.chats.remove_chat(OWNER, chat.id, removal)
        await client.ask("POST", f"{chat.path}/person-commands", {"command": "true"}, expect=404)


async def test_a_flood_is_bounded_in_memory_and_so_is_what_is_typed(tmp_path: Path, attempts: Attempts) -> None:
    (tmp_path / "work").mkdir()
    shell = PersonShell(bubblewrap=None, data_dir=tmp_path / "data", environ=os.environ, seconds=60.0)

    async def is_bounded(case: str) -> None:
        terminal = PersonTerminal(shell, TerminalSize(24, 80))
        stopped = asyncio.Event()
        run = asyncio.ensure_future(terminal.run(Folder(str(tmp_path / "work")), is_stopped=stopped.is_set))
        follow = terminal.follow()
        await anext(follow)
        await asyncio.sleep(0)
        while terminal._master is None:
            await asyncio.sleep(0.01)
        most, printed = 0, 0
        if case == "50 MB that are read":
            terminal.write(b"head -c 50000000 /dev/zero | tr '\\0' x; exit\r")
            async for piece in follow:
                printed += len(piece)
                most = max(most, len(terminal._output))
            assert printed > 50_000_000
        elif case == "an endless flood that nobody reads":
            terminal.write(b"yes\r")
            while terminal._output.unread_size < MOST_UNREAD:
                await asyncio.sleep(0.01)
            for _ in range(20):
                await asyncio.sleep(0.01)
                most = max(most, len(terminal._output))
        else:
            with pytest.raises(Exception, match="does not read"):
                for _ in range(100):
                    terminal.write(b"x" * 65_536)
            most = len(terminal._unwritten)
        assert most <= 3 * SCROLLBACK
        stopped.set()
        await asyncio.wait_for(run, 30)

    await attempts.each(
        ["50 MB that are read", "an endless flood that nobody reads", "a program that reads nothing"], is_bounded
    )


async def test_what_switches_modes_and_dies_or_hides_is_ended_with_the_terminal(
    tmp_path: Path, attempts: Attempts
) -> None:
    async with live_server(tmp_path) as client:
        chat, folder = await client.chat(), client.workspace
        sleep = f"sleep 4321.{os.getpid()}"
        hidden = f"(trap '' HUP TERM; setsid sh -c 'echo $$ > pid; exec {sleep}' &) & while [ ! -s pid ]; do :; done"
        programs = {
            "raw mode and the alternate screen, then killed": "sh -c 'stty raw -echo; printf \"\\033[?1049h\\033[?25l\"; kill -9 $$'",
            "a process that hides from signals": hidden,
        }

        async def is_ended(name: str) -> None:
            terminal_id = await open_terminal(chat)
            async with read_terminal(chat, terminal_id) as terminal:
                await terminal.type(f"{programs[name]}\r")
                await terminal.type("\rstty sane; echo st''ill here\r")
                await terminal.sees("still here")
                await client.ask("POST", f"{chat.path}/person-commands/{terminal_id}/stop")
            assert (await end_of(chat, terminal_id))["ended"] == "stopped"
            if (folder / "pid").exists():
                assert all(map(_ends, _running(sleep))), "something of the terminal is left"

        await attempts.each(programs, is_ended)


def _ends(pid: int) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(ready_to_read(process, seconds=60))
    finally:
        os.close(process)


def _running(words: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            started = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if started[:2] == words.encode().split():
            found.append(int(entry.name))
    return found
