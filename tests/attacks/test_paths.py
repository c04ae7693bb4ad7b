"""Attempts to get out of the workspace, or into git's own files, through the tools. Nothing outside may change or be shown."""

import asyncio
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from anycowork.domain.errors import AnyCoworkError, OutsideWorkspace
from anycowork.domain.tools import CallStatus
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

SECRET = "the secret of the neighbour"


def nothing(bench: ToolWorkspace) -> None:
    """An attempt that needs no preparation."""


def link_to_file(bench: ToolWorkspace) -> None:
    (bench.root / "link").symlink_to(bench.outside / "secret")


def link_to_folder(bench: ToolWorkspace) -> None:
    (bench.root / "link").symlink_to(bench.outside)


def relative_link(bench: ToolWorkspace) -> None:
    (bench.root / "link").symlink_to("../outside")


def chain_of_links(bench: ToolWorkspace) -> None:
    (bench.root / "sub").mkdir()
    (bench.root / "sub/first").symlink_to("../second")
    (bench.root / "second").symlink_to("sub/../../outside")
    (bench.root / "link").symlink_to("sub/first")


def dangling_link(bench: ToolWorkspace) -> None:
    (bench.root / "link").symlink_to(bench.outside / "planted")


def magic_link(bench: ToolWorkspace) -> None:
    (bench.root / "link").symlink_to("/proc/self/root")


def hard_link(bench: ToolWorkspace) -> None:
    os.link(bench.outside / "secret", bench.root / "link")


def repository(bench: ToolWorkspace) -> None:
    bench.write(".git/config", "[core]\n")
    bench.write(".git/HEAD", "ref: refs/heads/main\n")
    bench.write("sub/.git/config", "[core]\n")
    bench.write("plain/config", "fsmonitor")
    (bench.root / "alias").symlink_to(".git")


def pipe(bench: ToolWorkspace) -> None:
    os.mkfifo(bench.root / "pipe")


@dataclass(frozen=True)
class Attempt:
    name: str
    tool: str
    parameters: dict[str, JsonValue]
    first: Callable[[ToolWorkspace], None] = nothing

    def __str__(self) -> str:
        return self.name


EDIT: list[JsonValue] = [{"find": "secret", "replace": "changed"}]


def by_every_tool(name: str, path: str, first: Callable[[ToolWorkspace], None] = nothing) -> list[Attempt]:
    return [
        Attempt(f"{name}: read", "read_file", {"path": path}, first),
        Attempt(f"{name}: info", "get_file_info", {"path": path}, first),
        Attempt(f"{name}: list", "list_directory", {"path": path}, first),
        Attempt(f"{name}: grep", "grep", {"pattern": ".", "path": path}, first),
        Attempt(f"{name}: search", "search_code", {"query": "secret", "path": path}, first),
        Attempt(f"{name}: symbol", "search_symbol", {"name": "secret", "path": path}, first),
        Attempt(f"{name}: create", "create_file", {"path": path, "content": "x"}, first),
        Attempt(f"{name}: update", "update_file", {"path": path, "edits": EDIT}, first),
        Attempt(f"{name}: delete", "delete_file", {"path": path}, first),
        Attempt(f"{name}: move away", "move_file", {"path": path, "to": "stolen"}, first),
        Attempt(f"{name}: move onto", "move_file", {"path": "own.txt", "to": path}, first),
    ]


def changing(name: str, path: str, first: Callable[[ToolWorkspace], None] = nothing) -> list[Attempt]:
    tools = ("create_file", "update_file", "delete_file", "move_file")
    return [attempt for attempt in by_every_tool(name, path, first) if attempt.tool in tools]


ATTEMPTS = [
    *by_every_tool("climbing with dots", "../outside/secret"),
    *by_every_tool("climbing from inside", "a/b/../../../outside/secret"),
    *by_every_tool("absolute path", "/etc/passwd"),
    *by_every_tool("proc", "/proc/self/environ"),
    *by_every_tool("proc descriptor", "/proc/self/fd/3"),
    *by_every_tool("double slash", "//etc/passwd"),
    *by_every_tool("link to a folder", "link/secret", link_to_folder),
    *by_every_tool("relative link", "link/secret", relative_link),
    *by_every_tool("chain of links", "link/secret", chain_of_links),
    *by_every_tool("magic link", "link/etc/passwd", magic_link),
    *by_every_tool("link to a file", "link", link_to_file),
    *changing("new file behind a link", "link/planted", link_to_folder),
    *changing("dangling link", "link", dangling_link),
    *changing("hard link", "link", hard_link)[:2],
    *changing("git configuration", ".git/config", repository),
    *changing("git configuration in capitals", ".GIT/config", repository),
    *changing("git under its short name", "git~1/config", repository),
    *changing("git by a link", "alias/config", repository),
    *changing("nested git hook", "sub/.git/hooks/pre-commit", repository),
    *changing("git itself", ".git", repository),
    *changing("a future repository", "fresh/.git/config"),
    Attempt("a folder becomes git", "move_file", {"path": "plain", "to": "other/.git"}, repository),
    Attempt("a repository moved within its folder", "move_file", {"path": "sub", "to": "moved"}, repository),
    *by_every_tool("unicode dots", "․․/outside/secret")[:6],
    *by_every_tool("fullwidth dots", "．．/outside/secret")[:6],
    *by_every_tool("encoded dots", "%2e%2e/outside/secret")[:6],
    *by_every_tool("backslashes", "..\\outside\\secret")[:6],
    *by_every_tool("the neighbour in capitals", "../OUTSIDE/SECRET"),
    *by_every_tool("a very long path", "a/" * 5000 + "secret"),
    *by_every_tool("a very long name", "a" * 5000),
    *by_every_tool("NUL", "own.txt\0../outside/secret"),
    *by_every_tool("lone surrogate", "\ud800"),
    *by_every_tool("tilde", "~/../../outside/secret"),
    *by_every_tool("pipe", "pipe", pipe)[:1],
    *by_every_tool("pipe", "pipe", pipe)[2:10],
]


@pytest.fixture
def prey(bench: ToolWorkspace) -> ToolWorkspace:
    (bench.outside / "secret").write_text(SECRET)
    (bench.outside / "secret").chmod(0o600)
    bench.write("own.txt", "own secret\n")
    return bench


async def attempt_it(bench: ToolWorkspace, attempt: Attempt) -> str:
    """Everything a model would see of it."""
    tool = bench.toolbox.find(attempt.tool)
    assert tool is not None
    if problems := tool.problems(attempt.parameters):
        return " ".join(problems)
    async with asyncio.timeout(60):
        try:
            prepared = await tool.prepare(attempt.parameters, bench.tool_context(user_text="x"))
            result = await tool.run(prepared, bench.tool_context(user_text="x"))
        except AnyCoworkError as error:
            return error.message
    return f"DONE {result.content} {result.diff}"


@proves("TOOL-3")
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
async def test_no_attempt_leads_out(prey: ToolWorkspace, attempt: Attempt) -> None:
    attempt.first(prey)
    outside, inside = tree(prey.outside), tree(prey.root)
    seen = await attempt_it(prey, attempt)
    assert tree(prey.outside) == outside and tree(prey.root) == inside
    assert SECRET not in seen and "root:" not in seen and not seen.startswith("DONE")


@proves("TOOL-3")
@pytest.mark.skipif(not Path("/dev/zero").is_char_device() or os.geteuid() != 0, reason="only root makes device files")
async def test_a_device_is_not_opened(prey: ToolWorkspace) -> None:
    os.mknod(prey.root / "zero", 0o20666, os.makedev(1, 5))
    for attempt in by_every_tool("device", "zero")[:1] + by_every_tool("device", "zero")[2:]:
        assert not (await attempt_it(prey, attempt)).startswith("DONE")


@proves("TOOL-3")
@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("read_file", {"path": "sub/secret"}),
        ("list_directory", {"path": "sub"}),
        ("get_file_info", {"path": "sub/secret"}),
        ("grep", {"pattern": ".", "path": "sub"}),
        ("create_file", {"path": "sub/planted", "content": "x"}),
        ("create_file", {"path": "sub/deep/planted", "content": "x"}),
        ("update_file", {"path": "sub/secret", "edits": EDIT}),
        ("delete_file", {"path": "sub/secret"}),
        ("move_file", {"path": "sub/secret", "to": "stolen"}),
        ("move_file", {"path": "own.txt", "to": "sub/planted"}),
    ],
)
async def test_a_link_swapped_in_between_preparing_and_running_leads_nowhere(
    prey: ToolWorkspace, tool: str, parameters: dict[str, JsonValue]
) -> None:
    prey.write("sub/secret", "own secret\n")
    prepared = await prey.prepare(tool, **parameters)
    (prey.root / "sub").rename(prey.root / "was")
    (prey.root / "sub").symlink_to(prey.outside)
    outside = tree(prey.outside)
    with pytest.raises(AnyCoworkError) as refused:
        await prey.run(prepared)
    assert tree(prey.outside) == outside and SECRET not in refused.value.message
    assert (prey.root / "own.txt").exists() and not (prey.root / "stolen").exists()


@proves("TOOL-3")
async def test_a_file_swapped_for_a_link_is_replaced_itself_or_left_alone(prey: ToolWorkspace) -> None:
    prey.write("a.txt", SECRET)
    prepared = await prey.prepare("update_file", path="a.txt", edits=[{"find": "neighbour", "replace": "attacker"}])
    (prey.root / "a.txt").unlink()
    (prey.root / "a.txt").symlink_to(prey.outside / "secret")
    with pytest.raises(AnyCoworkError):
        await prey.run(prepared)
    assert (prey.outside / "secret").read_text() == SECRET


@contextmanager
def flipping(one: Path, other: Path) -> Iterator[None]:
    """Exchanges two names without pause, as an attacker in the workspace would."""
    libc = ctypes.CDLL(None, use_errno=True)
    first, second, at_cwd, exchange = os.fsencode(one), os.fsencode(other), -100, 2
    if libc.renameat2(at_cwd, first, at_cwd, second, exchange) != 0:
        pytest.skip("this file system cannot exchange names")
    over = threading.Event()

    def flip() -> None:
        while not over.is_set():
            libc.renameat2(at_cwd, first, at_cwd, second, exchange)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(60)


@proves("TOOL-3")
async def test_a_racing_exchange_of_folder_and_link_never_leaks_or_writes_outside(prey: ToolWorkspace) -> None:
    prey.write("sub/secret", "own words\n")
    (prey.root / "evil").symlink_to(prey.outside)
    outside, won = tree(prey.outside), 0
    with flipping(prey.root / "sub", prey.root / "evil"):
        for number in range(150):
            for tool, parameters in (
                ("read_file", {"path": "sub/secret"}),
                ("create_file", {"path": f"sub/{number}", "content": "x"}),
                ("update_file", {"path": "sub/secret", "edits": [{"find": "own", "replace": "own own"}]}),
                ("list_directory", {"path": "sub"}),
            ):
                seen = await attempt_it(prey, Attempt("race", tool, dict(parameters)))
                assert SECRET not in seen
                won += seen.startswith("DONE")
    assert tree(prey.outside) == outside
    assert won > 0, "the race was never won by the tools: nothing was tried"


@proves("TOOL-3", "TOOL-5")
async def test_a_racing_exchange_never_shows_outside_lines_in_a_search(prey: ToolWorkspace) -> None:
    prey.write("sub/deep/secret", "own words, no more\n")
    (prey.outside / "deep").mkdir()
    (prey.outside / "deep/secret").write_text(SECRET)
    (prey.root / "evil").symlink_to(prey.outside)
    with flipping(prey.root / "sub", prey.root / "evil"):
        for _ in range(60):
            for path in (".", "sub", "sub/deep/secret"):
                assert SECRET not in await attempt_it(
                    prey, Attempt("race", "grep", {"pattern": "no more|secret of", "path": path})
                )


@proves("TOOL-5")
@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("grep", {"pattern": "--pre=./evil.sh"}),
        ("grep", {"pattern": "secret", "glob": "--pre=./evil.sh"}),
        ("grep", {"pattern": "-f/etc/passwd"}),
        ("grep", {"pattern": "--hostname-bin=./evil.sh"}),
        ("search_code", {"query": "--pre=./evil.sh --pre ./evil.sh"}),
        ("search_symbol", {"name": "--pre"}),
        ("grep", {"pattern": "secret", "path": "--pre=evil.sh"}),
    ],
)
async def test_searching_executes_nothing(prey: ToolWorkspace, tool: str, parameters: dict[str, JsonValue]) -> None:
    prey.write("evil.sh", "#!/bin/sh\ntouch ../outside/executed\n").chmod(0o755)
    prey.write("--pre=evil.sh", "secret\n")
    inside = tree(prey.root)
    seen = await attempt_it(prey, Attempt("pre", tool, parameters))
    assert tree(prey.root) == inside and set(tree(prey.outside)) == {"secret"}
    assert "root:" not in seen


@proves("TOOL-5")
async def test_a_configuration_of_ripgrep_in_the_environment_is_not_heeded(
    prey: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = prey.write("evil.sh", "#!/bin/sh\ntouch ../outside/executed\n")
    script.chmod(0o755)
    (prey.outside / "rc").write_text(f"--pre={script}\n--follow\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(prey.outside / "rc"))
    assert (await prey.call("grep", pattern="own", glob="*.txt")).content == "own.txt:1: own secret"
    assert not (prey.outside / "executed").exists()


@proves("TOOL-3", "TOOL-5")
async def test_a_search_follows_no_links(prey: ToolWorkspace) -> None:
    link_to_folder(prey)
    (prey.root / "file-link").symlink_to(prey.outside / "secret")
    (prey.root / ".gitignore").symlink_to(prey.outside / "secret")
    assert (await prey.call("grep", pattern="secret")).content == "own.txt:1: own secret"
    assert SECRET not in (await prey.call("search_code", query="secret neighbour")).content


@proves("TOOL-5")
@pytest.mark.parametrize(
    "pattern",
    ["(a*)*b", "(a|a)*$b", "a{1000}{1000}", "(((a{100}){100}){100}){100}", "(?:a?){300}a{300}", "\\p{L}{900}{900}"],
)
async def test_a_regular_expression_bomb_is_bounded(prey: ToolWorkspace, pattern: str) -> None:
    prey.write("a.txt", "a" * 200_000 + "\n")
    await attempt_it(prey, Attempt("bomb", "grep", {"pattern": pattern}))
    result = await prey.call("grep", pattern="own", path="own.txt")
    assert result.status is CallStatus.OK and result.facts["matches"] == 1


@proves("TOOL-3")
async def test_an_outside_path_is_refused_for_good_and_kindly(prey: ToolWorkspace) -> None:
    with pytest.raises(OutsideWorkspace) as refused:
        await prey.prepare("read_file", path="../outside/secret")
    assert not refused.value.retryable and "workspace" in refused.value.message
