"""The worked calls of our prompts are found in the texts themselves, and never become deeds that nobody asked for."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from anycowork.config.settings import ProviderEntry
from anycowork.domain.tools import Parameters
from anycowork.prompts.examples import examples_in, is_asked_for, repeated_example
from anycowork.prompts.text_files import prose
from support.live_server import live_server
from support.scripted_model import call

READS = {"read_file", "grep", "list_directory", "search_files"}


def texts() -> list[str]:
    root = Path(str(files("anycowork.prompts").joinpath("texts")))
    return [str(path.relative_to(root).with_suffix("")) for path in sorted(root.rglob("*.md"))]


def worked_calls(name: str) -> list[tuple[str, str, Parameters]]:
    """Request, tool and parameters of every line of a text that is a call."""
    found, request = [], ""
    for line in prose(name).splitlines():
        if line.startswith("Person:"):
            request = line.removeprefix("Person:")
        if line.startswith('{"tool"'):
            one = json.loads(line)
            found.append((request, one["tool"], one["parameters"]))
    return found


@pytest.mark.parametrize("name", texts())
def test_every_example_that_changes_something_is_known_and_asked_for_by_its_own_request_alone(name: str) -> None:
    for request, tool, parameters in worked_calls(name):
        if tool in READS:
            continue
        example = repeated_example(prose(name), tool, parameters)
        assert example is not None and example.names, (name, parameters)
        assert is_asked_for(example, request) or name == "brief/tester", "a tester tries what is there"
        assert not is_asked_for(example, "Sort the list of members by age, and save it in members.csv."), example


def test_the_texts_hold_examples_at_all() -> None:
    assert sum(len(examples_in(prose(name))) for name in texts()) > 10


@pytest.mark.parametrize(
    ("copied", "asked", "refused"),
    [
        (call("create_file", path="notes/today.txt", content="hello\n"), "Sort the members by age.", True),
        (call("create_file", path="./notes/today.txt", content="other words\n"), "Sort the members by age.", True),
        (call("execute_command", command="echo hello > notes/today.txt"), "Sort the members by age.", True),
        (call("execute_command", command="find . -name '*.tmp' -delete"), "Sort the members by age.", True),
        (call("create_file", path="notes/today.txt", content="hello\n"), "Write hello into today.txt in notes.", False),
        (call("execute_command", command="find . -name '*.tmp' -delete"), "Please remove every .tmp file", False),
        (call("create_file", path="notes/later.txt", content="hello\n"), "Sort the members by age.", False),
    ],
)
async def test_a_small_model_that_carries_out_an_example_is_refused(
    tmp_path: Path, copied: str, asked: str, refused: bool
) -> None:
    async with live_server(tmp_path, replies=[copied, *['{"answer": "Done."}'] * 5], files={"x.tmp": "x"}) as client:
        small = ProviderEntry(name="scripted", base_url=client.model.base_url, models=("scripted",), brief=True)
        await client.ask("PUT", "/settings", {"providers": [small.model_dump(mode="json")]}, expect=200)
        chat = await client.chat()
        await chat.send(asked)
        if refused:
            assert [result["error"]["code"] for result in await chat.results()][:1] == ["copied_example"]
            assert await chat.approvals() == [] and not (client.workspace / "notes").exists()
        else:
            assert [one["tool"] for one in await chat.approvals()] == [json.loads(copied)["tool"]], "asked as ever"
