"""Attempts to learn what a rule denies reading, from inside a command, and by whatever else the model is told of files."""

import os
import stat
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from anycowork.domain.errors import DeniedByRule
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.domain.tool_ports import ToolContext
from anycowork.domain.tools import CallStatus, ToolResult
from anycowork.permissions.rules import RuleIndex
from anycowork.sandbox.commit.delta import UnusableDelta
from anycowork.sandbox.layers.private_copy import CannotCopy
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.secrets import hidden_path_index
from anycowork.sandbox.secrets.hidden_path_index import HiddenPathIndex
from anycowork.workspace.folder import Folder
from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree
from support.toolspecs import SPECS

SECRET = "hunter2"
FILES = {
    "secrets/deep/password.txt": f"{SECRET}\n",
    "secrets/plain.txt": f"{SECRET}\n",
    "src/app.py": "import os\n",
    "src/local.key": f"{SECRET}\n",
    "notes.txt": "nothing\n",
}
DENIED = ("/secrets/**", "**/*.key")


def hidden(*patterns: str) -> HiddenPathRules:
    rules = [Rule(str(at), "read_file", pattern, Effect.DENY, RuleScope.GLOBAL) for at, pattern in enumerate(patterns)]
    return RuleIndex(rules).hidden_from(SPECS["execute_command"])


def hidden_context(bench: ToolWorkspace, *patterns: str) -> ToolContext:
    return bench.tool_context(hidden=hidden(*(patterns or DENIED)))


@pytest.fixture(params=list(Layer), ids=[layer.value for layer in Layer])
def layer(request: pytest.FixtureRequest) -> Layer:
    return Layer(request.param)


@pytest.fixture
def filled(bench: ToolWorkspace) -> ToolWorkspace:
    for path, content in FILES.items():
        bench.write(path, content)
    return bench


def furnished(at: Path) -> ToolWorkspace:
    (at / "workspace").mkdir()
    bench = ToolWorkspace(at / "workspace", at)
    for path, content in FILES.items():
        bench.write(path, content)
    return bench


async def run(bench: ToolWorkspace, command: str, *patterns: str) -> ToolResult:
    return await bench.call("execute_command", hidden_context(bench, *patterns), command=command)


# --- from inside a command

READS = {
    "cat": "cat src/local.key secrets/plain.txt secrets/deep/password.txt",
    "cat by its whole path": 'cat "$PWD/src/local.key" "$PWD/secrets/plain.txt"',
    "cp, then cat": "cp src/local.key /tmp/a; cp -r secrets /tmp/b; cat /tmp/a /tmp/b/*",
    "cp into the workspace": "cp src/local.key copy.txt; cp -a secrets other; cat copy.txt other/*",
    "a hard link": "ln src/local.key linked; ln secrets/plain.txt linked2; cat linked linked2",
    "a symbolic link": "ln -s src/local.key linked; ln -s secrets sub; cat linked sub/plain.txt",
    "through /proc/self/fd": "exec 3<src/local.key; cat /proc/self/fd/3; cat /proc/self/root$PWD/secrets/plain.txt",
    "through /proc/self/cwd": "cat /proc/self/cwd/src/local.key /proc/1/cwd/secrets/plain.txt /proc/1/root$PWD/src/local.key",
    "moving it": "mv src/local.key moved; mv secrets moved2; cat moved moved2/*",
    "moving the folder above it": "mv src lib; cat lib/local.key src/local.key",
    "moving it, made anew": "mv src lib; mkdir src; cp lib/local.key src/other; cat src/other lib/local.key",
    "moving it, another in its place": "mv src lib; mkdir src; echo x > src/local.key; cat lib/local.key",
    "opening it to oneself": "chmod 777 src/local.key secrets; cat src/local.key secrets/*",
    "removing what covers it": "rm -f src/local.key; rm -rf secrets; cat src/local.key secrets/*",
    "unmounting what covers it": "umount src/local.key; umount -l secrets; cat src/local.key secrets/*",
    "mounting over it": 'mount --bind "$PWD" /mnt; unshare -rm sh -c "umount -l secrets; cat secrets/*"',
    "another namespace": "unshare -Ur cat src/local.key",
    "overwriting, then reading back": "echo x >> src/local.key; truncate -s 100 src/local.key; cat src/local.key",
    "an archive": "tar cf - src secrets | cat",
    "searching": "grep -r hunter .",
    "python": "python3 -c \"import os; fd = os.open('src', os.O_PATH); print(open(os.open('local.key', os.O_RDONLY, dir_fd=fd)).read())\"",
    "exchange": "python3 -c \"import ctypes; print(ctypes.CDLL(None).renameat2(-100, b'notes.txt', -100, b'src/local.key', 2))\"; cat notes.txt",
}


@proves("APR-2", "TOOL-4")
@pytest.mark.parametrize("way", READS)
async def test_a_command_cannot_read_what_a_rule_denies(filled: ToolWorkspace, way: str) -> None:
    result = await run(filled, READS[way])
    assert SECRET not in result.content and SECRET not in (result.diff or "")
    after = tree(filled.root)
    kept = {path: after.get(path) for path in ("src/local.key", "secrets/plain.txt", "secrets/deep/password.txt")}
    assert set(kept.values()) == {f"{SECRET}\n".encode()}, "what was covered is there as it was"
    others = [path for path, content in after.items() if path not in kept and SECRET in str(content)]
    assert others == [], "nothing of it stands under another name"


@proves("APR-2")
async def test_what_covers_is_no_change_and_what_else_was_changed_is_kept(filled: ToolWorkspace) -> None:
    before = tree(filled.root)
    assert (await run(filled, "true")).facts["files"] == []
    assert tree(filled.root) == before
    result = await run(filled, "echo new > src/new.txt; echo more >> notes.txt; ls -l src secrets; true")
    changed = {str(file["path"]) for file in result.facts["files"]}  # type: ignore[union-attr,index,call-overload]  # JSON
    assert changed == {"src/new.txt", "notes.txt"}
    assert tree(filled.root) == {**before, "src/new.txt": b"new\n", "notes.txt": b"nothing\nmore\n"}


async def test_a_private_copy_whose_covered_folder_was_renamed_is_dropped(filled: ToolWorkspace, layer: Layer) -> None:
    """Under another name no rule would hide it from the next command."""
    before = tree(filled.root)
    result = await run(filled, "mv src lib && echo moved")
    if layer is Layer.COPY:
        assert "moved" in result.content and "src/local.key" in result.content and tree(filled.root) == before
    else:
        assert (filled.root / "src/local.key").read_text() == f"{SECRET}\n" and not (
            filled.root / "lib/local.key"
        ).exists()


@proves("APR-2")
@pytest.mark.parametrize("anew", ["mkdir -p src/keys", "mkdir -p src/keys; touch src/keys/one", "mkdir src", "true"])
async def test_a_folder_that_is_covered_goes_nowhere_with_the_one_above_it(filled: ToolWorkspace, anew: str) -> None:
    """Not even if something else is put where it was."""
    filled.write("src/keys/one", "the key")
    await run(filled, f"mv src lib; {anew}", "/src/keys/**")
    holding = {path for path, content in tree(filled.root).items() if "the key" in str(content)}
    assert holding == {"src/keys/one"}


async def test_what_came_too_late_to_be_covered_is_not_taken_away(tmp_path: Path) -> None:
    bench = furnished(tmp_path)
    async with bench.sandbox.begin(Folder(str(bench.root)).jail, Layer.OVERLAY) as transaction:
        transaction.hide(hidden("/late/*"))
        bench.write("late/one.txt", SECRET)
        bench.write("late/deep/two.txt")
        upper = transaction.stage.upper
        (upper / "moved.txt").write_text(SECRET)
        os.mknod(upper / "late", stat.S_IFCHR)
        with pytest.raises(UnusableDelta, match=r"late/one\.txt"):
            transaction.look()


async def test_what_may_not_be_read_may_be_made(filled: ToolWorkspace) -> None:
    result = await run(filled, "echo mine > new.key; mkdir secrets2; echo mine > secrets2/x")
    assert result.status is CallStatus.OK
    assert (filled.root / "new.key").read_text() == "mine\n"


async def test_a_private_copy_is_covered_as_it_was_copied(tmp_path: Path) -> None:
    """Whatever a person takes away, or brings, between the copying and the command."""
    bench = furnished(tmp_path)
    async with bench.sandbox.begin(Folder(str(bench.root)).jail, Layer.COPY) as transaction:
        (bench.root / "src/local.key").unlink()
        bench.write("src/later.key", SECRET)
        transaction.hide(hidden("**/*.key"))
        assert {mask.place.path for mask in transaction.covered.masks} == {"src/local.key"}


async def test_a_closed_folder_that_a_command_could_open_is_covered_whole(filled: ToolWorkspace) -> None:
    filled.write("closed/in.key", SECRET)
    (filled.root / "closed").chmod(0)
    try:
        told = (await run(filled, "chmod 700 closed; cat closed/in.key")).content
    except CannotCopy:  # whoever is not root cannot copy it: then nothing runs
        told = ""
    finally:
        (filled.root / "closed").chmod(0o755)
    assert SECRET not in told


async def test_without_a_rule_everything_is_read_as_before(filled: ToolWorkspace) -> None:
    result = await filled.call("execute_command", command="cat src/local.key secrets/plain.txt")
    assert result.content.count(SECRET) == 2


async def test_what_git_keeps_of_a_file_is_its_own_and_needs_a_rule_of_its_own(filled: ToolWorkspace) -> None:
    """A limit, told in docs/security.md: a rule about a path says nothing about git's copies of what it once held."""
    name = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (("init", "-q"), ("add", "-f", "."), ("commit", "-qm", "x")):
        subprocess.run(["git", *name, *words], cwd=filled.root, check=True, capture_output=True, timeout=60)
    show = "git -c safe.directory='*' show HEAD:src/local.key"
    assert SECRET in (await run(filled, show)).content
    assert SECRET not in (await run(filled, show, *DENIED, "/.git/**")).content


# --- what is covered


def covered(bench: ToolWorkspace, *patterns: str) -> set[str]:
    found = HiddenPathIndex().masks(Folder(str(bench.root)).jail, hidden(*patterns))
    return {mask.place.path + ("/" if mask.is_folder else "") for mask in found}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("/secrets/**",), {"secrets/"}),
        (("/secrets/",), {"secrets/"}),
        (("secrets/plain.txt",), {"secrets/plain.txt"}),
        (("/secrets/*",), {"secrets/plain.txt"}),
        (("/secrets/*/*",), {"secrets/deep/password.txt"}),
        (("**/*.key",), {"src/local.key", "pipe.key"}),
        (("/pipe.key",), {"pipe.key"}),
        (("/src/?ocal.key", "/src/local.key"), {"src/local.key"}),
        (("**/deep/**",), {"secrets/deep/"}),
        (("/secrets/**", "/secrets/deep/*"), {"secrets/"}),
        (("*",), {"secrets/", "src/", "notes.txt", "pipe.key"}),
        (("/**",), {"secrets/", "src/", "notes.txt", "pipe.key"}),
        (("/missing/**", "/gone.txt", "/src/app.py/x"), set()),
        (("/link", "/link/**"), set()),
    ],
)
async def test_patterns_cover_what_they_match_and_no_more(
    tmp_path: Path, patterns: tuple[str, ...], expected: set[str]
) -> None:
    bench = furnished(tmp_path)
    (bench.root / "link").symlink_to("src")
    os.mkfifo(bench.root / "pipe.key")
    assert covered(bench, *patterns) == expected


@pytest.mark.parametrize(
    ("fill", "limit", "words"),
    [
        (lambda bench: [bench.write(f"{n}.key") for n in range(12)], "MOST_MASKS", "too many to hide"),
        (lambda bench: [bench.write(f"d/{n}.txt") for n in range(12)], "MOST_READ", "to look through"),
    ],
)
async def test_more_than_can_be_covered_refuses_the_command(
    filled: ToolWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    fill: Callable[[ToolWorkspace], object],
    limit: str,
    words: str,
) -> None:
    fill(filled)
    monkeypatch.setattr(hidden_path_index, limit, 10)
    with pytest.raises(DeniedByRule, match=words):
        await run(filled, "echo ran > ran.txt")
    assert not (filled.root / "ran.txt").exists()


# --- by whatever else the model is told


async def deny(client: LiveServer, *patterns: str) -> None:
    for pattern in patterns:
        rule = {"tool": "read_file", "resource": pattern, "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)


ASKS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "local.key"}),
    ("read_file", {"path": "secrets/deep/pasword.txt"}),
    ("read_file", {"path": "src/locl.key"}),
    ("delete_file", {"path": "password.txt"}),
    ("move_file", {"path": "lib/local.key", "to": "x"}),
    ("update_file", {"path": "src/local.key", "edits": [{"find": "nothing like it", "replace": "x"}]}),
    ("update_file", {"path": "src/local.key", "content": "x"}),
    ("update_file", {"path": "src/local.key", "content": "x", "start_line": 90, "end_line": 99}),
    ("get_file_info", {"path": "src/local.key"}),
    ("move_file", {"path": "src/local.key", "to": "open.txt"}),
    ("move_file", {"path": "src", "to": "lib"}),
    ("move_file", {"path": "secrets", "to": "open"}),
]


@proves("APR-2")
@pytest.mark.parametrize(("tool", "parameters"), ASKS)
async def test_no_tool_tells_of_it_in_its_answer(tmp_path: Path, tool: str, parameters: dict[str, Any]) -> None:
    async with live_server(
        tmp_path, replies=[call(tool, **parameters), "I may not.", "I may not."], files=FILES
    ) as client:
        await deny(client, *DENIED)
        chat = await client.chat()
        await chat.send("go on")
        assert (await chat.show())["state"] == "idle", "nobody is asked for what is denied"
        (result, *_) = await chat.of_type("tool_result")
        telling = (
            SECRET,
            *(path for path in FILES if SECRET in FILES[path]),
            sha256(f"{SECRET}\n".encode()).hexdigest(),
        )
        assert [word for word in telling if word in str(result) and word not in str(parameters)] == []
        if parameters["path"] in (*FILES, "src", "secrets"):
            assert result["payload"]["error"]["code"] == "denied_by_rule"
        else:
            assert result["payload"]["error"]["code"] == "file_missing"
        assert (client.workspace / "src/local.key").read_text() == f"{SECRET}\n"


@proves("APR-2")
async def test_the_files_that_a_turn_begins_with_are_without_it(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello."], files=FILES) as client:
        await deny(client, *DENIED)
        chat = await client.chat()
        await chat.send("hello")
        first = client.model.requests[0]["messages"][1]["content"]
        assert "src/app.py" in first and "notes.txt" in first
        assert "local.key" not in first and "secrets" not in first


@proves("APR-2")
async def test_naming_it_with_an_at_sign_does_not_read_it(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello."], files=FILES) as client:
        await deny(client, *DENIED)
        chat = await client.chat()
        await chat.send('what is in @src/local.key and @"secrets/plain.txt" and @notes.txt?')
        assert SECRET not in str(client.model.requests) and "nothing" in str(client.model.requests)


@proves("APR-2")
async def test_the_check_of_a_plan_reads_it_no_more_than_any_command(tmp_path: Path) -> None:
    step = {"action": "look", "commands": ["cat src/local.key"], "check": "cat src/local.key"}
    async with live_server(tmp_path, replies=["Done.", "Done.", "Done."], files=FILES) as client:
        await deny(client, *DENIED)
        chat = await client.chat()
        plan = {"plan": {"goal": "look", "steps": [step]}}
        proposed = await client.ask("POST", f"{chat.path}/plans", plan, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        await chat.rest()
        (first, *_) = await chat.results()
        assert first["tool"] == "execute_command" and first["status"] == "error"
        assert SECRET not in str(await chat.messages()) and SECRET not in str(client.model.requests)


@proves("APR-2")
async def test_changes_that_are_shown_to_the_model_leave_it_out(tmp_path: Path) -> None:
    """It was changed when nobody denied it yet."""
    change = call("update_file", path="src/local.key", edits=[{"find": SECRET, "replace": f"{SECRET}!"}])
    other = call("update_file", path="notes.txt", edits=[{"find": "nothing", "replace": "something"}])
    async with live_server(tmp_path, replies=[change, other, "Done.", "Reviewed."], files=FILES) as client:
        chat = await client.chat()
        await chat.send("change them")
        while await chat.approvals():
            await chat.decide()
        await deny(client, *DENIED)
        before = len(client.model.requests)
        await chat.send("/review_changes")
        shown = [m["content"] for m in await chat.messages() if (m["payload"] or {}).get("tool") == "changes"]
        assert len(client.model.requests) > before and len(shown) == 1
        assert "+something" in shown[0] and SECRET not in shown[0] and "left out" in shown[0]
