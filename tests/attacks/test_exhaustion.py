"""Whoever may run commands tries to wear the server out: with trees too deep, files too large, too many, or names that take long to compare."""

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid, ToolFault
from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.domain.tools import CallStatus
from anycowork.permissions.patterns import path_matches, require_path_pattern
from anycowork.permissions.rule_matcher import RuleMatcher
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.limits import CommandLimits
from anycowork.workspace.remove_folder import remove_folder
from support.asgi import Client
from support.disks import as_root, mounted
from support.sandboxes import MOST_CACHED
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

DEEP = 5_000
in_both_layers = pytest.mark.parametrize("layer", Layer, ids=str)


def dig(folder: Path, levels: int) -> None:
    """Deeper than any path could name."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        deeper = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = deeper
    os.close(at)


@pytest.fixture
def stages(bench: ToolWorkspace) -> Path:
    return bench.root.parent / "data/staging/runs"


@proves("TOOL-4")
@in_both_layers
async def test_folders_deeper_than_any_path_are_dropped_and_nothing_of_them_is_left(
    bench: ToolWorkspace, stages: Path
) -> None:
    digging = f"import os\nfor _ in range({DEEP}):\n    os.mkdir('d'); os.chdir('d')"
    result = await bench.call("execute_command", command=f'python3 -c "{digging}"', timeout=30)
    assert result.status is CallStatus.ERROR and "more than 200 deep" in result.content
    assert tree(bench.root) == {} and list(stages.iterdir()) == []


@proves("OPS-2")
def test_what_a_killed_server_left_is_swept_however_deep_it_is(bench: ToolWorkspace, stages: Path) -> None:
    upper = stages / "0123456789abcdef/upper"
    upper.mkdir(parents=True)
    dig(upper, DEEP)
    (upper / "closed").mkdir()
    (upper / "closed/file").touch()
    (upper / "closed").chmod(0)
    assert bench.sandbox.staging.sweep() == 1 and list(stages.iterdir()) == []


@proves("TOOL-4")
@in_both_layers
async def test_a_workspace_that_is_too_deep_is_told_and_stays_as_it_is(bench: ToolWorkspace, layer: Layer) -> None:
    dig(bench.root, 1_200)  # more than Python's stack, and not so many that removing them takes long
    try:
        result = await bench.call("execute_command", command="rm -rf d", timeout=30)
        assert result.status is CallStatus.ERROR and "more than 200 deep" in result.content
    except ToolFault as fault:
        assert layer is Layer.COPY and "more than 200 deep" in fault.message
    assert (bench.root / "d/d/d").is_dir()
    await bench.call("list_directory", path=".", depth=3)
    await bench.call("grep", pattern="x")
    remove_folder(str(bench.root))
    assert not bench.root.exists()


async def test_no_file_tool_makes_folders_without_end(bench: ToolWorkspace) -> None:
    with pytest.raises(ToolFault, match="more than 200 folders deep"):
        await bench.call("create_file", path="d/" * 1_000 + "x", content="x")
    bench.write("x")
    with pytest.raises(ToolFault, match="more than 200 folders deep"):
        await bench.call("move_file", path="x", to="d/" * 1_000 + "x")
    assert tree(bench.root) == {"x": b""}


@proves("TOOL-4")
@in_both_layers
async def test_files_that_are_nothing_but_holes_are_not_read_through(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anycowork.sandbox.commit.delta_scan.MOST_BYTES", 40 << 20)
    result = await bench.call("execute_command", command="for i in 1 2 3; do truncate -s 15M hole$i; done")
    assert result.status is CallStatus.ERROR and "too many to be looked at" in result.content
    assert tree(bench.root) == {}


@as_root
@proves("TOOL-4")
async def test_a_disk_that_can_take_no_more_files_stops_the_command(tmp_path: Path) -> None:
    for name in ("workspace", "outside", "data"):
        (tmp_path / name).mkdir()
    with mounted(tmp_path / "data", "-t", "tmpfs", "-o", "nr_inodes=2000", "tmpfs"):
        bench = ToolWorkspace(tmp_path / "workspace", tmp_path / "outside")
        bench.sandbox.limits = CommandLimits(free_space=0)
        command = "while :; do i=$((i + 1)); : > f$i; done 2>/dev/null"
        result = await bench.call("execute_command", command=command, timeout=60)
        assert result.error is not None and "disk was nearly full" in result.content and tree(bench.root) == {}


# --- patterns that a model may write into a plan, against names that it may give to files

GLOBS = st.lists(st.sampled_from(["a", "b", "/", "*", "?", "**/", "/**"]), min_size=1, max_size=8).map("".join)
NAMES = st.text(alphabet="aab/", min_size=1, max_size=9).filter(lambda name: not name.startswith("/"))


MEANING = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


def plainly(pattern: str) -> str:
    """The plain regular expression of a pattern: right, and slow where somebody wants it to be."""
    return "".join(MEANING.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern))


@settings(max_examples=300)
@given(pattern=GLOBS, path=NAMES)
def test_what_cannot_be_slow_means_the_same_as_what_is_plain(pattern: str, path: str) -> None:
    wanted = pattern.lstrip("/") + ("**" if pattern.endswith("/") else "")
    loose = any("**" in name and name != "**" for name in wanted.split("/"))
    if not pattern.strip("/") or (loose and len(re.findall(r"\*+", pattern)) > 2):
        return
    assert path_matches(pattern, path) == (re.fullmatch(plainly(wanted), path) is not None)


@proves("PER-4")
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param("*a" * 60 + "b", "a" * 255, id="stars in a name"),
        pytest.param("**/a/" * 60 + "b", "a/" * 1_000 + "c", id="stars over folders"),
        pytest.param("**/*a*a*a*/" * 20 + "b", f"{'a' * 200}/" * 20 + "c", id="both"),
        pytest.param("a**" * 30 + "b", "a" * 255, id="loose stars"),
        pytest.param("?*" * 60 + "b", "a" * 255, id="marks and stars"),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    """Each of these took longer than anyone would wait, and all else with it: a comparison cannot be interrupted."""
    used = time.thread_time()
    assert not path_matches(pattern, path)
    assert time.thread_time() - used < 2.0


def test_a_rule_that_would_take_long_to_compare_is_refused() -> None:
    with pytest.raises(Invalid, match="too slow to compare"):
        require_path_pattern("/a**b**c*")
    require_path_pattern("/src/**.py")
    require_path_pattern("/**/test_*_*/**/*.py")


@proves("PER-4", "APR-2")
@pytest.mark.parametrize("tool", ["*", "update_*", "read_file"])
async def test_no_rule_for_many_tools_takes_long_to_compare_either(client: Client, tool: str) -> None:
    """Taken without a word, it was compared with every path that any tool named."""
    answer = await client.post("/rules", {"tool": tool, "resource": "/a**b**c*d", "effect": "deny", "scope": "global"})
    assert answer.status == 422 and "too slow to compare" in answer.json()["error"]["message"]


@proves("PER-4")
def test_no_pattern_for_a_foreign_resource_takes_long() -> None:
    rule = Rule("1", "server_tool", "*a" * 40 + "b", Effect.DENY, RuleScope.GLOBAL, created_by="person:owner")
    used = time.thread_time()
    assert RuleMatcher([rule]).other("a" * 20_000) is None
    assert time.thread_time() - used < 2.0


@proves("TOOL-4", "OPS-2")
@pytest.mark.parametrize(
    "filling",
    [
        pytest.param("head -c 9000000 /dev/urandom > ~/.cache/a", id="one file"),
        pytest.param(
            "mkdir ~/.cache/a && cd ~/.cache/a && for i in {1..20}; do head -c 500000 /dev/urandom > $i; done",
            id="many",
        ),
        pytest.param(
            "cd ~/.cache && for i in {1..150}; do mkdir d && cd d; done; head -c 9000000 /dev/urandom > x", id="deep"
        ),
        pytest.param(
            "mkdir ~/.cache/a && cd ~/.cache/a && head -c 9000000 /dev/urandom > x && touch -d 2100-01-01 x . && chmod 0 x .",
            id="closed, and from the future",
        ),
        pytest.param(
            "mkdir ~/.cache/.going-1 && head -c 9000000 /dev/urandom > ~/.cache/.going-1/x", id="a name of ours"
        ),
    ],
)
async def test_no_command_fills_the_disk_through_its_cache(bench: ToolWorkspace, filling: str) -> None:
    assert (await bench.call("execute_command", command=filling)).status is CallStatus.OK
    seen = await bench.call("execute_command", command="du -sk ~/.cache")
    assert int(seen.content.split()[0]) * 1024 <= MOST_CACHED


@proves("TOOL-4", "SNAP-4")
async def test_a_cache_that_points_elsewhere_takes_nothing_with_it(bench: ToolWorkspace) -> None:
    (bench.outside / "large").write_bytes(b"x" * (MOST_CACHED + 1))
    planted = f"cd ~/.cache && ln -s {bench.outside} out && ln -s / all && head -c 9000000 /dev/urandom > x"
    assert (await bench.call("execute_command", command=planted)).status is CallStatus.OK
    assert (bench.outside / "large").stat().st_size == MOST_CACHED + 1
    assert Path("/usr/bin").is_dir()
