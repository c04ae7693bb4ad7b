"""How a browser is started: neither the token nor a code stands where other users of the machine could read it."""

import html
import json
import os
import pty
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from support.cli_process import TIMEOUT, WHOLE_PROCESS, CommandLine, ending
from support.processes import ready_to_read
from support.spec import proves

LINK = re.compile(r"http://127\.0\.0\.1:\d+/#code=([\w-]+)(?:&confirmation=(\d{6}))?")


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


def redeem(link: str) -> list[str]:
    """Begins the session of the link, and returns what it may do; nothing if the code was refused."""
    found = LINK.fullmatch(link)
    assert found, link
    given = {"code": found[1], **({"confirmation": found[2]} if found[2] else {})}
    url, kind = link.partition("#")[0], {"Content-Type": "application/json"}
    try:
        with urlopen(Request(url + "session", json.dumps(given).encode(), kind), timeout=TIMEOUT) as answer:
            page_key, cookie = json.load(answer)["page_key"], answer.headers["set-cookie"].partition(";")[0]
    except HTTPError as error:
        assert error.code == 401
        return []
    headers = {"X-AnyCowork-Page-Key": page_key, "Cookie": cookie}
    with urlopen(Request(url + "session", headers=headers), timeout=TIMEOUT) as answer:
        return json.load(answer)["scopes"]


def link_in(argument: str) -> str:
    """The link in the file that the browser was started with: only its owner can read it."""
    file = Path.from_uri(argument) if hasattr(Path, "from_uri") else Path(argument.removeprefix("file://"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    found = LINK.search(html.unescape(file.read_text()))
    assert found
    return found[0]


@proves("SEC-1", "SEC-2")
def test_the_browser_is_started_with_a_private_file_and_the_terminal_shows_no_token(
    cli: CommandLine, opened: tuple[str, int]
) -> None:
    browser, pipe = opened
    terminal, stdout = pty.openpty()
    with ending(cli.start("serve", "--port", "0", stdout=stdout, BROWSER=browser, DISPLAY=":0")) as process:
        os.close(stdout)
        shown = _until(terminal, b"Ctrl-C")
        asked = _until(pipe, b"\n").strip()
        token = (cli.data / "token").read_text().strip()
        link = link_in(asked)
        assert token not in shown + asked + link and "code" not in asked
        printed = LINK.search(shown)
        assert printed and printed[1] not in link and printed[2] is None
        assert "manage" in redeem(link)
        assert redeem(printed[0]) == ["decide", "passthrough", "read", "send"]
        digits = re.search(r"Digits\s+(\d{6}):", shown)
        assert digits
        assert redeem(f"{printed[0]}&confirmation={digits[1]}") == []  # used before
        process.terminate()
    os.close(terminal)


@proves("SEC-1")
def test_anycowork_open_makes_a_link_for_a_running_server(cli: CommandLine, opened: tuple[str, int]) -> None:
    browser, pipe = opened
    assert "No server runs" in cli.type("open").stderr
    with cli.serving() as server:
        assert server.token not in server.banner and "#code=" not in server.banner
        assert f"Open       {server.url}\n" in server.banner
        told = re.search(r"Sign in +`(.*anycowork) (open --print.*?)`", server.banner)
        assert told
        printed = cli.type(*shlex.split(told[2]))
        digits = re.search(r"people: (\d{6})", printed.stderr)
        assert printed.returncode == 0 and digits
        assert "manage" in redeem(f"{printed.stdout.strip()}&confirmation={digits[1]}")
        assert cli.type("open", BROWSER=browser, DISPLAY=":0").returncode == 0
        asked = _until(pipe, b"\n").strip()
        assert server.token not in asked and "code" not in asked and "manage" in redeem(link_in(asked))


def _until(handle: int, end: bytes) -> str:
    """What came up to and with `end`; each single wait is bounded."""
    read = b""
    while end not in read:
        assert ready_to_read(handle, seconds=WHOLE_PROCESS), read
        read += os.read(handle, 4096)
    return read.decode()
