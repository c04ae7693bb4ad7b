"""Two hundred files of a workspace, written to be dear: what listing them costs, counted and not timed."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any  # what Python passes to a trace function

import pytest

from anycowork.domain.ports import SuppliedFile
from anycowork.domain.workflows import Source
from anycowork.tools.toolbox import built_in_tools
from anycowork.workflows.catalog import workflow_catalog
from anycowork.workspace import trusted_files as module
from anycowork.workspace.trusted_files import MOST_BYTES, supplied_files
from support.live_server import live_server
from support.spec import proves
from support.workflows import HEAD, supplied, trust

FOLDER = ".anycowork/workflows"
MOST_STEPS_OF_A_FILE = (
    1_000_000  # of the interpreter, for a file that is read for the first time: about 20 milliseconds
)
HEADER = '+++\ndescription = "x"\n+++\n'


def tool_step(number: int, **parameters: object) -> str:
    call = json.dumps({"tool": "read_file", "parameters": {"path": "a", **parameters}})
    return f"## Step {number}\n```tool\n{call}\n```\n"


def filled(start: str, repeated: str, end: str = "") -> str:
    """As large as a file may be."""
    return start + repeated * ((MOST_BYTES - len(start) - len(end)) // len(repeated)) + end


def numbered(count: int, text: str) -> str:
    return "".join(text.replace("N", str(number)) for number in range(count))


HOSTILE = {
    "lines": filled(HEADER, "## t\n```x\n```\n"),
    "sections with blocks": HEADER + "## t\n```x\n```\n" * 1_300,
    "blocks in few sections": HEADER + ("## t\n" + "```x\n```\n" * 65) * 30,
    "sections": HEADER + "## t\nx\n" * 1_900,
    "fences": HEADER + "```\n" * 3_990,
    "long fences": HEADER + "## t\nx\n" + "```` \n" * 3_980,
    "open comments": HEADER + "<!-- x\n" * 3_990,
    "closed comments": HEADER + "<!-- -->\n" * 3_990,
    "unknown keys in front": '+++\ndescription = "x"\n' + numbered(1_800, "kN=1\n") + "+++\n## t\nx",
    "tables": '+++\ndescription = "x"\n' + '[[parameters]]\nname="a"\n' * 600 + "+++\n## t\nx",
    "a long key": f'+++\ndescription = "x"\n{"n" * 16_000} = 1\n+++\n## t\nx',
    "dots": '+++\ndescription = "x"\n' + "a" + ".a" * 999 + " = 1\n+++\n## t\nx",
    "placeholders": filled('+++\ndescription="x"\n[[parameters]]\nname="a"\n+++\n## t\n', "{{a}} "),
    "misspelt placeholders": filled(HEAD, "{{A}} "),
    "words of a nested workflow": filled(HEADER + "## t\n```workflow\nw ", "ab", "\n```\n"),
    "values of a nested workflow": filled(HEADER + "## t\n```workflow\nw ", "a='' ", "\n```\n"),
    "keys of a call": HEADER + tool_step(1, **{f"k{number}": 1 for number in range(5_000)}),
    "a long kind of block": filled(HEADER + "## t\n```", "tool", "\nx\n```\n"),
    "options to stop on": HEADER
    + "## t\n```ask\n"
    + json.dumps(
        {
            "question": "x",
            "options": [{"label": "l", "value": f"v{number}"} for number in range(1_200)],
            "stop_on": ["v1199"] * 1_500,
        }
    )
    + "\n```\n",
}


@proves("WFL-1")
@pytest.mark.parametrize("shape", HOSTILE)
def test_no_file_takes_more_than_a_bounded_number_of_steps(shape: str) -> None:
    text = HOSTILE[shape]
    assert len(text) <= MOST_BYTES
    file = SuppliedFile(f"{FOLDER}/{shape.replace(' ', '_')}.md", text, "0")
    steps = interpreter_steps(
        lambda: workflow_catalog([(Source.WORKSPACE, [file])], built_in_tools(None, lambda: 5.0).find)
    )
    assert steps < MOST_STEPS_OF_A_FILE, f"{steps:,}"


@proves("WFL-1")
def test_calls_of_a_workflow_are_checked_once_however_many_others_run_it() -> None:
    """100 files with 30 calls each, and 100 that run 30 of them each: 3,000 calls, not 90,000."""
    calls = "".join(tool_step(number) for number in range(30))
    runs = "".join(f"## Run {number}\n```workflow\nw{number}\n```\n" for number in range(30))
    files = [
        SuppliedFile(f"{FOLDER}/w{number}.md", HEADER + (calls if number < 100 else runs), str(number))
        for number in range(200)
    ]
    toolbox = built_in_tools(None, lambda: 5.0)
    checked = called_functions(lambda: workflow_catalog([(Source.WORKSPACE, files)], toolbox.find))
    assert checked["problems"] == 100 * 30


@proves("WFL-1")
def test_files_that_did_not_change_are_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SETTLED", -1)  # as if the files had been written a while ago
    supplied(tmp_path, **{f"w{number:03}": HEAD + str(number) for number in range(200)})
    read = called_functions(lambda: supplied_files(str(tmp_path), FOLDER, ".md"))
    assert read["read"] >= 200
    read_again = called_functions(lambda: supplied_files(str(tmp_path), FOLDER, ".md"))
    assert read_again["read"] == 0 and read_again["openssl_sha256"] == 0
    supplied(tmp_path, w007=HEAD + "Other words.")
    assert "Other words." in str(supplied_files(str(tmp_path), FOLDER, ".md")[7].text)


@proves("WFL-1")
async def test_a_catalog_is_built_once_until_a_file_its_trust_or_a_tool_changes(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        supplied(client.workspace, mine=HEADER + tool_step(1), other=HEAD + "Say it.")
        workflows = client.server.services.workflows
        folder = str(client.workspace)
        first, *others = await asyncio.gather(*(workflows.catalog(folder) for _ in range(20)))
        assert all(catalog is first for catalog in others)
        await trust(client, client.workspace, "other")
        assert (await workflows.catalog(folder)).find("other").trusted
        supplied(client.workspace, other=HEAD + "Say something else.")
        changed = await workflows.catalog(folder)
        assert not changed.find("other").trusted and "something else" in str(changed.find("other").file.text)
        assert await workflows.catalog(folder) is changed


def interpreter_steps(action: Callable[[], object]) -> int:
    """Instructions that Python carries out, also those of a loop within one line."""
    steps = 0

    def see(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return see

    before = sys.gettrace()
    sys.settrace(see)
    try:
        action()
    finally:
        sys.settrace(before)
    return steps


def called_functions(action: Callable[[], object]) -> Counter[str]:
    calls: Counter[str] = Counter()

    def see(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1
        elif event == "c_call":
            calls[argument.__name__] += 1

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls
