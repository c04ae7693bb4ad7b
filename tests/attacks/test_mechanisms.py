"""Each mechanism of the jail, the searches and the sandbox, switched off in turn: one attack that it holds then succeeds.

The attacks' targets are files of the test's own, and services that it opened.
"""

import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any  # a wrapped function takes whatever the real one takes

import pytest
from pydantic import JsonValue

from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.network import Destination, read_destination
from anycowork.domain.roles import Permission
from anycowork.sandbox import sandbox
from anycowork.sandbox.commit import delta_check
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.network import dialer
from anycowork.sandbox.network.egress import Egress
from anycowork.tools import child_process, ripgrep
from anycowork.workspace import folder, jail, landlock_threads
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from anycowork.workspace.landlock import Access
from anycowork.workspace.syscalls import has_openat2
from support import sandboxes
from support.fake_network import FakeNetwork, FakeService, serving
from support.mechanisms import Mechanism, Off, require_needed, without
from support.spec import proves
from support.tool_workspace import EVERYTHING, ToolWorkspace

SECRET = "the secret of the neighbour"
Attack = Callable[[Path], Awaitable[bool]]


def bench_in(at: Path, egress: Egress | None = None) -> ToolWorkspace:
    (at / "workspace").mkdir()
    (at / "outside").mkdir()
    (at / "outside" / "secret").write_text(SECRET)
    return ToolWorkspace(at / "workspace", at / "outside", egress=egress)


# --- the file tools


def link_swapped_in(*, use_openat2: bool) -> Attack:
    """Between preparing and running, a folder becomes a link that leads out."""

    async def attack(at: Path) -> bool:
        bench = bench_in(at)
        bench.write("sub/secret", "own words\n")
        inside = Folder(str(bench.root), jail=Jail(str(bench.root), use_openat2=use_openat2))
        tool_context = replace(bench.tool_context(), workspace=inside)
        prepared = await bench.prepare("read_file", tool_context, path="sub/secret")
        (bench.root / "sub").rename(bench.root / "was")
        (bench.root / "sub").symlink_to(bench.outside)
        try:
            return SECRET in (await bench.run(prepared, tool_context)).content
        except AnyCoworkError:
            return False

    return attack


async def write_to_a_hard_link(at: Path) -> bool:
    bench = bench_in(at)
    os.link(bench.outside / "secret", bench.root / "link")
    return await done(bench, "update_file", path="link", edits=[{"find": "secret", "replace": "x"}])


async def write_a_hook(at: Path) -> bool:
    bench = bench_in(at)
    bench.write(".git/HEAD", "ref: refs/heads/main\n")
    await done(bench, "create_file", path=".git/hooks/pre-commit", content="evil")
    return (bench.root / ".git/hooks/pre-commit").exists()


async def overwrite_what_a_person_saved(at: Path) -> bool:
    bench = bench_in(at)
    bench.write("a.txt", "old\n")
    prepared = await bench.prepare("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}])
    bench.write("a.txt", "the person's words\n")
    try:
        await bench.run(prepared)
    except AnyCoworkError:
        pass
    return (bench.root / "a.txt").read_text() != "the person's words\n"


async def done(bench: ToolWorkspace, tool: str, **parameters: JsonValue) -> bool:
    try:
        await bench.call(tool, bench.tool_context(user_text="x"), **parameters)
    except AnyCoworkError:
        return False
    return True


FILES = [
    Mechanism("opening without links", link_swapped_in(use_openat2=has_openat2()), without(jail, "_RESOLVE", 0)),
    Mechanism("walking without links", link_swapped_in(use_openat2=False), without(os, "O_NOFOLLOW", 0)),
    Mechanism(
        "refusing hard links", write_to_a_hard_link, without(folder, "_require_replaceable", folder.require_regular)
    ),
    Mechanism("refusing git's own files", write_a_hook, without(folder, "is_git_control", lambda parts: False)),
    Mechanism(
        "comparing the file's state",
        overwrite_what_a_person_saved,
        without(Folder, "require_hash", lambda self, place, expected: None),
    ),
]


# --- ripgrep

EVIL = "#!/bin/sh\ntouch ../outside/executed\n"


def search(**parameters: JsonValue) -> Attack:
    async def attack(at: Path) -> bool:
        bench = bench_in(at)
        bench.write("own.txt", "own words\n")
        script = bench.write("evil.sh", EVIL)
        script.chmod(0o755)
        (bench.outside / "rc").write_text(f"--pre={script}\n")
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("RIPGREP_CONFIG_PATH", str(bench.outside / "rc"))
            await done(bench, "grep", **parameters)
        return (bench.outside / "executed").exists()

    return attack


def started_with(room: Any, change: Callable[[list[str], dict[str, Any]], list[str]]) -> Off:
    """The room's programs are started with other words, or other options of `run_child`."""
    real = room.run_child

    async def run_child(argv: list[str], **options: Any) -> Any:
        return await real(change(list(argv), options), **options)

    return without(room, "run_child", run_child)


def no_dash_e(argv: list[str], options: dict[str, Any]) -> list[str]:
    return [word for word in argv if word != "-e"]


def own_configuration(argv: list[str], options: dict[str, Any]) -> list[str]:
    options["env"] = dict(os.environ)
    return [word for word in argv if word != "--no-config"]


SEARCHES = [
    Mechanism("a pattern is the value of -e", search(pattern="--pre=./evil.sh"), started_with(ripgrep, no_dash_e)),
    Mechanism("no configuration from the environment", search(pattern="own"), started_with(ripgrep, own_configuration)),
]


# --- the sandbox


def command(words: str, permissions: frozenset[Permission] = EVERYTHING) -> Attack:
    """Succeeds if the command says so."""

    async def attack(at: Path) -> bool:
        return "GOT" in (await ran(bench_in(at), words, permissions)).split("\n")

    return attack


def brought_home(words: str, path: str, permissions: frozenset[Permission] = EVERYTHING) -> Attack:
    """Succeeds if this file of the workspace is another one afterwards."""

    async def attack(at: Path) -> bool:
        bench = bench_in(at)
        bench.write("a.txt", "old\n")
        bench.write(".git/HEAD", "ref: refs/heads/main\n")
        before = content(bench.root / path)
        await ran(bench, words, permissions)
        return content(bench.root / path) != before

    return attack


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


async def ran(bench: ToolWorkspace, words: str, permissions: frozenset[Permission] = EVERYTHING) -> str:
    tool_context = bench.tool_context(permissions=permissions)
    return (await bench.call("execute_command", tool_context, command=words, timeout=60.0)).content


def python(code: str) -> str:
    return f"python3 - <<'EOF'\n{code.strip()}\nEOF"


async def knock_at_a_service(at: Path) -> bool:
    with socket.socket() as service:
        service.bind(("127.0.0.1", 0))
        service.listen()
        service.setblocking(False)
        port = service.getsockname()[1]
        await ran(bench_in(at), f"exec 5<>/dev/tcp/127.0.0.1/{port}")
        try:
            service.accept()[0].close()
        except BlockingIOError:
            return False
        return True


async def read_the_servers_environment(at: Path) -> bool:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ANYCOWORK_TOKEN", SECRET)
        return SECRET in await ran(bench_in(at), "cat /proc/1/environ | tr '\\0' '\\n'")


async def overwrite_what_a_person_saved_meanwhile(at: Path) -> bool:
    bench = bench_in(at)
    file = bench.write("a.txt", "old\n")

    def save() -> None:
        file.write_text("the person's words\n")

    with pytest.MonkeyPatch.context() as meanwhile:
        real = child_process.run_child

        async def run_child(*argv: Any, **options: Any) -> Any:
            ended = await real(*argv, **options)
            save()
            return ended

        meanwhile.setattr(child_process, "run_child", run_child)
        await ran(bench, "echo new > a.txt")
    return file.read_text() != "the person's words\n"


def given_words(change: Callable[[list[str]], list[str]]) -> Off:
    """bubblewrap is started with other words."""
    real = sandbox.bubblewrap_arguments

    def bubblewrap_arguments(*arguments: Any, **options: Any) -> list[str]:
        return change(real(*arguments, **options))

    return without(sandbox, "bubblewrap_arguments", bubblewrap_arguments)


def swapped(old: str, *new: str, takes: int = 0) -> Off:
    """One option, with what it takes, for others."""

    def change(words: list[str]) -> list[str]:
        at = words.index(old)
        return [*words[:at], *new, *words[at + 1 + takes :]]

    return given_words(change)


def shared_processes(words: list[str]) -> list[str]:
    """The machine's own processes instead of a namespace's, and its /proc to see them in."""
    namespaces = ("--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    at, proc = words.index("--unshare-all"), words.index("--proc")
    return [*words[:at], *namespaces, *words[at + 1 : proc], "--ro-bind", "/proc", "/proc", *words[proc + 2 :]]


def own_environment(argv: list[str], options: dict[str, Any]) -> list[str]:
    options["env"] = dict(os.environ)
    return argv


def layer_options(words: list[str]) -> int | None:
    """Where the options are of a layer that is mounted before bubblewrap starts; the folder where it is mounted follows."""
    return next((at for at, word in enumerate(words) if word.startswith("lowerdir=")), None)


def plain_folder(words: list[str]) -> list[str]:
    """The workspace itself instead of a layer over it."""
    if (mounted := layer_options(words)) is not None:
        mount = words[mounted + 1]
        at = words.index(mount, mounted + 2)
        return [*words[:at], words[at + 1], *words[at + 1 :]]
    at = len(words) - words[::-1].index("--overlay-src") - 1
    return [*words[:at], "--bind", words[at + 1], words[at + 1], *words[at + 6 :]]


def unchecked(off: Off) -> Off:
    """Without the check inside that the mounts are what was asked for."""

    def both(patch: pytest.MonkeyPatch) -> None:
        off(patch)
        patch.setattr(sandbox, "mount_check", lambda laid: ":")

    return both


def folder_above(words: list[str]) -> list[str]:
    """As if the workspace's path had been cut on its way to the kernel."""
    if (mounted := layer_options(words)) is not None:
        lower, comma, others = words[mounted].partition(",")
        return [*words[:mounted], str(Path(lower).parent) + comma + others, *words[mounted + 1 :]]
    at = len(words) - words[::-1].index("--overlay-src") - 1
    return [*words[: at + 1], str(Path(words[at + 1]).parent), *words[at + 2 :]]


async def read_from_a_cut_layer(at: Path) -> bool:
    bench = bench_in(at)
    with pytest.MonkeyPatch.context() as cut:
        given_words(folder_above)(cut)
        try:
            return SECRET in await ran(bench, "cat outside/secret")
        except (AnyCoworkError, ValueError):
            return False


def writable_system(words: list[str]) -> list[str]:
    at = words.index("/", words.index("--remount-ro"))
    return [*words[: at - 1], *words[at + 1 :]]


def nothing_found(*arguments: object) -> None:
    return None


ALL_BUT_THE_NETWORK = ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
TRACED = python("import ctypes\nif ctypes.CDLL(None).ptrace(0, 0, 0, 0) >= 0: print('GOT')")
TESTER = frozenset({Permission.READ_FILES, Permission.EXECUTE_COMMANDS})
DESIGNER = TESTER | {Permission.CREATE_FILES}
LARGE = replace(sandboxes.SMALL, file_size=1 << 30)
SANDBOX = [
    Mechanism("a network of its own", knock_at_a_service, swapped("--unshare-all", *ALL_BUT_THE_NETWORK)),
    Mechanism("processes of its own", command(f"kill -0 {os.getpid()} && echo GOT"), given_words(shared_processes)),
    Mechanism(
        "no capabilities",
        command("touch closed; chmod 000 closed; cat closed && echo GOT"),
        swapped("--cap-drop", "--cap-add"),
    ),
    Mechanism("filtered system calls", command(TRACED), swapped("--seccomp", takes=1)),
    Mechanism("an empty environment", read_the_servers_environment, started_with(child_process, own_environment)),
    Mechanism("a read-only system", command("touch /planted && echo GOT"), given_words(writable_system)),
    Mechanism(
        "a layer over the workspace",
        brought_home("echo new > a.txt", "a.txt", TESTER),
        unchecked(given_words(plain_folder)),
    ),
    Mechanism("mounts that are compared", read_from_a_cut_layer, without(sandbox, "mount_check", lambda laid: ":")),
    Mechanism(
        "limits on files",
        command("head -c 20M /dev/zero > big && echo GOT"),
        without(sandboxes.sandbox_in, "__defaults__", (LARGE, Layer.OVERLAY)),
    ),
    Mechanism(
        "paths that no command may change",
        brought_home("mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        without(delta_check, "_never", nothing_found),
    ),
    Mechanism(
        "paths that need a person's word",
        brought_home("echo obey > AGENTS.md", "AGENTS.md"),
        without(delta_check, "_needs_approval", nothing_found),
    ),
    Mechanism(
        "the role's word on the changes",
        brought_home("echo new > a.txt", "a.txt", DESIGNER),
        without(delta_check, "_role", nothing_found),
    ),
    Mechanism(
        "looking for conflicts",
        overwrite_what_a_person_saved_meanwhile,
        without(delta_check, "_conflict", nothing_found),
    ),
]


# --- the proxy


def led_to(destination: str, *allowed: str, named: bool = False) -> Attack:
    """Succeeds if a service that stands where this leads was spoken to."""

    async def attack(at: Path) -> bool:
        async with serving(FakeService()) as service:
            outside = FakeNetwork()
            outside.put("evil.example", 80, service)
            outside.put("inner.example", 80, service, "127.0.0.1")
            bench = bench_in(at, Egress(None if named else outside))
            url = destination.format(port=service.port)
            hosts = [host.format(port=service.port) for host in allowed]
            tool_context = bench.tool_context(named_network=tuple(map(read_destination, hosts)) if named else ())
            words = f"curl -sS http://{url}/"
            await bench.call("execute_command", tool_context, command=words, timeout=60.0, network=list(hosts))
            return bool(service.received)

    return attack


PROXY = [
    Mechanism(
        "the list of destinations",
        led_to("evil.example", "good.example"),
        without(Destination, "covers", lambda *of: True),
    ),
    Mechanism(
        "public addresses alone",
        led_to("inner.example", "inner.example"),
        without(dialer, "_why_refused", nothing_found),
    ),
    Mechanism(
        "our own door",
        led_to("127.0.0.1:{port}", "127.0.0.1:{port}", named=True),
        without(dialer, "is_own_address", lambda *of: False),
    ),
]


# --- the kernel behind the file tools


async def change_a_file_past_the_gate(at: Path) -> bool:
    """As if the door had let a planner's call through."""
    bench = bench_in(at)
    bench.write("a.txt", "old\n")
    prepared = await bench.prepare("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}])
    try:
        await bench.run(prepared, bench.tool_context(permissions=frozenset({Permission.READ_FILES})))
    except AnyCoworkError:
        pass
    return (bench.root / "a.txt").read_text() == "new\n"


async def write_while_looking(at: Path) -> bool:
    bench = bench_in(at)
    try:
        await landlock_threads.reading(lambda: (bench.outside / "planted").write_text("x"))
    except OSError:
        pass
    return (bench.outside / "planted").exists()


def no_landlock(patch: pytest.MonkeyPatch) -> None:
    """Plain threads, as on a kernel without it; those that are held already are not used again."""
    patch.setattr(landlock_threads, "is_held", lambda access=landlock_threads.NOTHING: False)
    patch.setattr(landlock_threads, "_pools", cache(landlock_threads._Pools))


KERNEL = [
    Mechanism("Landlock behind the door", change_a_file_past_the_gate, no_landlock),
    Mechanism("Landlock while looking", write_while_looking, no_landlock),
]


@proves("PER-4")
@pytest.mark.skipif(not landlock_threads.is_held(Access.REFER), reason="this kernel does not offer Landlock")
@pytest.mark.parametrize("mechanism", KERNEL, ids=str)
async def test_without_the_kernels_hold_a_file_tool_changes_what_it_may_not(
    mechanism: Mechanism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await require_needed(mechanism, tmp_path, monkeypatch)


@proves("TOOL-3", "TOOL-4", "TOOL-5", "SNAP-4")
@pytest.mark.parametrize("mechanism", [*FILES, *SEARCHES, *SANDBOX, *PROXY], ids=str)
async def test_without_it_its_attack_succeeds(
    mechanism: Mechanism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await require_needed(mechanism, tmp_path, monkeypatch)
