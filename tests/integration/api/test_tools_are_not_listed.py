"""Tool definitions stay on the server: no answer, no page and no card holds the catalogue of tools."""

import re
from pathlib import Path

from anycowork.tools.toolbox import built_in_tools
from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.spec import proves
from support.toolspecs import SPECS

WEB = Path(__file__).parents[3] / "web" / "src"
EXCEPTION = "/enhanced"  # the enhanced prompt's text names the tools of a role


def described(text: str) -> list[str]:
    """The tools whose description stands in it: the first sentence is enough."""
    return [name for name, spec in SPECS.items() if spec.description.partition(". ")[0] in text]


async def answers(client: LiveServer, **values: str) -> dict[str, str]:
    """What every address that can be read answers, with these values in its path."""
    found = {}
    for path, methods in (await client.ask("GET", "/openapi.json"))["paths"].items():
        if "get" not in methods or path.endswith("/events"):
            continue
        address = path.format_map({name: values.get(name, "none") for name in _names(path)})
        async with client.session.get(client.url + address) as response:
            found[path] = await response.text(errors="replace")  # an export is a zip file
    return found


def _names(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


@proves("TOOL-1/2", "TOOL-1/4")
async def test_of_all_answers_only_the_enhanced_prompt_describes_tools(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("create_file", path="a.txt", content="x")]) as client:
        chat = await client.chat()
        await chat.send("create it")
        found = await answers(client, chat_id=chat.id, prompt_id="default")
        assert len(found) > 20 and "waiting_for" in found["/context/{chat_id}"]
        telling = {path for path, text in found.items() if described(text)}
        assert {path for path in telling if not path.endswith(EXCEPTION)} == set()
        assert any(path.endswith(EXCEPTION) for path in telling)
        listing = {path for path, text in found.items() if sum(f'"{name}"' in text for name in SPECS) > 2}
        assert listing == set(), "no answer lists the names of tools either"


@proves("TOOL-1/1")
def test_page_holds_no_tool_definition() -> None:
    sources = {
        str(path.relative_to(WEB)): path.read_text("utf-8") for path in WEB.rglob("*.ts*") if ".test." not in path.name
    }
    assert len(sources) > 100
    assert {name: found for name, text in sources.items() if (found := described(text))} == {}
    schemas = [name for name, text in sources.items() if "requires_approval" in text]
    assert schemas == []


def test_page_knows_no_tool_by_name() -> None:
    sources = {str(path.relative_to(WEB)): path.read_text("utf-8") for path in WEB.rglob("*.ts*") if _is_page(path)}
    assert len(sources) > 100
    named = {
        name: found
        for name, text in sources.items()
        if (found := [tool for tool in SPECS if re.search(rf"""["'`]{tool}["'`]|\b{tool}:""", text)])
    }
    assert named == {}


def _is_page(path: Path) -> bool:
    return ".test." not in path.name and path.name != "api.gen.ts" and path.parent.name != "testing"


async def test_a_tool_that_a_call_names_says_how_it_is_shown(tmp_path: Path) -> None:
    toolbox = built_in_tools(None, command_timeout=lambda: 5.0)
    async with live_server(tmp_path) as client:
        shown = {name: await client.ask("GET", f"/calls/{name}/display") for name in SPECS}
        others = {name for name, display in shown.items() if display["kind"] == "other"}
        assert others == set(), "every tool of ours says what it does"
        for name, display in shown.items():
            properties = SPECS[name].schema["properties"]
            assert isinstance(properties, dict)
            assert display["subject"] and set(display["subject"]) <= set(properties), name
            assert display["target"] and set(display["target"]) <= set(display["example"]), name
            tool = toolbox.find(name)
            assert tool is not None and tool.problems(display["example"]) == [], name
        assert shown["move_file"]["subject"] == ["path", "to"]
        gone = await client.ask("GET", "/calls/no_such_tool/display")
        assert gone == {"kind": "other", "subject": [], "target": [], "example": {}}


@proves("TOOL-1/3")
async def test_approval_card_shows_the_call_and_nothing_of_the_catalogue(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("create_file", path="a.txt", content="x")]) as client:
        chat = await client.chat()
        await chat.send("create it")
        (asked,) = await chat.approvals()
        assert asked["tool"] == "create_file" and asked["parameters"] == {"path": "a.txt", "content": "x"}
        others = [name for name in SPECS if name != "create_file" and name in str(asked)]
        assert others == [] and described(str(asked)) == []
        assert not {"schema", "permissions", "category", "description"} & set(asked)
        (event,) = [one for one in await chat.events("permission-request") if one["type"] == "permission-request"]
        assert [name for name in SPECS if name != "create_file" and name in str(event)] == []
