"""A person's terminal: a real one, recorded once when it ends, and what it changed is undone like anything else."""

import asyncio
from pathlib import Path

import pytest

from anycowork.tools.person_terminal import SCROLLBACK, PersonTerminal, Scrollback
from support.live_server import live_server
from support.person_commands import end_of
from support.person_terminals import open_terminal, read_terminal
from support.spec import proves


@proves("UI-13/1")
async def test_a_shell_on_a_real_terminal_keeps_its_folder_and_takes_ctrl_c_and_a_new_size(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"sub/a.txt": "one\n"}) as client:
        chat = await client.chat()
        async with read_terminal(chat, await open_terminal(chat)) as terminal:
            await terminal.type("PS1='ready> '; cd sub; MINE=here\r")
            await terminal.sees("ready> ")
            await terminal.type("tty; echo $TERM $MINE; pwd | tail -c 5; stty size\r")
            await terminal.sees("/dev/pts/", "xterm-256color here", "/sub", "24 80")
            await terminal.resize(40, 100)
            await terminal.type("stty size\r")
            await terminal.sees("40 100")
            # A shell forgets Ctrl-C that comes before its program has begun.
            await terminal.type("sh -c 'echo run\"\"ning; exec sleep 600'\r")
            await terminal.sees("running")
            await terminal.type("\x03")
            await terminal.sees("^C")  # the kernel drops what is not read yet, perhaps with the prompt
            await terminal.type("printf '\\033[31mred\\033[0m'; test -t 0 && echo interactive\r")
            await terminal.sees("\x1b[31mred", "interactive")


@proves("UI-13/2")
async def test_it_is_recorded_once_with_what_it_changed_and_undone(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "one\n", "b.txt": "two\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        terminal_id = await open_terminal(chat)
        offer = await client.ask("GET", f"{chat.path}/person-commands")
        assert [(one["id"], one["terminal"]) for one in offer["running"]] == [(terminal_id, True)]
        async with read_terminal(chat, terminal_id) as terminal:
            await terminal.type("echo more >> a.txt\r")
            await terminal.type("rm b.txt; echo new > c.txt; echo d''one\r")
            await terminal.sees("done")
            await terminal.type("exit 3\r")
            await terminal.ends()
        end = await end_of(chat, terminal_id)
        assert (end["ended"], end["exit_code"], end["files"], end["terminal"]) == ("exited", 3, 3, True)
        assert end["output"] == "" and end["command"] == "terminal", "what was typed and printed is not recorded"
        notes = [message["content"] for message in await chat.messages()]
        assert len(notes) == 2 and notes[1].startswith("You had a terminal open for")
        assert (folder / "a.txt").read_text() == "one\nmore\n"
        await client.ask("POST", f"{chat.path}/snapshots/{end['snapshot']}/restore", {}, expect=200)
        assert {file.name: file.read_text() for file in folder.iterdir()} == {"a.txt": "one\n", "b.txt": "two\n"}


@proves("UI-13/1")
async def test_a_shell_that_no_page_reads_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PersonTerminal.__init__.__kwdefaults__, "alone_seconds", 0.0)
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        end = await end_of(chat, await open_terminal(chat))
        assert end["ended"] == "stopped"


@proves("UI-13/1")
async def test_a_page_that_comes_back_sees_what_was_printed_and_the_first_one_ends(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        terminal_id = await open_terminal(chat)
        async with read_terminal(chat, terminal_id) as first:
            assert first.stream.headers["x-anycowork-replay"].isdigit()
            await first.type("echo be''fore\r")
            await first.sees("before")
            async with read_terminal(chat, terminal_id) as second:
                assert int(second.stream.headers["x-anycowork-replay"]) > 0
                await second.sees("before")
                await first.ends()
                await second.type("echo af''ter\r")
                await second.sees("after")
                await client.ask("POST", f"{chat.path}/person-commands/{terminal_id}/stop")
                await second.ends()
        assert (await end_of(chat, terminal_id))["ended"] == "stopped"
        await first.type("x", expect=404)


async def test_a_slow_page_holds_up_the_program_and_nobody_else(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello."]) as client:
        chat, other = await client.chat(), await client.chat()
        async with read_terminal(chat, await open_terminal(chat)) as terminal:
            await terminal.type("head -c 20000000 /dev/zero | tr '\\0' x; echo the e''nd\r")
            async with asyncio.timeout(60):  # nobody reads the terminal meanwhile
                await other.send("Hello")
            assert (await other.messages())[-1]["content"] == "Hello."
            printed = 0
            tail = b""
            async with asyncio.timeout(60):
                while b"the end" not in tail:
                    piece = await terminal.stream.content.readany()
                    printed, tail = printed + len(piece), (tail + piece)[-2_000:]  # the prompt comes behind it
            assert printed > 20_000_000, "nothing is lost"


def test_a_later_page_gets_the_newest_output_however_small_its_pieces_were() -> None:
    output = Scrollback()
    for number in range(200_000):
        output.add(b"%06d" % number)
        output.was_read(len(output.unread()))
    output.add(b"not read yet")
    assert output.unread_size == len(output.unread()) == len(b"not read yet")
    output.rewind()
    again = output.unread()
    assert again.endswith(b"199998199999not read yet") and SCROLLBACK - 8192 < len(again) <= SCROLLBACK + 12
    assert len(output) == output.unread_size == len(again)
    assert len(output._unread) < 200, "a letter typed is no piece of its own"
