"""Any sequence of file tools and real commands in their sandbox: going back to any moment of it gives that very tree."""

import asyncio
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from anycowork.checkpoints.snapshots import FEW_PATHS
from anycowork.domain.errors import OutsideWorkspace
from anycowork.domain.snapshots import Snapshot
from anycowork.sandbox.layers.stage import Layer
from support.checkpoints import CHAT, Recorded, recorded, whole
from support.spec import proves

# Of these, build/ is ignored by git, and one name is awkward.
NAMES = st.sampled_from(["a.txt", "d", "d/e.txt", "d/f", "d/f/g", "build", "build/out.o", "l", "é 'n\"\n$x"])
MODES = st.sampled_from(["600", "644", "444", "755", "1777", "500", "700"])
TEXTS = st.text(alphabet="ab é\n", max_size=20)


def _action(words: str) -> st.SearchStrategy[str]:
    return st.builds(lambda *given: words.format(*map(quote, given)), *[NAMES] * words.count("{}"))


ACTIONS = st.one_of(
    _action("echo new > {}"),
    _action("echo more >> {}"),
    _action(r"printf 'bin\0\377\r' > {}"),
    _action("head -c 70000 /dev/urandom > {}"),
    _action("rm -rf {}"),
    _action("mv -T {} {}"),
    _action("mkdir -p {}"),
    _action('rm -rf {}; mkdir "$_"'),
    _action('rm -rf {}; echo a file now > "$_"'),
    _action("mkdir -p {}/empty/emptier"),
    _action("mv -f {} {}/"),
    _action("a={}; b={}; mv -T $a swap && mv -T $b $a; mv -T swap $b"),
    _action("ln -f {} {}"),
    _action("ln -sfn {} {}"),
    _action("cp -a {} {}"),
    _action("touch -d 2001-01-01 {}"),
    st.builds(lambda mode, name: f"chmod {mode} {quote(name)}", MODES, NAMES),
)
COMMANDS = st.lists(ACTIONS, min_size=1, max_size=5).map("; ".join)
STEPS = st.one_of(
    st.tuples(st.just("execute_command"), COMMANDS, st.just("")),
    st.tuples(st.just("execute_command"), COMMANDS, st.just("")),
    st.tuples(st.just("create_file"), NAMES, TEXTS),
    st.tuples(st.just("update_file"), NAMES, TEXTS),
    st.tuples(st.just("move_file"), NAMES, NAMES),
    st.tuples(st.just("delete_file"), NAMES, st.just("")),
)


@proves("SNAP-1", "SNAP-2", "SNAP-4")
@pytest.mark.parametrize("layer", Layer, ids=str)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, min_size=2, max_size=6), chosen=st.integers(0, 100), few=st.sampled_from([0, FEW_PATHS]))
# A link comes back where a folder with a file in it stands now.
@example(
    steps=[
        ("execute_command", "ln -sfn a.txt a.txt", ""),
        ("execute_command", "mv -T a.txt swap && mv -T d a.txt; mv -T swap d", ""),
    ],
    chosen=1,
    few=0,
)
@example(
    steps=[
        ("execute_command", "ln -sfn /usr l", ""),
        ("execute_command", "rm l; mkdir -p l/f/g; echo new > l/f/g/h; echo new > l/i", ""),
    ],
    chosen=1,
    few=0,
)
def test_going_back_to_any_moment_of_any_history_gives_that_very_tree(
    layer: Layer, steps: list[tuple[str, str, str]], chosen: int, few: int
) -> None:
    """With `few` 0 every commit is recorded like one of many files: from its manifest."""
    with TemporaryDirectory() as folder:
        asyncio.run(_any_history(Path(folder), layer, steps, chosen, few))


async def _any_history(folder: Path, layer: Layer, steps: list[tuple[str, str, str]], chosen: int, few: int) -> None:
    async with recorded(folder, layer=layer, few_paths=few) as server:
        _set_up(server.root)
        moments = []
        for step in steps:
            was = whole(server.root)
            if (before := await _taken(server, *step)) is not None:
                moments.append((before, was))
            else:
                assert whole(server.root) == was, f"{step} changed something that was not kept"
        if not moments:
            return
        latest = whole(server.root)
        before, was = moments[chosen % len(moments)]
        answer = await server.restore(before)
        assert whole(server.root) == was and not answer.done.conflicts
        assert (server.root / ".git/config").read_text() == "[core]\n"
        if answer.undo_snapshot is not None:
            await server.restore(answer.undo_snapshot)
            assert whole(server.root) == latest


def _set_up(root: Path) -> None:
    for path, text in {"d/e.txt": "to begin with\n", ".gitignore": "build/\n", ".git/config": "[core]\n"}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "build").mkdir()
    (root / "build/out.o").write_bytes(b"\0old")


async def _taken(server: Recorded, tool: str, first: str, second: str) -> Snapshot | None:
    """The snapshot before the step; None if it was refused or changed nothing."""
    if tool == "execute_command":
        return await server.command(first)
    parameters = {"path": first}
    if tool in ("create_file", "update_file"):
        parameters["content"] = second
    elif tool == "move_file":
        parameters["to"] = second
    try:
        if tool == "update_file":
            server.bench.read.clear()
            if (server.root / first).is_file() and not (server.root / first).is_symlink():
                await server.bench.call("read_file", path=first)
        if not await server.call(tool, **parameters):
            return None
    except OutsideWorkspace:  # a name, or a link on the way, that no tool follows
        return None
    listed, _ = await server.database.store.snapshots.page(CHAT, limit=2)
    return listed[0]
