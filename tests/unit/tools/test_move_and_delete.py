import pytest

from anycowork.domain.errors import FileExists, FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.tools import PathIntent
from support.tool_workspace import ToolWorkspace, tree


async def test_a_file_moves_into_folders_that_are_made_for_it(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "x")
    prepared = await bench.prepare("move_file", path="a.txt", to="new/b.txt")
    digest = prepared.state
    assert prepared.resource == "/a.txt" and prepared.diff == "rename from a.txt\nrename to new/b.txt\n"
    assert prepared.intent is not None
    assert prepared.intent.paths == (PathIntent("a.txt", digest, None), PathIntent("new/b.txt", None, digest))
    assert tree(bench.root) == {"a.txt": b"x"}
    result = await bench.run(prepared)
    assert tree(bench.root) == {"new": "folder", "new/b.txt": b"x"}
    assert result.facts["path"] == "a.txt" and result.facts["to"] == "new/b.txt"


async def test_a_folder_moves_whole(bench: ToolWorkspace) -> None:
    bench.write("src/a.txt", "x")
    bench.write("src/deep/b.txt", "y")
    prepared = await bench.prepare("move_file", path="src", to="lib")
    assert prepared.intent is not None and {p.path for p in prepared.intent.paths if p.after} == {
        "lib/a.txt",
        "lib/deep/b.txt",
    }
    await bench.run(prepared)
    assert tree(bench.root) == {"lib": "folder", "lib/a.txt": b"x", "lib/deep": "folder", "lib/deep/b.txt": b"y"}


async def test_nothing_is_overwritten_by_moving(bench: ToolWorkspace) -> None:
    bench.write("a", "a")
    bench.write("b", "b")
    bench.write("d/x", "x")
    before = tree(bench.root)
    with pytest.raises(FileExists):
        await bench.prepare("move_file", path="a", to="b")
    with pytest.raises(FileExists, match="'d/a'"):
        await bench.prepare("move_file", path="a", to="d")
    with pytest.raises(ToolFault, match="inside it"):
        await bench.prepare("move_file", path="d", to="d/e")
    prepared = await bench.prepare("move_file", path="a", to="c")
    bench.write("c", "c")
    with pytest.raises(FileExists):
        await bench.run(prepared)
    assert tree(bench.root) == {**before, "c": b"c"}


async def test_a_move_of_something_changed_meanwhile_is_refused(bench: ToolWorkspace) -> None:
    bench.write("a", "a")
    bench.write("d/x", "x")
    file, folder = (
        await bench.prepare("move_file", path="a", to="b"),
        await bench.prepare("move_file", path="d", to="e"),
    )
    bench.write("a", "changed")
    bench.write("d/y", "new")
    for prepared in (file, folder):
        with pytest.raises(StateChanged):
            await bench.run(prepared)
    assert set(tree(bench.root)) == {"a", "d", "d/x", "d/y"}


async def test_a_folder_with_a_repository_in_it_is_not_moved(bench: ToolWorkspace) -> None:
    bench.write("project/vendor/.git/config", "x")
    with pytest.raises(OutsideWorkspace, match="git repository"):
        await bench.prepare("move_file", path="project", to="elsewhere")


async def test_a_file_is_deleted_with_its_content_in_the_diff(bench: ToolWorkspace) -> None:
    bench.write("a", "one\ntwo\n")
    prepared = await bench.prepare("delete_file", path="a")
    assert prepared.intent is not None and prepared.intent.paths == (PathIntent("a", prepared.state, None),)
    assert prepared.diff is not None and "-one\n-two\n" in prepared.diff
    result = await bench.run(prepared)
    assert tree(bench.root) == {} and result.facts["deletions"] == 2


async def test_only_empty_folders_are_deleted(bench: ToolWorkspace) -> None:
    bench.write("full/a")
    bench.write("full/b")
    (bench.root / "empty").mkdir()
    await bench.call("delete_file", path="empty")
    with pytest.raises(WrongKind, match="2 entries"):
        await bench.prepare("delete_file", path="full")
    with pytest.raises(FileMissing):
        await bench.prepare("delete_file", path="gone")
    assert set(tree(bench.root)) == {"full", "full/a", "full/b"}


async def test_a_deletion_of_something_changed_meanwhile_is_refused(bench: ToolWorkspace) -> None:
    bench.write("a", "a")
    (bench.root / "d").mkdir()
    file, folder = await bench.prepare("delete_file", path="a"), await bench.prepare("delete_file", path="d")
    bench.write("a", "changed")
    bench.write("d/new", "x")
    with pytest.raises(StateChanged):
        await bench.run(file)
    with pytest.raises(ToolFault):
        await bench.run(folder)
    assert tree(bench.root) == {"a": b"changed", "d": "folder", "d/new": b"x"}


async def test_a_folder_is_known_by_its_slash_or_by_the_person_s_words(bench: ToolWorkspace) -> None:
    bench.write("notes.txt", "x")

    async def target(to: str, words: str = "") -> str:
        prepared = await bench.prepare("move_file", bench.tool_context(user_text=words), path="notes.txt", to=to)
        assert prepared.intent is not None
        return prepared.intent.paths[1].path

    assert await target("docs/") == "docs/notes.txt"
    assert await target("docs") == "docs"  # nobody called it a folder
    said = "Move notes.txt into the folder docs."
    assert await target("docs", said) == "docs/notes.txt"
    assert await target("docs/notes.txt", said) == "docs/notes.txt"
