import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest

import anycowork
from anycowork.plugins import PluginFunction, ToolError, tool
from support.spec import proves

SRC = Path(anycowork.__file__).parents[1]


class Unit(StrEnum):
    KELVIN = "K"
    CELSIUS = "C"


@proves("TOOL-2")
def test_a_tool_is_described_by_its_function() -> None:
    @tool
    def count_words(path: Annotated[str, "a text file"], longest: int | None = None) -> str:
        """Count the words
        of a file.

        How it does so is nobody's business.
        """
        return f"{path} {longest}"

    assert isinstance(count_words, PluginFunction)
    assert (count_words.name, count_words.category) == ("count_words", "plugins")
    assert count_words.description == "Count the words of a file."
    assert count_words.permissions == ("read_files",) and not count_words.requires_approval
    assert count_words.schema == {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "a text file"}, "longest": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": False,
    }
    assert count_words("a", longest=2) == "a 2", "it is still the function that it was"


def test_what_is_given_counts_more_than_what_the_function_says() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}

    @tool(name="other", description="Another.", category="text", permissions=["create_files"], schema=schema)
    def some(n):  # type: ignore[no-untyped-def]
        return n

    assert (some.name, some.description, some.category) == ("other", "Another.", "text")
    assert some.schema == schema and some.permissions == ("create_files",)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (float, {"type": "number"}),
        (list, {"type": "array"}),
        (list[list[int]], {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        (dict[str, int], {"type": "object"}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Unit, {"type": "string", "enum": ["K", "C"]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Annotated[int | None, "how many"], {"type": "integer", "description": "how many"}),
    ],
)
def test_annotations_become_json(hint: object, schema: dict[str, object]) -> None:
    def some(given): ...  # type: ignore[no-untyped-def]

    some.__annotations__ = {"given": hint}
    assert tool(some).schema["properties"] == {"given": schema}  # type: ignore[index]


def unannotated(given): ...  # type: ignore[no-untyped-def]
def foreign(given: Path) -> None: ...
def anything(**given: int) -> None: ...
def positional(given: int, /) -> None: ...


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (unannotated, "'given' has no annotation; write one, or give a schema"),
        (foreign, "'given' has no JSON equivalent"),
        (anything, "given by name"),
        (positional, "given by name"),
    ],
)
def test_what_cannot_be_described_says_so_and_the_way_out(function: object, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        _ = tool(function).schema  # type: ignore[arg-type]


def test_a_default_makes_a_parameter_optional_wherever_it_stands() -> None:
    @tool
    def some(one: int, two: int = 2, *, three: int, four: int = 4) -> None: ...

    assert some.schema["required"] == ["one", "three"]


@proves("TOOL-5")
def test_what_authors_import_loads_nothing_of_the_server_or_of_others() -> None:
    code = f"import sys; sys.path.append({str(SRC)!r}); import anycowork.plugins.worker; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.startswith("anycowork")}
    assert ours == {"anycowork", "anycowork.plugins", "anycowork.plugins.schemas", "anycowork.plugins.worker"}
    assert {name.partition(".")[0] for name in loaded - ours} <= sys.stdlib_module_names | {"__main__"}
    assert issubclass(ToolError, Exception)
