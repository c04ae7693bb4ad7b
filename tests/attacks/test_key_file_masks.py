"""Attempts of programs in the sandbox to read the workspace's key files: they are covered unless a person decided about the file."""

import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.tool_ports import ToolContext
from anycowork.permissions.rules import RuleIndex
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.secrets.key_file_index import KeyFileIndex
from anycowork.workspace.jail import Jail
from support.attempts import Attempts
from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree
from support.toolspecs import SPECS

SECRET = "hunter2"
PRIVATE = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n"
PUBLIC = "-----BEGIN CERTIFICATE-----\npublic\n-----END CERTIFICATE-----\n"
FILES = {
    ".env": f"PASSWORD={SECRET}\n",
    "sub/.env.local": f"PASSWORD={SECRET}\n",
    ".ssh/config": f"Host {SECRET}\n",
    "deploy/Server.PEM": PRIVATE,
    "deploy/ca.pem": PUBLIC,
    "src/app.py": "print(open('.env').read())\n",
    "notes.txt": "nothing\n",
}
KEY_FILES = (".env", ".ssh", "deploy/Server.PEM", "sub/.env.local")
# None of these words says which file is read, or the person was not asked about it.
READS = {
    "a program of the workspace": "python3 src/app.py",
    "a program that opens every file": "python3 -c \"import os; [print(open(os.path.join(d, f)).read()) for d, _, n in os.walk('.') for f in n]\"",
    "cat": "cat .env deploy/Server.PEM sub/.env.local .ssh/config",
    "a pattern": "cat .e* .*/* */.e* deploy/*",
    "searching": "grep -rs hunter .",
    "an archive": "tar cf - . 2>/dev/null | cat",
    "a copy": "cp -r . /tmp/x; cat /tmp/x/.env /tmp/x/.ssh/*",
    "a copy into the workspace": "cp .env plain.txt; cat plain.txt",
    "moving it": "mv .env plain.txt; mv .ssh plain; cat plain.txt plain/*",
    "moving the folder above it": "mv deploy other; cat other/*.PEM",
    "moving it, another in its place": "mv sub other; mkdir sub; echo x > sub/.env.local; cat other/.env.local",
    "a hard link": "ln .env linked; cat linked",
    "a symbolic link": "ln -s .env linked; ln -s .ssh shell; cat linked shell/config",
    "through /proc": "cat /proc/self/cwd/.env /proc/1/root$PWD/.env",
    "opening it to oneself": "chmod 777 .env .ssh; cat .env .ssh/*",
    "removing what covers it": "rm -f .env; rm -rf .ssh deploy; cat .env .ssh/* deploy/*",
    "unmounting": "umount .env; umount -l .ssh; cat .env .ssh/*",
    "another namespace": "unshare -Urm sh -c 'umount -l .env; cat .env'",
    "exchange": "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'notes.txt', -100, b'.env', 2)\"; cat notes.txt",
}


def withheld(*rules: Any) -> HiddenPathRules:
    return RuleIndex(rules).hidden_from(replace(SPECS["execute_command"], contained=True))


def context(bench: ToolWorkspace) -> ToolContext:
    return bench.tool_context(hidden=withheld())


@pytest.fixture(params=list(Layer), ids=[layer.value for layer in Layer])
def layer(request: pytest.FixtureRequest) -> Layer:
    return Layer(request.param)


@pytest.fixture
def filled(bench: ToolWorkspace) -> ToolWorkspace:
    for path, content in FILES.items():
        bench.write(path, content)
    return bench


# --- the cover


@proves("APR-3")
async def test_a_command_cannot_read_key_files_that_nobody_allowed(filled: ToolWorkspace, attempts: Attempts) -> None:
    before = {path: content.encode() for path, content in FILES.items() if SECRET in content}

    async def attempt(way: str) -> None:
        for path, content in FILES.items():
            filled.write(path, content)
        result = await filled.call("execute_command", context(filled), command=READS[way])
        assert SECRET not in result.content and SECRET not in (result.diff or "")
        assert sorted(result.facts["key_files_left_out"]) == sorted(KEY_FILES)  # type: ignore[arg-type]  # JSON
        after = tree(filled.root)
        assert {path: after.get(path) for path in before} == before, "what was covered is there as it was"
        assert not [path for path, content in after.items() if path not in before and SECRET in str(content)]

    await attempts.each(READS, attempt)


async def test_what_covers_is_no_change_and_a_command_that_reads_nothing_hears_nothing_of_it(
    filled: ToolWorkspace,
) -> None:
    command = "cat deploy/ca.pem; echo x > new.txt; ls -la"
    result = await filled.call("execute_command", context(filled), command=command)
    assert [file["path"] for file in result.facts["files"]] == ["new.txt"]  # type: ignore[union-attr,index,call-overload]  # JSON
    assert "public" in result.content, "a file with certificates alone holds no key"
    assert "could not read" not in result.content and result.facts["key_files_left_out"]


@pytest.mark.parametrize(
    "command", ["cat .env", "source .env 2> /dev/null", "cat .e* || true", 'python3 -c \'open("." + "env")\'']
)
async def test_a_command_that_misses_a_key_file_is_told_how_to_ask_for_that_one(
    filled: ToolWorkspace, command: str
) -> None:
    result = await filled.call("execute_command", context(filled), command=command)
    assert "could not read '.env': " in result.content and "'key_files'" in result.content


async def test_git_takes_no_cover_for_a_change(bench: ToolWorkspace) -> None:
    bench.write(".env", f"PASSWORD={SECRET}\n")
    bench.write("a.txt", "1\n")
    git = ["git", "-C", str(bench.root), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True, timeout=60)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"--reference={bench.root}", str(bench.root)], check=True, timeout=60)
    command = "echo 2 > a.txt; git add -A; git commit -qam second; git stash; git checkout -q ."
    await bench.call("execute_command", context(bench), command=command)
    assert (bench.root / ".env").read_text() == f"PASSWORD={SECRET}\n"
    shown = subprocess.run([*git, "show", "HEAD:.env"], check=True, capture_output=True, text=True, timeout=20)
    assert shown.stdout == f"PASSWORD={SECRET}\n"


# --- what is found


def found(root: Path, index: KeyFileIndex) -> list[str]:
    return sorted(mask.place.path for mask in index.masks(Jail(str(root)), withheld().withholds))


def test_key_files_are_found_when_they_come_go_and_change(tmp_path: Path) -> None:
    index = KeyFileIndex()
    (tmp_path / "deep/er").mkdir(parents=True)
    assert found(tmp_path, index) == []
    for name in ("deep/er/.env", "deep/x.pem", "id_rsa"):
        (tmp_path / name).write_text(PRIVATE)
    assert found(tmp_path, index) == ["deep/er/.env", "deep/x.pem", "id_rsa"]
    (tmp_path / "deep/x.pem").write_text(PUBLIC)
    (tmp_path / "deep/er").rename(tmp_path / "other")
    assert found(tmp_path, index) == ["id_rsa", "other/.env"]
    (tmp_path / "deep/x.pem").write_text(PRIVATE)
    (tmp_path / "id_rsa").unlink()
    (tmp_path / "other").rename(tmp_path / ".ssh")
    assert found(tmp_path, index) == [".ssh", "deep/x.pem"]


def test_a_link_with_a_key_files_name_covers_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/production").write_text(SECRET)
    (tmp_path / ".env").symlink_to("config/production")
    (tmp_path / ".env.up").symlink_to("../../etc/passwd")
    (tmp_path / ".env.loop").symlink_to(".env.loop")
    assert found(tmp_path, KeyFileIndex()) == ["config/production"]


def test_key_files_of_installed_packages_are_not_covered(tmp_path: Path) -> None:
    for folder in ("node_modules/tls/test", ".venv/lib/python3/site-packages/certifi", ".git/refs/heads"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "server.key").write_text(PRIVATE)
    assert found(tmp_path, KeyFileIndex()) == []


# --- who decides

RUN = call("execute_command", command="python3 src/app.py")
CAT = call("execute_command", command="cat .env")
WANTED = call("execute_command", command="python3 src/app.py", key_files=[".env"])


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[LiveServer]:
    async with live_server(tmp_path, files=FILES) as server:
        yield server


async def run_one(
    client: LiveServer, reply: Any, *, allow: bool = True, autonomy: str = "ask"
) -> tuple[str, list[Any]]:
    """The result of this call in a chat of its own, and what was asked for."""
    client.model.replies[:] = [reply, *["It is done."] * 6]
    chat = await client.chat()
    await client.ask("PATCH", chat.path, {"autonomy": autonomy}, expect=200)
    await chat.send("run it")
    asked = await chat.approvals()
    if asked and allow:
        await chat.decide()
    results = await chat.of_type("tool_result")
    return (str(results[0]) if results else ""), asked


@proves("APR-3")
async def test_a_person_decides_about_the_very_file(client: LiveServer) -> None:
    plain, asked = await run_one(client, RUN)
    assert len(asked) == 1 and SECRET not in plain and "key_files" in plain
    named, asked = await run_one(client, CAT)
    assert len(asked) == 1 and SECRET in named, "the person read the file's name in the command that they allowed"
    wanted, (requested,) = await run_one(client, WANTED)
    assert SECRET in wanted
    shown = [item for item in requested["disclosure"]["items"] if item.get("detail") == "key_files"]
    assert shown and ".env" in shown[0]["text"] and requested["risk"] == "high"
    assert any(".env" in reason for reason in requested["reasons"])


@proves("APR-3")
async def test_no_rule_for_the_command_uncovers_a_key_file(client: LiveServer) -> None:
    for resource in ("cat *", "cat .env", "python3 src/app.py", "*"):
        rule = {"tool": "execute_command", "resource": resource, "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
    for reply in (RUN, CAT):
        result, asked = await run_one(client, reply)
        assert (asked, SECRET in result) == ([], False), reply
    _, asked = await run_one(client, WANTED, allow=False)
    assert len(asked) == 1 and asked[0]["proposed_rule"]["tool"] == "read_file"
    assert asked[0]["proposed_rule"]["resource"] == "/.env"
    rule = {"tool": "read_file", "resource": "/.env", "effect": "allow", "scope": "global"}
    await client.ask("POST", "/rules", rule, expect=201)
    result, asked = await run_one(client, RUN)
    assert asked == [] and SECRET in result, "a person allowed this file by its name"


@proves("APR-3")
async def test_no_autonomy_uncovers_a_key_file(client: LiveServer) -> None:
    result, asked = await run_one(client, RUN, autonomy="sandboxed")
    assert (asked, SECRET in result) == ([], False)
    _, asked = await run_one(client, WANTED, allow=False, autonomy="sandboxed")
    assert len(asked) == 1


async def test_at_commit_uncovers_no_key_file(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES, ask="at_commit") as client:
        result, _ = await run_one(client, RUN)
        assert SECRET not in result and "key_files" in result
        _, asked = await run_one(client, WANTED, allow=False)
        assert [approval["held"] for approval in asked] == [False]


@pytest.mark.parametrize("path", ["../.env", "/etc/passwd", ".", "sub/", "*.pem", ".env\0x", "a/../.env"])
async def test_key_files_names_only_files_of_the_workspace(filled: ToolWorkspace, path: str) -> None:
    tool = filled.toolbox.find("execute_command")
    assert tool is not None and tool.problems({"command": "true", "key_files": [path]})


async def test_a_denied_file_stays_covered_whatever_is_named(client: LiveServer) -> None:
    rule = {"tool": "read_file", "resource": "/.env", "effect": "deny", "scope": "global"}
    await client.ask("POST", "/rules", rule, expect=201)
    for reply in (RUN, CAT, WANTED):
        result, _ = await run_one(client, reply)
        assert SECRET not in result
