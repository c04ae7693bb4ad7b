"""How a browser is started: with a code that works once, never with the token, where other users of the machine could read it."""

import json
import os
import pty
import re
import select
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from support.cli_process import TIMEOUT, WHOLE_PROCESS, CommandLine, ending
from support.spec import proves

LINK = re.compile(r"http://127\.0\.0\.1:\d+/#code=([\w-]+)")


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A browser that writes its arguments into a pipe, and the pipe's reading end."""
    pipe, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(pipe)
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{pipe}"\n')
    browser.chmod(0o755)
    reading = os.open(pipe, os.O_RDWR)  # so that neither side waits for the other to open it
    yield f"{browser} %s", reading
    os.close(reading)


def redeem(link: str) -> int:
    code = LINK.fullmatch(link)
    assert code, link
    body, kind = json.dumps({"code": code[1]}).encode(), {"Content-Type": "application/json"}
    try:
        with urlopen(Request(link.partition("#")[0] + "session", body, kind), timeout=TIMEOUT) as answer:
            assert json.load(answer)["page_key"]
            return int(answer.status)
    except HTTPError as error:
        return error.code


@proves("SEC-1", "SEC-2")
def test_the_browser_is_started_with_a_code_and_the_terminal_shows_no_token(
    cli: CommandLine, opened: tuple[str, int]
) -> None:
    browser, pipe = opened
    terminal, stdout = pty.openpty()
    with ending(cli.start("serve", "--port", "0", stdout=stdout, BROWSER=browser, DISPLAY=":0")) as process:
        os.close(stdout)
        shown = _until(terminal, b"Ctrl-C")
        asked = _until(pipe, b"\n").strip()
        token = (cli.data / "token").read_text().strip()
        assert token not in shown + asked
        printed = LINK.search(shown)
        assert printed and asked != printed[0]
        assert [redeem(asked), redeem(printed[0]), redeem(printed[0])] == [201, 201, 401]
        process.terminate()
    os.close(terminal)


@proves("SEC-1")
def test_anycowork_open_makes_a_link_for_a_running_server(cli: CommandLine, opened: tuple[str, int]) -> None:
    browser, pipe = opened
    assert "No server runs" in cli.type("open").stderr
    with cli.serving() as server:
        assert server.token not in server.banner and "#code=" not in server.banner
        printed = cli.type("open", "--print")
        assert (printed.returncode, redeem(printed.stdout.strip())) == (0, 201)
        assert cli.type("open", BROWSER=browser, DISPLAY=":0").returncode == 0
        asked = _until(pipe, b"\n").strip()
        assert server.token not in asked and redeem(asked) == 201


def _until(handle: int, end: bytes) -> str:
    """What came up to and with `end`; each single wait is bounded."""
    read = b""
    while end not in read:
        assert select.select([handle], [], [], WHOLE_PROCESS)[0], read
        read += os.read(handle, 4096)
    return read.decode()
