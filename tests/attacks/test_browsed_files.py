"""Attempts through the addresses with which a person browses files: out of the workspace, into special files, past rules, by a program
that may only read chats, and with names that lie on the screen."""

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from anycowork.domain.principals import MCP_HOST_HEADER
from support.live_server import LiveChat, LiveServer, live_server
from support.spec import proves

BIDI = "invoice‮gpj.exe"


@pytest.fixture
async def chat(tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("outside\n")
    async with live_server(tmp_path, replies=[], files={"a.txt": "a\n", "in/b.txt": "b\n"}) as client:
        folder = client.workspace
        (folder / "out").symlink_to(tmp_path / "outside")
        (folder / "out.txt").symlink_to("../outside/secret.txt")
        (folder / "proc").symlink_to("/proc/self")
        (folder / "inner").symlink_to("in")
        (folder / "loop").symlink_to("loop")
        os.mkfifo(folder / "pipe")
        for name in (BIDI, "line\nfeed.txt", "bell\x07.txt"):
            (folder / name).write_text("x\n")
        (folder / os.fsdecode(b"not-\xff-text.txt")).write_text("x\n")
        yield await client.chat()


async def refused(chat: LiveChat, address: str) -> str:
    """The code with which a request is refused; never a success and never an internal error."""
    async with chat.client.session.get(f"{chat.client.url}{chat.path}/{address}") as response:
        body = await response.json()
        assert response.status in (403, 404, 409, 422), (address, response.status)
        assert "outside\n" not in str(body)
        return body["error"]["code"]


@proves("UI-10")
async def test_no_path_leads_out_of_the_workspace_or_opens_a_special_file(chat: LiveChat) -> None:
    paths = [
        "..",
        "../outside",
        "/etc",
        "/",
        "out",
        "proc",
        "loop",
        "in/../../outside",
        "out/secret.txt",
        "a.txt/x",
        "%00",
        "a\x00b",
        "x" * 5000,
    ]
    for path in paths:
        await refused(chat, f"files?path={quote(path)}")
    for path in [*paths, "out.txt", "proc/environ", "/etc/passwd", "pipe", ".", "/dev/zero", "../outside/secret.txt"]:
        await refused(chat, f"file?path={quote(path)}")
        await refused(chat, f"file?path={quote(path)}&reveal=true")
    inside = await chat.client.ask("GET", f"{chat.path}/file?path=inner/b.txt")
    assert (inside["path"], inside["text"]) == ("in/b.txt", "b\n")


@proves("UI-10")
async def test_names_that_would_lie_on_the_screen_are_written_out(chat: LiveChat) -> None:
    page = await chat.client.ask("GET", f"{chat.path}/files")
    names = {one["name"]: one for one in page["entries"]}
    assert {"invoice⟨U+202E⟩gpj.exe", "line⟨U+000A⟩feed.txt", "bell⟨U+0007⟩.txt", "not-\\xff-text.txt"} <= set(names)
    assert names["invoice⟨U+202E⟩gpj.exe"]["path"] == BIDI
    for unnameable in ("line⟨U+000A⟩feed.txt", "bell⟨U+0007⟩.txt", "not-\\xff-text.txt"):
        assert names[unnameable]["path"] is None
    assert (names["pipe"]["kind"], names["out"]["kind"], names["proc"]["target"]) == ("other", "link", "/proc/self")
    shown = await chat.client.ask("GET", f"{chat.path}/file?path={quote(BIDI)}")
    assert shown["shown"] == "invoice⟨U+202E⟩gpj.exe"


@proves("UI-10")
async def test_a_link_does_not_rename_a_secret(chat: LiveChat) -> None:
    """What protects a content is where it is, not the name by which it was asked for."""
    assert isinstance(chat.client, LiveServer)
    folder = chat.client.workspace
    (folder / ".env").write_text("KEY=1\n")
    (folder / "harmless.txt").symlink_to(".env")
    shown = await chat.client.ask("GET", f"{chat.path}/file?path=harmless.txt")
    assert (shown["path"], shown["kind"], shown["text"]) == (".env", "protected", None)


@proves("UI-10")
async def test_a_program_that_may_read_chats_gets_no_file(chat: LiveChat) -> None:
    host = {MCP_HOST_HEADER: "some-host"}
    for address in ("files", "file?path=a.txt", "files/search?q=a"):
        await chat.client.ask("GET", f"{chat.path}/{address}", headers=host, expect=403)


@proves("UI-10")
async def test_no_save_leads_out_of_the_workspace_through_a_link_or_into_git(chat: LiveChat, tmp_path: Path) -> None:
    assert isinstance(chat.client, LiveServer)
    folder = chat.client.workspace
    before = {path: path.read_bytes() for path in (tmp_path / "outside").iterdir()}
    (folder / "twin.txt").hardlink_to(tmp_path / "outside" / "secret.txt")
    known = hashlib.sha256(b"outside\n").hexdigest()
    paths = [
        "../outside/secret.txt",
        "/etc/hosts",
        "out/secret.txt",
        "out.txt",
        "twin.txt",
        "pipe",
        "loop",
        "in",
        ".",
        ".git/config",
    ]
    paths += [".GIT/hooks/x", "in/.git", "git~1/config", "x\x00y", "line\nfeed.txt"]
    for path in paths:
        for expected in (known, None):
            body = {"path": path, "text": "taken\n", "sha256": expected}
            async with chat.client.session.put(f"{chat.client.url}{chat.path}/file", json=body) as response:
                assert response.status in (403, 404, 409, 422), (path, response.status, await response.text())
    assert {path: path.read_bytes() for path in (tmp_path / "outside").iterdir()} == before
    assert await chat.messages() == []


@proves("UI-10")
async def test_a_program_that_may_read_chats_saves_and_reverts_nothing(chat: LiveChat) -> None:
    host = {MCP_HOST_HEADER: "some-host"}
    saved = {"path": "a.txt", "text": "x", "sha256": None}
    await chat.client.ask("PUT", f"{chat.path}/file", saved, headers=host, expect=403)
    reverted = {"path": "a.txt", "state": "0" * 64}
    await chat.client.ask("POST", f"{chat.path}/changes/revert", reverted, headers=host, expect=403)
    await chat.client.ask("GET", f"{chat.path}/changes", headers=host, expect=403)
