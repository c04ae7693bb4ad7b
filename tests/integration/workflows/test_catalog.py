"""What GET /workflows shows: the built-in ones, the data folder's, and what a workspace supplies once a person trusts it."""

from pathlib import Path

from support.live_server import live_server
from support.spec import proves
from support.workflows import BUILT_IN, HEAD, faults, listed, names, progress, started, supplied, trust, written

OWN = '+++\ndescription = "Own."\ncategory = "house"\n+++\n## Go\n\nSay who wrote this: {whose}.\n'


def own(whose: str) -> str:
    return OWN.replace("{whose}", whose)


@proves("WFL-1")
async def test_every_built_in_workflow_is_listed_with_all_that_a_form_needs(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        assert await names(client) == set(BUILT_IN) and await faults(client) == []
        explain = await listed(client, "explain_code")
        assert explain["parameters"] == [
            {"name": "path", "type": "path", "description": "the file or folder to explain", "required": True},
            {
                "name": "depth",
                "type": "string",
                "description": "how far to go",
                "required": False,
                "default": "brief",
                "choices": ["brief", "thorough"],
            },
            {
                "name": "question",
                "type": "string",
                "description": "what you want to know above all",
                "required": False,
                "default": "What does it do, and how do its parts work together?",
            },
        ]
        assert explain["usage"] == "/explain_code path=<path> [depth=brief|thorough] [question=<string>]"
        assert (explain["source"], explain["trusted"], explain["needs"]) == ("built_in", True, ["read_files"])
        assert explain["steps"] == [{"title": "Explain {{path}}", "kind": "prompt"}]


@proves("WFL-1")
async def test_categories_hold_their_workflows(tmp_path: Path) -> None:
    written(tmp_path, own=own("me"))
    async with live_server(tmp_path) as client:
        found = (await client.ask("GET", "/workflows/categories"))["categories"]
        grouped = {one["name"]: [each["name"] for each in one["workflows"]] for one in found}
        assert list(grouped) == sorted(grouped) and grouped["house"] == ["own"]
        assert {name for names in grouped.values() for name in names} == {*BUILT_IN, "own"}


async def test_one_is_shown_with_its_whole_text(tmp_path: Path) -> None:
    written(tmp_path, own=own("me"))
    async with live_server(tmp_path) as client:
        shown = await client.ask("GET", "/workflows/own")
        assert shown["content"] == own("me") and shown["source"] == "data"


@proves("WFL-3")
async def test_a_faulty_file_is_told_with_its_line_and_the_rest_still_loads(tmp_path: Path, caplog) -> None:
    written(tmp_path, own=own("me"), broken='+++\ndescription = "x"\n+++\n## Go\n```tool\n{"tool": 1}\n```\n')
    async with live_server(tmp_path) as client:
        assert "own" in await names(client)
        (fault,) = await faults(client)
        assert (fault["path"], fault["line"], fault["source"]) == ("workflows/broken.md", 5, "data")
        await client.ask("GET", "/workflows")
        assert len([record for record in caplog.records if "broken.md:5" in record.message]) == 1
        await client.ask("GET", "/workflows/broken", expect=404)


@proves("WFL-2", "WFL-3")
async def test_who_asks_for_one_that_was_left_out_is_told_where_and_why(tmp_path: Path) -> None:
    written(tmp_path, broken='+++\ndescription = "x"\n+++\n## Go\nto {{place}}\n')
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        refused = [
            await client.ask("GET", "/workflows/broken", expect=404),
            await started(chat, "broken", expect=404),
            await client.ask("POST", f"{chat.path}/messages", {"content": "/broken"}, expect=422),
        ]
        for answer in refused:
            assert "workflows/broken.md:5: '{{place}}' is no parameter" in answer["error"]["message"]


@proves("WFL-2", "WFL-3")
async def test_parameters_that_can_never_fit_are_told_before_anybody_runs_it(tmp_path: Path) -> None:
    call = '```tool\n{"tool": "create_file", "parameters": %s}\n```\n'
    asks = HEAD.replace("+++\n##", '[[parameters]]\nname = "who"\n+++\n##')
    written(
        tmp_path,
        misspelt=HEAD + call % '{"pth": "a.txt", "content": "x"}',
        filled=asks + call % '{"path": "{{who}}", "content": "x"}',
        greet=asks + "Greet {{who}}.\n",
        wrong_key=HEAD + "```workflow\ngreet whom=Ann\n```\n",
        no_key=HEAD + "```workflow\ngreet\n```\n",
    )
    async with live_server(tmp_path) as client:
        told = {Path(fault["path"]).stem: (fault["line"], fault["reason"]) for fault in await faults(client)}
        assert told == {
            "misspelt": (4, "the call of create_file does not fit: 'path' is missing; it is required (text)"),
            "wrong_key": (4, "'whom' is not a parameter of 'greet' (it takes: who)"),
            "no_key": (4, "'greet' needs 'who', which is not given to it"),
        }


async def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["By you."]) as client:
        chat = await client.chat()
        await started(chat, "own", expect=404)
        written(tmp_path, own=own("me"))
        assert (await listed(client, "own"))["category"] == "house"
        written(tmp_path, own=own("you"))
        await started(chat, "own")
        await chat.rest()
        assert (await chat.messages())[1]["content"] == "Say who wrote this: you."


async def test_unknown_tools_and_workflows_and_deeper_levels_are_faults(tmp_path: Path) -> None:
    written(
        tmp_path,
        flies=HEAD + '```tool\n{"tool": "fly", "parameters": {}}\n```\n',
        nowhere=HEAD + "```workflow\ngone\n```\n",
        a=HEAD + "```workflow\nb\n```\n",
        b=HEAD + "```workflow\nc\n```\n",
        c=HEAD + "Go.\n",
        ping=HEAD + "```workflow\npong\n```\n",
        pong=HEAD + "```workflow\nping\n```\n",
        twin='+++\nname = "c"\ndescription = "x"\n+++\n## Go\nGo.\n',
    )
    async with live_server(tmp_path) as client:
        told = {Path(fault["path"]).stem: (fault["line"], fault["reason"]) for fault in await faults(client)}
        assert set(told) == {"flies", "nowhere", "a", "ping", "pong", "twin"}
        assert told["flies"] == (4, "there is no tool 'fly'")
        assert "one level" in told["a"][1] and "one level" in told["ping"][1] and "c.md too" in told["twin"][1]
        assert {"b", "c"} <= await names(client)


async def test_what_a_workflow_needs_counts_its_tools_and_those_of_the_one_it_runs(tmp_path: Path) -> None:
    head = '+++\ndescription = "x"\nneeds = []\n+++\n## Go\n'
    written(
        tmp_path,
        inner=head + '```tool\n{"tool": "delete_file", "parameters": {"path": "a"}}\n```\n',
        outer=head + "```workflow\ninner\n```\n",
    )
    async with live_server(tmp_path) as client:
        assert (await listed(client, "inner"))["needs"] == ["delete_files", "read_files"]
        assert (await listed(client, "outer"))["needs"] == ["delete_files", "read_files"]


# --- what a workspace supplies


@proves("SEC-4")
async def test_a_workspaces_workflow_is_listed_untrusted_and_runs_only_after_a_person_trusted_it(
    tmp_path: Path,
) -> None:
    async with live_server(tmp_path, replies=["By them."]) as client:
        supplied(client.workspace, theirs=own("them"))
        seen = await listed(client, "theirs")
        assert (seen["source"], seen["trusted"]) == ("workspace", False)
        assert seen["path"] == ".anycowork/workflows/theirs.md"
        assert (await client.ask("GET", "/workflows/theirs"))["content"] == own("them")
        chat = await client.chat()
        refused = await started(chat, "theirs", expect=403)
        assert refused["error"]["code"] == "not_trusted"
        assert seen["sha256"] in refused["error"]["message"] and "POST /workspaces" in refused["error"]["message"]
        typed = await client.ask("POST", f"{chat.path}/messages", {"content": "/theirs"}, expect=403)
        assert typed["error"]["code"] == "not_trusted" and await chat.messages() == []
        (root,) = (await client.ask("GET", "/workspaces"))["workspaces"]
        waiting = {"kind": "workflow", "path": seen["path"], "sha256": seen["sha256"], "trusted": False}
        assert root["supplies"] == [waiting]
        answered = await trust(client, client.workspace, "theirs")
        assert answered["supplies"] == [{**waiting, "trusted": True}]
        await started(chat, "theirs")
        assert (await chat.rest())["state"] == "idle" and (await progress(chat))[-1] == (1, "completed")


@proves("SEC-4")
async def test_a_change_asks_for_trust_again_and_trust_can_be_taken_back(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        supplied(client.workspace, theirs=own("them"))
        await trust(client, client.workspace, "theirs")
        old = await listed(client, "theirs")
        assert old["trusted"]
        supplied(client.workspace, theirs=own("someone else"))
        assert not (await listed(client, "theirs"))["trusted"]
        stale = {"workspace": str(client.workspace), "path": old["path"], "sha256": old["sha256"]}
        refused = await client.ask("POST", "/workspaces", {"trust": stale}, expect=409)
        assert refused["error"]["code"] == "content_changed"
        supplied(client.workspace, theirs=own("them"))
        assert (await listed(client, "theirs"))["trusted"], "it is the very content that was trusted"
        await client.ask("POST", "/workspaces", {"trust": {**stale, "sha256": None}}, expect=201)
        assert not (await listed(client, "theirs"))["trusted"]
        await client.ask("POST", "/workspaces", {"trust": {**stale, "sha256": None}}, expect=404)


@proves("SEC-4")
async def test_trust_survives_a_restart(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        supplied(client.workspace, theirs=own("them"))
        await trust(client, client.workspace, "theirs")
    async with live_server(tmp_path) as client:
        assert (await listed(client, "theirs"))["trusted"]


async def test_a_folder_below_a_root_has_its_own_and_trust_is_for_it_alone(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        below, other = client.workspace / "below", client.workspace / "other"
        for folder in (below, other):
            supplied(folder, theirs=own("them"))
        chat = await client.chat(workspace=str(below))
        await trust(client, below, "theirs")
        assert (await listed(client, "theirs", context_id=chat.id))["trusted"]
        assert not (await listed(client, "theirs", workspace=str(other)))["trusted"]
        assert "theirs" not in await names(client)


async def test_the_nearer_one_wins_once_it_is_trusted(tmp_path: Path) -> None:
    written(tmp_path, own=own("me"))
    async with live_server(tmp_path, replies=["a", "b"]) as client:
        supplied(client.workspace, own=own("them"))
        chat = await client.chat()
        await started(chat, "own")
        await chat.rest()
        both = [one for one in (await client.ask("GET", "/workflows"))["workflows"] if one["name"] == "own"]
        assert sorted((one["source"], one["trusted"]) for one in both) == [("data", True), ("workspace", False)]
        theirs = next(one for one in both if not one["trusted"])
        requested = {"workspace": str(client.workspace), "path": theirs["path"], "sha256": theirs["sha256"]}
        await client.ask("POST", "/workspaces", {"trust": requested}, expect=201)
        assert (await listed(client, "own"))["source"] == "workspace"
        await started(chat, "own")
        await chat.rest()
        asked = [m["content"] for m in await chat.messages() if m["content"].startswith("Say")]
        assert asked == ["Say who wrote this: me.", "Say who wrote this: them."]


async def test_one_request_registers_or_trusts_and_never_both(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        await client.ask("POST", "/workspaces", {}, expect=422)
        requested = {"workspace": str(client.workspace), "path": "x.md", "sha256": "0" * 64}
        both = await client.ask("POST", "/workspaces", {"root": str(tmp_path), "trust": requested}, expect=422)
        assert "either" in both["error"]["message"]
        missing = await client.ask("POST", "/workspaces", {"trust": requested}, expect=404)
        assert missing["error"]["code"] == "workspace_file_not_found"
        far = {**requested, "workspace": "/usr"}
        assert (await client.ask("POST", "/workspaces", {"trust": far}, expect=422))["error"][
            "param"
        ] == "trust.workspace"
