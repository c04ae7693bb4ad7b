import hashlib
import os

import pytest

from anycowork.domain.errors import FileMissing, NoMatch, WrongKind
from anycowork.tools import read_tools
from support.spec import proves
from support.tool_workspace import ToolWorkspace


async def test_a_file_is_read_as_it_is_with_its_hash(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "one\r\ntwo\nthree")
    result = await bench.call("read_file", path="a.txt")
    assert result.content == "one\r\ntwo\nthree"
    assert result.facts == {
        "path": "a.txt",
        "sha256": hashlib.sha256(b"one\r\ntwo\nthree").hexdigest(),
        "bytes": 14,
        "lines": 3,
        "whole": True,
    }


async def test_lines_are_counted_from_one_and_both_ends_are_included(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "1\n2\n3\n4\n")
    part = await bench.call("read_file", path="a.txt", start_line=2, end_line=3)
    assert part.content == "2\n3\n" and part.facts["whole"] is False and part.facts["lines"] == 4
    assert (await bench.call("read_file", path="a.txt", start_line=3, end_line=99)).content == "3\n4\n"
    assert (await bench.call("read_file", path="a.txt", end_line=4)).facts["whole"] is True
    with pytest.raises(NoMatch, match="only 4 lines"):
        await bench.call("read_file", path="a.txt", start_line=5)


async def test_an_encoding_that_changes_nothing_is_taken_and_another_is_not(bench: ToolWorkspace) -> None:
    bench.write("a.txt", "é\n")
    assert (await bench.call("read_file", path="a.txt", encoding="utf-8")).content == "é\n"
    tool = bench.toolbox.find("read_file")
    assert tool is not None and "encoding" not in str(tool.spec.schema)
    (problem,) = tool.problems({"path": "a.txt", "encoding": "latin-1"})
    assert "'encoding' is the text 'latin-1'" in problem
    (problem,) = tool.problems({"path": "a.txt", "offset": 3})
    assert problem.endswith("the parameters are path, start_line, end_line.")


async def test_an_empty_file_is_read_whole(bench: ToolWorkspace) -> None:
    bench.write("a.txt")
    result = await bench.call("read_file", path="a.txt")
    assert (result.content, result.facts["whole"], result.facts["lines"]) == ("", True, 0)


@pytest.mark.parametrize(
    ("data", "kind"), [(b"\x89PNG\r\n\0", "PNG"), (b"\xff\xfea\0", "UTF-16"), (b"caf\xe9", "binary")]
)
async def test_what_is_not_text_is_described_and_not_shown(bench: ToolWorkspace, data: bytes, kind: str) -> None:
    bench.write("thing", data)
    result = await bench.call("read_file", path="thing")
    assert kind in result.content and "not text" in result.content and result.facts["whole"] is False
    assert hashlib.sha256(data).hexdigest() in result.content


async def test_a_huge_file_is_described_and_its_lines_can_be_read(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_tools, "LARGEST_READ", 1000)
    data = "".join(f"line {n}\n" for n in range(1, 1001)).encode()
    bench.write("big.log", data)
    whole = await bench.call("read_file", path="big.log")
    assert "too large" in whole.content and whole.facts["lines"] == 1000 and whole.facts["whole"] is False
    part = await bench.call("read_file", path="big.log", start_line=500, end_line=501)
    assert part.content == "line 500\nline 501\n" and part.facts["sha256"] == hashlib.sha256(data).hexdigest()


async def test_a_wrong_name_is_answered_with_the_nearest_one(bench: ToolWorkspace) -> None:
    bench.write("src/settings.py")
    with pytest.raises(FileMissing, match=r"Did you mean 'src/settings\.py'"):
        await bench.call("read_file", path="src/setings.py")
    with pytest.raises(FileMissing, match="list_directory"):
        await bench.call("read_file", path="nowhere/x.py")


async def test_folders_and_pipes_are_not_read(bench: ToolWorkspace) -> None:
    os.mkfifo(bench.root / "pipe")
    for path in (".", "pipe"):
        with pytest.raises(WrongKind):
            await bench.call("read_file", path=path)


async def test_the_resource_is_where_a_link_leads(bench: ToolWorkspace) -> None:
    bench.write("secret/key")
    (bench.root / "innocent").symlink_to("secret/key")
    assert (await bench.prepare("read_file", path="innocent")).resource == "/secret/key"


async def test_a_listing_ignores_as_git_does_unless_asked(bench: ToolWorkspace) -> None:
    for path in ("a.py", "a.pyc", "sub/b.py", "sub/deep/c.py", ".git/config", "odd\nname"):
        bench.write(path)
    bench.write(".gitignore", "*.pyc\n")
    (bench.root / "link").symlink_to("/etc")
    shallow = await bench.call("list_directory", path=".")
    assert shallow.content.split("\n") == [".gitignore", "a.py", "link (symbolic link)", "odd\\nname", "sub/"]
    deep = await bench.call("list_directory", path="sub", depth=2)
    assert deep.content.split("\n") == ["b.py", "deep/", "deep/c.py"]
    everything = await bench.call("list_directory", path=".", depth=2, include_ignored=True)
    assert {"a.pyc", ".git/", ".git/config"} <= set(everything.content.split("\n"))


async def test_a_listing_is_bounded_and_says_so(bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_tools, "MOST_LISTED", 3)
    for n in range(5):
        bench.write(f"{n}")
    result = await bench.call("list_directory", path=".")
    assert result.content.split("\n")[:3] == ["0", "1", "2"] and result.facts["cut"] is True and "cut" in result.content


async def test_info_tells_kind_size_mode_and_hash(bench: ToolWorkspace) -> None:
    bench.write("a.sh", "x\ny\n").chmod(0o750)
    facts = (await bench.call("get_file_info", path="a.sh")).facts
    assert (facts["kind"], facts["bytes"], facts["mode"], facts["lines"]) == ("file", 4, "750", 2)
    assert facts["sha256"] == hashlib.sha256(b"x\ny\n").hexdigest()
    assert (await bench.call("get_file_info", path=".")).facts["entries"] == 1


@proves("TOOL-2")
async def test_reading_tools_prepare_no_intent(bench: ToolWorkspace) -> None:
    bench.write("a.txt")
    for tool, parameters in (
        ("read_file", {"path": "a.txt"}),
        ("list_directory", {"path": "."}),
        ("grep", {"pattern": "x"}),
    ):
        prepared = await bench.prepare(tool, **parameters)
        assert prepared.intent is None and prepared.diff is None


async def test_code_that_does_not_parse_is_remarked_on_and_its_text_stays_as_it_is(bench: ToolWorkspace) -> None:
    bench.write("broken.py", "for x in y\n    pass\n")
    broken = await bench.call("read_file", path="broken.py")
    assert broken.content == "for x in y\n    pass\n" and "line 1" in str(broken.facts["remark"])
    bench.write("fine.py", "x = 1\n")
    assert "remark" not in (await bench.call("read_file", path="fine.py")).facts


async def test_a_listing_is_counted_by_kind(bench: ToolWorkspace) -> None:
    for path in ("a.py", "b.py", "c.txt", "sub/d.py", "Makefile"):
        bench.write(path)
    counted = (await bench.call("list_directory", path=".")).facts["remark"]
    assert counted == "4 files: 2 .py, 1 .txt, 1 no suffix." or counted == "4 files: 2 .py, 1 no suffix, 1 .txt."
    assert "remark" not in (await bench.call("list_directory", path="sub")).facts


async def test_a_file_of_many_gigabytes_is_told_by_its_size(bench: ToolWorkspace) -> None:
    """Sparse, it is nothing on the disk; reading it through would take minutes."""
    path = bench.write("huge.log", "first\nsecond\n")
    os.truncate(path, 60 << 30)
    result = await bench.call("read_file", path="huge.log")
    assert f"{60 << 30:,} bytes" in result.content and result.facts["whole"] is False
    assert "sha256" not in result.facts, "nothing is said of what was not read"
    info = await bench.call("get_file_info", path="huge.log")
    assert info.facts["bytes"] == 60 << 30 and "sha256" not in info.facts
    beyond = await bench.call("read_file", path="huge.log", start_line=50, end_line=60)
    assert f"{60 << 30:,} bytes" in beyond.content
    lines = await bench.call("read_file", path="huge.log", start_line=1, end_line=2)
    assert lines.content == "first\nsecond\n"
