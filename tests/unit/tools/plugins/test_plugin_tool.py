"""A plugin's tool called as the loop calls it, in the real sandbox."""

import asyncio
import sys
from pathlib import Path

import pytest

from anycowork.domain.errors import BadParameters, OutsideWorkspace
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.roles import Permission
from anycowork.domain.tools import CallStatus
from anycowork.sandbox.layers.stage import Layer
from support.distributions import PluginBench
from support.spec import proves
from support.tool_workspace import EVERYTHING, tree

TOOLS = """
    import asyncio, os, sys, time
    from pathlib import Path

    @tool(path="path", category="text")
    def count_words(path: str) -> int:
        "Count the words of a file."
        return len(Path(path).read_text().split())

    @tool(permissions=["write_files", "create_files"])
    def shout(path: str, fail: bool = False) -> str:
        "Make a file loud."
        file = Path(path)
        file.write_text(file.read_text().upper())
        Path("made.txt").write_text("new")
        if fail:
            raise ToolError("there was nothing to say")
        return "It is loud now."

    @tool(permissions=["write_files", "create_files", "delete_files"], path="place")
    def write_at(place: str, where: list[str], remove: bool = False) -> str:
        "Write in some places."
        for each in map(Path, where):
            each.parent.mkdir(parents=True, exist_ok=True)
            each.unlink() if remove else each.write_text("written")
        return "ok"

    @tool(permissions=[])
    async def add(one: int, two: int) -> dict:
        "Add two numbers."
        await asyncio.sleep(0)
        return {"sum": one + two}

    @tool
    def echo(text: str) -> str:
        "Give it back."
        print("noise", flush=True)
        os.system("echo more noise")
        return text

    @tool
    def fail(how: str) -> str:
        "Fail in some way."
        print("about to", how, file=sys.stderr)
        if how == "raise":
            return str(1 / 0)
        if how == "exit":
            sys.exit(3)
        if how == "die":
            os._exit(7)
        if how == "kill":
            os.kill(os.getpid(), 9)
        if how == "unfit":
            return object()
        if how == "silent":
            os._exit(0)
        time.sleep(3600)

    tools = [count_words, shout, write_at, add, echo, fail]
"""


@pytest.fixture
async def furnished(bench: PluginBench) -> PluginBench:
    bench.write("a.txt", "one two three\n")
    await bench.use("words", TOOLS)
    return bench


@proves("TOOL-2", "TOOL-5")
async def test_a_plugins_tool_reads_the_workspace_and_answers(furnished: PluginBench) -> None:
    prepared = await furnished.prepare("count_words", path="./sub/../a.txt")
    assert prepared.resource == "/a.txt" and prepared.intent is None
    result = await furnished.run(prepared)
    assert (result.status, result.content) == (CallStatus.OK, "3")
    assert result.facts["plugin"] == "words"
    assert "words" not in sys.modules, "nothing of it was imported here"


async def test_a_coroutine_is_awaited_and_what_is_no_text_is_told_as_json(furnished: PluginBench) -> None:
    result = await furnished.call("add", one=2, two=3)
    assert result.content == '{\n  "sum": 5\n}'


async def test_what_it_prints_is_no_answer(furnished: PluginBench) -> None:
    result = await furnished.call("echo", text="mine, with ü and 🙂")
    assert (result.status, result.content) == (CallStatus.OK, "mine, with ü and 🙂")


async def test_long_parameters_arrive_whole(furnished: PluginBench) -> None:
    result = await furnished.call("echo", text="x" * 1_000_000)
    assert result.content == "x" * 1_000_000


@proves("TOOL-5")
@pytest.mark.parametrize("layer", list(Layer))
async def test_changes_are_committed_together_and_told(furnished: PluginBench) -> None:
    result = await furnished.call("shout", path="a.txt")
    assert result.status is CallStatus.OK and result.content.startswith("It is loud now.\nChanged (+")
    assert "A made.txt" in result.content and "M a.txt" in result.content
    assert result.diff is not None and "+ONE TWO THREE" in result.diff
    assert tree(furnished.root) == {"a.txt": b"ONE TWO THREE\n", "made.txt": b"new"}
    [intent] = furnished.intended
    assert {item.path for item in intent.paths} == {"a.txt", "made.txt"} and intent.contained


@pytest.mark.parametrize("layer", list(Layer))
async def test_a_tool_that_fails_changes_nothing(furnished: PluginBench) -> None:
    result = await furnished.call("shout", path="a.txt", fail=True)
    assert result.status is CallStatus.ERROR and result.error is not None
    assert "there was nothing to say" in result.content and "was dropped" in result.content
    assert tree(furnished.root) == {"a.txt": b"one two three\n"} and furnished.intended == []


@pytest.mark.parametrize("layer", list(Layer))
@pytest.mark.parametrize(
    ("place", "where", "kept"),
    [
        ("a.txt", ["a.txt"], True),
        ("./new/deep/b.txt", ["new/deep/b.txt"], True),
        ("docs", ["docs/one.md", "docs/more/two.md"], True),
        (".", ["a.txt", "b.txt"], True),
        ("a.txt", ["a.txt", "b.txt"], False),
        ("docs", ["docs/one.md", "docsy/one.md"], False),
        ("new/deep/b.txt", ["new/deep/b.txt", "new/c.txt"], False),
    ],
)
async def test_one_that_names_a_path_changes_that_and_nothing_else(
    furnished: PluginBench, place: str, where: list[str], kept: bool
) -> None:
    before = tree(furnished.root)
    result = await furnished.call("write_at", place=place, where=where)
    assert (result.status is CallStatus.OK) is kept and (tree(furnished.root) != before) is kept
    assert kept or (result.error is not None and result.error.code == "beyond_its_path")


async def test_it_removes_no_more_than_the_path_either(furnished: PluginBench) -> None:
    furnished.write("docs/one.md", "1")
    before = tree(furnished.root)
    result = await furnished.call("write_at", place="docs/one.md", where=["docs/one.md", "a.txt"], remove=True)
    assert result.error is not None and result.error.code == "beyond_its_path" and tree(furnished.root) == before


@proves("TOOL-5")
@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("raise", "It raised ZeroDivisionError: division by zero"),
        ("exit", "It raised SystemExit: 3"),
        ("die", "'fail' died without an answer (exit code 7)"),
        ("kill", "'fail' died without an answer (signal 9)"),
        ("unfit", "It raised TypeError: Object of type object is not JSON serializable"),
        ("silent", "it ended without an answer"),
        ("hang", "'fail' was still running after 5 seconds and was stopped"),
    ],
)
async def test_however_it_fails_there_is_a_clear_error(bench: PluginBench, how: str, says: str) -> None:
    bench.seconds = 5.0 if how == "hang" else 60.0
    await bench.use("words", TOOLS)
    result = await bench.call("fail", how=how)
    assert result.status is CallStatus.ERROR and result.error is not None
    assert says in result.error.message and f"about to {how}" in result.content
    assert result.error.code == ("timed_out" if how == "hang" else "plugin_failed")


@proves("TOOL-2")
async def test_its_parameters_are_checked_before_anything_of_it_runs(furnished: PluginBench) -> None:
    tool = furnished.toolbox.find("add")
    assert tool is not None
    assert tool.problems({"one": "1"}) == [
        "'two' is missing; it is required (a whole number).",
        "'one' is the text '1', which does not fit: it should be a whole number.",
    ]
    with pytest.raises(BadParameters, match="'two' is missing"):
        await tool.prepare({"one": 1}, furnished.tool_context())


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd"])
async def test_the_path_it_is_called_with_cannot_lead_out(furnished: PluginBench, path: str) -> None:
    with pytest.raises(OutsideWorkspace):
        await furnished.prepare("count_words", path=path)


async def test_a_role_that_may_less_than_the_tool_wants_gets_less(furnished: PluginBench) -> None:
    tool_context = furnished.tool_context(permissions=EVERYTHING - {Permission.CREATE_FILES})
    result = await furnished.call("shout", tool_context, path="a.txt")
    assert result.error is not None and result.error.code == "forbidden_by_role"
    assert tree(furnished.root) == {"a.txt": b"one two three\n"}


async def test_what_may_not_be_read_is_not_there_to_be_read(furnished: PluginBench) -> None:
    furnished.write("keys/deep/secret.txt", "hunter2")
    furnished.write("b.secret", "hunter2")
    hidden = HiddenPathRules(("/keys/**", "*.secret"), lambda path: path.startswith("keys") or path.endswith(".secret"))
    tool_context = furnished.tool_context(hidden=hidden)
    for path in ("keys/deep/secret.txt", "b.secret"):
        result = await furnished.call("count_words", tool_context, path=path)
        assert result.status is CallStatus.ERROR and (
            "PermissionError" in result.content or "NotFound" in result.content
        )
    assert (await furnished.call("count_words", tool_context, path="a.txt")).content == "3"
    assert (await furnished.call("shout", tool_context, path="a.txt")).status is CallStatus.OK
    assert (
        (furnished.root / "b.secret").read_text() == (furnished.root / "keys/deep/secret.txt").read_text() == "hunter2"
    )


async def test_workers_run_side_by_side_and_leave_nothing(furnished: PluginBench, tmp_path: Path) -> None:
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(furnished.call("add", one=number, two=1)) for number in range(3)]
    results = [task.result() for task in running]
    assert [result.content for result in results] == [f'{{\n  "sum": {number + 1}\n}}' for number in range(3)]
    assert list((tmp_path / "data" / "staging" / "runs").iterdir()) == []
