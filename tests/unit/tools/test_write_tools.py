import asyncio
import hashlib
import os
import stat
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import (
    FileExists,
    FileMissing,
    NoMatch,
    NotRead,
    NotText,
    StateChanged,
    ToolFault,
    WrongKind,
)
from anycowork.domain.tools import CallStatus, PathIntent
from anycowork.tools.text_edits import TextEdit, apply_edits, replace_lines
from anycowork.workspace.folder import Folder
from anycowork.workspace.text import TextFile
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def test_preparing_a_new_file_shows_all_and_changes_nothing(bench: ToolWorkspace) -> None:
    prepared = await bench.prepare("create_file", path="new/a.txt", content="hi\n")
    assert prepared.resource == "/new/a.txt" and prepared.state == "absent"
    assert prepared.intent is not None and prepared.intent.paths == (PathIntent("new/a.txt", None, sha("hi\n")),)
    assert prepared.diff == "--- /dev/null\n+++ b/new/a.txt\n@@ -0,0 +1,1 @@\n+hi\n"
    assert tree(bench.root) == {}
    result = await bench.run(prepared)
    assert (bench.root / "new/a.txt").read_text() == "hi\n"
    assert result.diff == prepared.diff
    assert result.facts == {"path": "new/a.txt", "before": None, "after": sha("hi\n"), "additions": 1, "deletions": 0}


async def test_an_existing_path_is_refused_before_anyone_is_asked(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "old")
    (bench.root / "dangling").symlink_to("nowhere")
    for path in ("a.txt", "dangling"):
        with pytest.raises(FileExists, match="exists already"):
            await bench.prepare("create_file", path=path, content="new")
    with pytest.raises(WrongKind):
        await bench.prepare("create_file", path="a.txt/below", content="new")


async def test_a_file_that_appears_after_preparing_is_not_overwritten(bench: ToolWorkspace) -> None:
    prepared = await bench.prepare("create_file", path="a.txt", content="mine")
    bench.write("a.txt", "theirs")
    with pytest.raises(StateChanged):
        await bench.run(prepared)
    assert tree(bench.root) == {"a.txt": b"theirs"}


@proves("LOOP-10/1")
async def test_a_whole_file_is_replaced_only_after_reading_it_as_it_is_now(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "first line\nsecond\n")
    with pytest.raises(NotRead, match="1: first line") as refused:
        await bench.prepare("update_file", path="a.txt", content="new\n")
    assert "read_file" in refused.value.message
    await bench.call("read_file", path="a.txt")
    result = await bench.call("update_file", path="a.txt", content="new\n")
    assert result.status is CallStatus.OK and result.facts["additions"] == 1 and result.facts["deletions"] == 2
    bench.write("a.txt", "changed by the user\n")
    with pytest.raises(NotRead, match="changed since"):
        await bench.prepare("update_file", path="a.txt", content="again\n")


@proves("LOOP-10/1")
async def test_a_part_of_a_file_does_not_count_as_read(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "1\n2\n3\n")
    await bench.call("read_file", path="a.txt", start_line=1, end_line=2)
    for whole in ({"content": "new\n"}, {"content": "new\n", "start_line": 1, "end_line": 3}):
        with pytest.raises(NotRead):
            await bench.prepare("update_file", path="a.txt", **whole)


async def test_the_users_own_words_may_replace_a_file_unread(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "old")
    bench.write("empty.txt", "")
    tool_context = bench.tool_context(user_text="Write this into a.txt:\nhello world\n and fill empty.txt please")
    await bench.call("update_file", tool_context, path="a.txt", content="hello world\n")
    await bench.call("update_file", tool_context, path="empty.txt", content="anything")
    assert tree(bench.root) == {"a.txt": b"hello world\n", "empty.txt": b"anything"}
    bench.write("other.txt", "")
    with pytest.raises(NotRead):
        await bench.prepare("update_file", tool_context, path="other.txt", content="not named")


async def test_edits_keep_bom_line_ends_mode_and_the_missing_newline(bench: ToolWorkspace) -> None:
    file = bench.write("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\nfour")
    file.chmod(0o755)
    result = await bench.call(
        "update_file",
        path="a.txt",
        edits=[{"find": "one\ntwo", "replace": "1\n2"}, {"find": "three", "replace": "3\n3"}],
    )
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3\r\n3\nfour"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert result.facts["after"] == hashlib.sha256(file.read_bytes()).hexdigest()


async def test_whole_content_takes_the_files_own_bom_and_line_ends(bench: ToolWorkspace) -> None:
    file = bench.write("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\n")
    await bench.call("read_file", path="a.txt")
    await bench.call("update_file", path="a.txt", content="x\ny")
    assert file.read_bytes() == b"\xef\xbb\xbfx\r\ny"


@pytest.mark.parametrize(
    ("before", "content", "wary", "after"),
    [
        (b"a\nb\n", "a\nc", True, b"a\nc\n"),
        (b"a\r\nb\r\n", "a\nc", True, b"a\r\nc\r\n"),
        (b"a\nb", "a\nc", True, b"a\nc"),
        (b"a\nb\n", "a\nc", False, b"a\nc"),
        (b"a\nb\n", "", True, b""),
    ],
)
async def test_a_small_models_whole_content_keeps_the_last_line_end_that_nobody_asked_to_remove(
    bench: ToolWorkspace, before: bytes, content: str, wary: bool, after: bytes
) -> None:
    file = bench.write("a.txt", before)
    await bench.call("read_file", path="a.txt")
    await bench.call("update_file", bench.tool_context(wary=wary), path="a.txt", content=content)
    assert file.read_bytes() == after


async def test_lines_are_replaced_by_number(bench: ToolWorkspace) -> None:
    file = bench.write("a.txt", "1\n2\n3\n4")
    await bench.call("update_file", path="a.txt", start_line=2, end_line=3, content="two and three")
    assert file.read_text() == "1\ntwo and three\n4"
    await bench.call("update_file", path="a.txt", start_line=1, end_line=1, content="")
    assert file.read_text() == "two and three\n4"
    with pytest.raises(NoMatch, match="2 lines"):
        await bench.prepare("update_file", path="a.txt", start_line=2, end_line=3, content="x")


async def test_no_match_shows_the_nearest_lines_with_their_numbers(bench: ToolWorkspace) -> None:
    bench.write("a.py", "import os\n\n\ndef total(items):\n    return sum(items)\n")
    with pytest.raises(NoMatch, match=r"4: def total\(items\):"):
        await bench.prepare("update_file", path="a.py", edits=[{"find": "def total(item):", "replace": "x"}])


async def test_an_edit_that_differs_by_its_indentation_alone_finds_its_place(bench: ToolWorkspace) -> None:
    bench.write("c.py", "class C:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n")
    edit = {"find": "def f(self):\n    return 1", "replace": "def f(self):\n    x = 1\n    return x"}
    await bench.call("update_file", path="c.py", edits=[edit])
    assert (bench.root / "c.py").read_text() == (
        "class C:\n    def f(self):\n        x = 1\n        return x\n\n    def g(self):\n        return 2\n"
    )


async def test_an_indented_edit_keeps_a_form_feed_and_other_characters_that_end_no_line(bench: ToolWorkspace) -> None:
    bench.write("c.py", "if x:\n    a = 1\n    b = '\u2028'\n")
    edit = {"find": "a = 1\nb = '\u2028'", "replace": "a = '\x0c'\nb = '\u2028\x85'"}
    await bench.call("update_file", path="c.py", edits=[edit])
    assert (bench.root / "c.py").read_text() == "if x:\n    a = '\x0c'\n    b = '\u2028\x85'\n"


@pytest.mark.parametrize(
    "find",
    ["  same", "def f():\n      return 1", "\n \n"],
    ids=["in several places", "indented otherwise inside", "of spaces alone"],
)
async def test_an_edit_whose_indentation_leaves_doubt_finds_none(bench: ToolWorkspace, find: str) -> None:
    text = "    same\n        same\ndef f():\n    return 1\n"
    bench.write("d.py", text)
    with pytest.raises(NoMatch):
        await bench.prepare("update_file", path="d.py", edits=[{"find": find, "replace": "new"}])


async def test_edits_are_made_all_or_none_and_a_refusal_shows_the_file_as_it_is(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "The colour red.\n")
    edits = [{"find": "colour", "replace": "color"}, {"find": "No colour.", "replace": "No color."}]
    with pytest.raises(NoMatch, match=r"Nothing was changed(.|\n)*The colour red"):
        await bench.prepare("update_file", path="a.txt", edits=edits)


async def test_several_matches_are_listed_by_line(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "x = 1\ny\nx = 1\n")
    with pytest.raises(NoMatch, match="lines 1, 3"):
        await bench.prepare("update_file", path="a.txt", edits=[{"find": "x = 1", "replace": "x = 2"}])
    bench.write("b.txt", "aaa")
    with pytest.raises(NoMatch, match="several"):
        await bench.prepare("update_file", path="b.txt", edits=[{"find": "aa", "replace": "b"}])


async def test_update_never_creates_and_never_touches_what_is_no_plain_text_file(bench: ToolWorkspace) -> None:
    bench.write("bin", b"\xff\0")
    bench.write("a", "x")
    os.link(bench.root / "a", bench.root / "b")
    (bench.root / "link").symlink_to("bin")
    before = tree(bench.root)
    for path, error in (("missing", FileMissing), ("bin", NotText), ("a", WrongKind), ("link", WrongKind)):
        with pytest.raises(error):
            await bench.prepare("update_file", path=path, edits=[{"find": "x", "replace": "y"}])
    assert tree(bench.root) == before


async def test_an_update_without_effect_is_said_to_have_none(bench: ToolWorkspace) -> None:
    bench.write("a", "x")
    with pytest.raises(ToolFault, match="nothing to do"):
        await bench.prepare("update_file", path="a", edits=[{"find": "x", "replace": "x"}])


async def test_a_file_changed_after_preparing_is_left_alone(bench: ToolWorkspace) -> None:
    file = bench.write("a", "x")
    prepared = await bench.prepare("update_file", path="a", edits=[{"find": "x", "replace": "y"}])
    assert prepared.state == sha("x")
    file.write_text("the user's edit")
    with pytest.raises(StateChanged):
        await bench.run(prepared)
    assert file.read_text() == "the user's edit"


@proves("LOOP-10/5")
@pytest.mark.parametrize(
    ("path", "good", "bad"),
    [("a.py", "x = 1\n", "def f(:\n"), ("a.json", '{"a": 1}', '{"a": }'), ("a.toml", "a = 1\n", "a = \n")],
)
async def test_what_was_edited_is_checked_mechanically(bench: ToolWorkspace, path: str, good: str, bad: str) -> None:
    made = await bench.call("create_file", path=path, content=good)
    assert made.facts["check"] == {"ok": True, "says": made.facts["check"]["says"]}  # type: ignore[index,call-overload]
    await bench.call("read_file", path=path)
    broken = await bench.call("update_file", path=path, content=bad)
    assert broken.facts["check"]["ok"] is False  # type: ignore[index,call-overload]
    assert "does not" in broken.content and (bench.root / path).read_text() == bad


async def test_a_file_too_deep_for_the_checker_is_not_called_broken(bench: ToolWorkspace) -> None:
    result = await bench.call("create_file", path="deep.json", content="[" * 100_000 + "]" * 100_000)
    assert result.status is CallStatus.OK and "check" not in result.facts


async def test_a_cancelled_write_is_over_before_the_cancellation_is_heard(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = await bench.prepare("create_file", path="a", content="x")
    entered, go_on = threading.Event(), threading.Event()
    create = Folder.create

    def slow(*arguments: object) -> None:
        entered.set()
        go_on.wait(60)
        create(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Folder, "create", slow)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(bench.run(prepared))
        await asyncio.to_thread(entered.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
    assert task.cancelled() and tree(bench.root) == {"a": b"x"}


BODY = st.lists(st.sampled_from(["a", "b", "é", "\n", "\r\n", "\r", " ", "x"]), max_size=40).map("".join)


@given(BODY, st.data())
def test_an_edit_changes_its_place_and_no_byte_around_it(body: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(body)))
    marked = body[:start] + "MARK" + body[start:]
    assert apply_edits(TextFile(marked), [TextEdit("MARK", "new")], "f").body == body[:start] + "new" + body[start:]


@given(st.lists(st.sampled_from(["a\n", "b\r\n", "\n"]), min_size=1, max_size=12), st.data())
def test_replacing_lines_leaves_the_others_as_they_were(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    new = replace_lines(TextFile("".join(lines)), start, end, "new\r\n", "f").body
    assert new == "".join([*lines[: start - 1], "new\r\n", *lines[end:]])
