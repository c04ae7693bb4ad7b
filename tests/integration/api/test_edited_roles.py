"""Roles and workflows that a person writes in the settings: checked, saved, used at once, recorded, and there after a restart."""

import json
from hashlib import sha256

from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

TRANSLATOR = {"permissions": ["read_files"], "prompt": "Write.", "tooltip": "Writes.", "colour": "teal"}
NOTES = """+++
description = "Write notes."
+++

## Write

Write notes into NOTES.md.
"""


def faults(answer):
    return {each["param"]: each["message"] for each in answer["faults"]}


@proves("PER-3")
async def test_a_role_is_written_changed_and_deleted_and_applies_at_once(tmp_path):
    create = call("create_file", path="a.txt", content="a")
    async with live_server(tmp_path, replies=[create, "No.", create, "Done.", create, "No."]) as client:
        await client.ask("POST", "/rules", {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"})
        made = await client.ask("POST", "/roles", {"name": "translator", **TRANSLATOR}, expect=201)
        assert (made["permissions"], made["prompt"], made["built_in"]) == (["read_files"], "Write.", False)
        assert "translator" in [role["name"] for role in (await client.ask("GET", "/roles"))["roles"]]
        assert '"translator"' in json.dumps(await client.ask("GET", "/openapi.json"))
        chat = await client.chat(role="translator")
        await chat.send("create it")
        assert not (client.workspace / "a.txt").exists()

        wider = {**TRANSLATOR, "permissions": ["read_files", "create_files"]}
        await client.ask("PUT", "/roles/translator", wider)
        await chat.send("again")
        assert (client.workspace / "a.txt").read_text() == "a"
        (client.workspace / "a.txt").unlink()

        await client.ask("DELETE", "/roles/translator", expect=204)
        await chat.send("once more")
        assert not (client.workspace / "a.txt").exists()
        told = [
            each for each in await chat.messages() if "role" in (each["payload"] or {}) and each["role"] == "system"
        ]
        assert [each["content"].split(".")[0] for each in told] == [
            "The role translator was changed",
            "The role translator was deleted",
        ]
        assert told[0]["payload"]["role"]["permissions"] == ["read_files", "create_files"]
        lines = (tmp_path / "data" / "role-changes.jsonl").read_bytes().splitlines()
        recorded = [json.loads(line) for line in lines]  # also of the role that no chat had yet
        assert [one["role"].get("permissions") for one in recorded] == [["read_files"], wider["permissions"], None]
        assert {(one["by"], one["role"]["name"]) for one in recorded} == {("person:owner", "translator")}
        assert [one["previous"] for one in recorded] == [None, *(sha256(line).hexdigest() for line in lines[:-1])]
        async with client.session.get(f"{client.url}{chat.path}/audit/log") as log:
            chain = await log.text()
        assert (
            "The role translator was changed. Its permissions: read_files, create_files." in chain and "owner" in chain
        )


async def test_a_saved_role_is_there_after_a_restart_and_keeps_its_file(tmp_path):
    file = tmp_path / "data" / "roles" / "by-hand.toml"
    file.parent.mkdir(parents=True)
    file.write_text('name = "translator"\npermissions = ["read_files"]\nprompt = "Write."\n')
    (tmp_path / "data").chmod(0o700)
    prompt = 'Two\nlines, "quotes", a \\ and an ü.'
    async with live_server(tmp_path) as client:
        await client.ask("PUT", "/roles/translator", {**TRANSLATOR, "prompt": prompt, "delegates": ["planner"]})
        await client.ask("POST", "/roles", {"name": "reader", **TRANSLATOR}, expect=201)
    assert sorted(each.name for each in file.parent.iterdir()) == ["by-hand.toml", "reader.toml"]
    async with live_server(tmp_path) as client:
        translator = await client.ask("GET", "/roles/translator")
        assert (translator["prompt"], translator["delegates"], translator["tooltip"]) == (
            prompt,
            ["planner"],
            "Writes.",
        )
        await client.ask("DELETE", "/roles/translator", expect=204)
        assert not file.exists()
        await client.ask("GET", "/roles/translator", expect=404)


async def test_every_fault_of_a_role_is_told_at_its_field_and_nothing_is_saved(tmp_path):
    async with live_server(tmp_path) as client:
        wrong = {"name": "Über", "permissions": [], "prompt": " ", "delegates": ["nobody"]}
        told = faults(await client.ask("POST", "/roles/validate", wrong))
        assert told.keys() == {"name", "prompt", "delegates"} and "lower-case letter" in told["name"]
        refused = await client.ask("POST", "/roles", wrong, expect=422)
        assert faults(refused) == told and refused["error"]["code"] == "bad_role"
        for name, reason in {"actor": "built-in", "act": "short for actor"}.items():
            assert reason in faults(await client.ask("POST", "/roles/validate", {"name": name, **TRANSLATOR}))["name"]
            await client.ask("PUT", f"/roles/{name}", TRANSLATOR, expect=422)
        assert (await client.ask("POST", "/roles/validate", {"name": "translator", **TRANSLATOR}))["faults"] == []
        await client.ask("GET", "/roles/translator", expect=404)
        await client.ask("PUT", "/roles/translator", TRANSLATOR, expect=404)
        await client.ask("DELETE", "/roles/actor", expect=422)
        await client.ask("POST", "/roles", {"name": "translator", **TRANSLATOR, "permissions": ["fly"]}, expect=422)
        await client.ask("POST", "/roles", {"name": "translator", **TRANSLATOR}, expect=201)
        await client.ask("POST", "/roles", {"name": "translator", **TRANSLATOR}, expect=409)
        planner = await client.ask("GET", "/roles/planner")
        assert planner["built_in"] and "PLANNER" in planner["prompt"].upper()


@proves("WFL-3")
async def test_a_workflow_is_checked_saved_changed_and_deleted(tmp_path):
    async with live_server(tmp_path) as client:
        draft = {"name": "notes", "content": NOTES}
        checked = await client.ask("POST", "/workflows/validate", draft)
        assert checked["fault"] is None and checked["workflow"]["steps"] == [{"title": "Write", "kind": "prompt"}]
        await client.ask("GET", "/workflows/notes", expect=404)
        made = await client.ask("POST", "/workflows", draft, expect=201)
        await client.ask("POST", "/workflows", draft, expect=409)
        assert (tmp_path / "data" / "workflows" / "notes.md").read_text() == NOTES
        shown = await client.ask("GET", "/workflows/notes")
        assert (shown["source"], shown["trusted"], shown["sha256"]) == ("data", True, made["sha256"])

        longer = NOTES.replace("Write notes.", "Write good notes.")
        await client.ask("PUT", "/workflows/notes", {"content": longer, "sha256": made["sha256"]})
        assert (await client.ask("GET", "/workflows/notes"))["description"] == "Write good notes."
        await client.ask("PUT", "/workflows/notes", {"content": NOTES, "sha256": made["sha256"]}, expect=409)
        await client.ask("DELETE", "/workflows/notes", expect=204)
        await client.ask("GET", "/workflows/notes", expect=404)
        assert not list((tmp_path / "data" / "workflows").iterdir())


async def test_a_faulty_workflow_names_its_line_and_is_not_saved(tmp_path):
    (tmp_path / "workspace" / ".anycowork" / "workflows").mkdir(parents=True)
    own = tmp_path / "workspace" / ".anycowork" / "workflows" / "release.md"
    own.write_text(NOTES)
    async with live_server(tmp_path) as client:
        for content, line, words in (
            ("no front", 1, "+++"),
            (NOTES.replace("Write notes into", "Write {{file}} into"), 7, "file"),
            (NOTES + '\n## Run\n\n```tool\n{"tool": "fly", "parameters": {}}\n```\n', None, "fly"),
            (NOTES.replace('"Write notes."', '"Write notes."\nname = "other"'), None, "other"),
            ("x" * 70_000, None, "larger"),
        ):
            fault = (await client.ask("POST", "/workflows/validate", {"name": "notes", "content": content}))["fault"]
            assert words in fault["reason"] and line in (None, fault["line"])
            await client.ask("POST", "/workflows", {"name": "notes", "content": content}, expect=422)
        for name in ("explain_code", "../../evil", "a/b", "categories"):
            draft = {"name": name, "content": NOTES}
            assert (await client.ask("POST", "/workflows/validate", draft))["fault"] is not None
            await client.ask("POST", "/workflows", draft, expect=422)
        await client.ask("PUT", "/workflows/explain_code", {"content": NOTES}, expect=422)
        await client.ask("DELETE", "/workflows/explain_code", expect=422)
        await client.ask("PUT", "/workflows/release", {"content": NOTES}, expect=404)
        await client.ask("DELETE", "/workflows/release", expect=404)
        assert own.read_text() == NOTES
        assert not (tmp_path / "data" / "workflows").exists() or not list((tmp_path / "data" / "workflows").iterdir())
