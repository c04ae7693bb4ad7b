"""AGENTS.md of a workspace: offered for trust, told to the model once trusted, silent again when it changes, and written down."""

import json
from pathlib import Path

from support.instructions import NAME, shown, told, trust
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

RULES = "Use tabs.\nRun `make check` before you say done.\n"
OTHERS = "Use spaces.\n"


@proves("SEC-4", "SYS-1")
async def test_instructions_are_told_once_trusted_and_are_the_same_bytes_in_every_turn(tmp_path: Path) -> None:
    replies = ["One.", call("read_file", path="a.txt"), "Two.", "Three."]
    async with live_server(tmp_path, replies=replies, files={NAME: RULES, "a.txt": "hello"}) as client:
        chat = await client.chat()
        seen = await shown(client, context_id=chat.id)
        assert seen is not None and (seen["state"], seen["content"], seen["fault"]) == ("untrusted", RULES, None)
        await chat.send("first")
        await trust(client, client.workspace)
        assert ((await shown(client)) or {})["state"] == "trusted"
        for words in ("second", "third"):
            await chat.send(words)
        before, *after = told(client)
        assert "Use tabs." not in before and len(after) == 3
        cached = before.partition("\n\n# Other agents")[0]
        assert all("Use tabs." in prompt and prompt.startswith(cached) for prompt in after) and len(set(after)) == 1
        enhanced = await client.ask("GET", f"/v1/system-prompts/default/enhanced?context_id={chat.id}")
        assert enhanced["content"] == after[0] and enhanced["left_out"] == []
        by_role = await client.ask("GET", "/v1/system-prompts/default/enhanced?role=actor")
        assert by_role["content"] == before


@proves("SEC-4")
async def test_after_a_change_neither_the_new_text_nor_the_old_is_told_until_a_person_trusts_it(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["a", "b", "c", "d"], files={NAME: RULES}) as client:
        chat = await client.chat()
        await trust(client, client.workspace)
        await chat.send("with the first")
        (client.workspace / NAME).write_text(OTHERS)
        assert ((await shown(client)) or {})["state"] == "changed"
        await chat.send("with neither")
        await trust(client, client.workspace)
        await chat.send("with the second")
        (client.workspace / NAME).unlink()
        assert await shown(client) is None
        await chat.send("with none")
        first, neither, second, none = told(client)
        assert "Use tabs." in first and "Use spaces." in second and "Use tabs." not in second
        assert neither == none and "Use tabs." not in none and "Use spaces." not in none


@proves("SEC-4")
async def test_trust_is_for_one_folder_survives_a_restart_and_can_be_taken_back(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={NAME: RULES, f"below/{NAME}": RULES}) as client:
        await trust(client, client.workspace / "below")
        assert ((await shown(client)) or {})["state"] == "untrusted"
        (root,) = (await client.ask("GET", "/workspaces"))["workspaces"]
        assert [(one["kind"], one["path"], one["trusted"]) for one in root["supplies"]] == [
            ("instructions", NAME, False)
        ]
    async with live_server(tmp_path, replies=["a", "b"]) as client:
        below = client.workspace / "below"
        chat = await client.chat(workspace=str(below))
        assert ((await shown(client, context_id=chat.id)) or {})["state"] == "trusted"
        await chat.send("hello")
        await client.ask("POST", "/workspaces", {"trust": {"workspace": str(below), "path": NAME, "sha256": None}})
        await chat.send("again")
        assert ["Use tabs." in prompt for prompt in told(client)] == [True, False]


@proves("SYS-2")
async def test_every_role_is_told_and_what_the_budget_cuts_is_said(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["a", "b"], files={NAME: RULES + "More.\n" * 9_000}) as client:
        await trust(client, client.workspace)
        for role in ("planner", "reviewer"):
            chat = await client.chat(role=role)
            await chat.send("hello")
            enhanced = await client.ask("GET", f"/v1/system-prompts/default/enhanced?context_id={chat.id}")
            (said,) = enhanced["left_out"]
            assert said.startswith("AGENTS.md: ") and said.endswith(" bytes")
        assert all("Use tabs." in prompt and len(prompt) < 40_000 for prompt in told(client))


@proves("SEC-4", "AUD-1")
async def test_trust_that_is_given_in_a_chat_stands_in_its_history_and_its_chain(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello."], files={NAME: RULES}) as client:
        chat = await client.chat()
        await trust(client, client.workspace, chat=chat)
        (note,) = await chat.messages()
        seen = await shown(client)
        assert seen is not None and note["role"] == "system" and NAME in note["content"]
        assert note["payload"]["trust"] == {
            "workspace": str(client.workspace),
            "path": NAME,
            "sha256": seen["sha256"],
        }
        await chat.send("hello")
        assert [message["role"] for message in client.model.requests[0]["messages"]] == ["system", "user"]
        async with client.session.get(f"{client.url}{chat.path}/audit/log") as response:
            lines = [json.loads(line) for line in (await response.text()).splitlines()]
        records = [json.loads(line["record"]) for line in lines[:-1]]
        (recorded,) = [one for one in records if seen["sha256"] in json.dumps(one)]
        assert recorded["type"] == "message" and recorded["principal"].startswith("person:")


async def test_trust_is_not_written_into_the_chat_of_another_folder(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={f"below/{NAME}": RULES}) as client:
        chat = await client.chat()
        refused = await trust(client, client.workspace / "below", chat=chat, expect=422)
        assert refused["error"]["param"] == "trust.context_id" and await chat.messages() == []
        assert ((await shown(client, workspace=str(client.workspace / "below"))) or {})["state"] == "untrusted"
