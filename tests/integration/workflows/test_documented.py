"""What docs/workflows.md shows is true: its example runs, and its table lists what is built in."""

import re
from pathlib import Path

from anycowork.workflows.definition import read_definition
from anycowork.workflows.workflow_service import built_in_files
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves
from support.workflows import listed, progress, started, written

PAGE = (Path(__file__).parents[3] / "docs" / "workflows.md").read_text("utf-8")


@proves("WFL-3")
async def test_the_documented_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"````markdown\n(.*?)````", PAGE, re.DOTALL)
    written(tmp_path, release_notes=example)
    replies = [call("create_file", path="NOTES.md", content="# 1.2\nFaster.\n"), "Written.", "Yes, it is clear."]
    async with live_server(tmp_path, replies=replies, files={"CHANGELOG.md": "- made it faster\n"}) as client:
        assert (await listed(client, "release_notes"))["needs"] == ["create_files", "read_files"]
        chat = await client.chat()
        await started(chat, "release_notes", version="1.2")
        assert (await chat.rest())["state"] == "awaiting_answer"
        (question,) = await chat.of_type("question")
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "yes"}, expect=200)
        assert (await chat.rest())["state"] == "awaiting_approval"
        assert (await chat.decide())["state"] == "idle"
        assert (await progress(chat))[-1] == (4, "completed")
        assert (client.workspace / "NOTES.md").read_text() == "# 1.2\nFaster.\n"
        assert "Draft: true." in [m["content"] for m in await chat.messages() if m["role"] == "user"][2]


def test_the_table_lists_what_is_built_in_with_what_it_needs() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", PAGE.split("## Typing one")[0], re.MULTILINE))
    files = {file.path.removeprefix("builtin/").removesuffix(".md"): file.text or "" for file in built_in_files()}
    assert rows.keys() == files.keys()
    for name, text in files.items():
        needs = read_definition(f"{name}.md", text).declared or frozenset()
        told = set(rows[name].split(", ")) - {"nothing"}
        assert told == {permission.value.split("_")[0] for permission in needs}, name
