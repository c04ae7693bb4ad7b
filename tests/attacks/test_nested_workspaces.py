"""Workspaces in each other: one in a hidden one is hidden with it, and registering one hides nothing that others saw."""

import json
from pathlib import Path

from attacks.test_private_chats import office
from support.live_server import Caller, Json
from support.spec import proves


async def registered(client: Caller, folder: Path, **given: str) -> Json:
    folder.mkdir(parents=True, exist_ok=True)
    return await client.ask("POST", "/workspaces", {"root": str(folder), **given}, expect=201)


@proves("OPS-6/1")
async def test_a_workspace_in_a_hidden_one_is_hidden_with_it(tmp_path: Path) -> None:
    async with office(tmp_path) as place:
        inner = await registered(place.owner, tmp_path / "team" / "inner")
        outer = await registered(place.ada, tmp_path / "team")
        await place.ada.ask("PATCH", f"/workspaces/{outer['id']}", {"visibility": "private"})
        for reader, sees in ((place.ada, True), (place.ben, False), (place.cleo, False)):
            text = json.dumps(await reader.ask("GET", "/workspaces"))
            assert (inner["root"] in text, outer["root"] in text) == (sees, sees)
        for body in ({"trusts_contents": True}, {"visibility": "everyone"}):
            assert await place.ben.status("PATCH", f"/workspaces/{inner['id']}", body) == 404
        assert await place.ben.status("DELETE", f"/workspaces/{inner['id']}") == 404


@proves("OPS-6/1", "OPS-6/2")
async def test_a_folder_that_is_registered_in_a_hidden_one_is_as_hidden_and_of_its_owner(tmp_path: Path) -> None:
    async with office(tmp_path) as place:
        await registered(place.ada, tmp_path / "team", visibility="group:design")
        for someone in (place.cleo, place.owner):
            inner = await registered(someone, tmp_path / "team" / someone.__class__.__name__.lower())
            assert (inner["visibility"], inner["owner"]) == ("group:design", place.ada.id)
        wider = {"root": str(tmp_path / "team" / "wide"), "visibility": "everyone"}
        (tmp_path / "team" / "wide").mkdir()
        assert await place.cleo.status("POST", "/workspaces", wider) == 403


@proves("OPS-6/1")
async def test_registering_a_folder_in_or_around_one_that_all_see_hides_nothing(tmp_path: Path) -> None:
    async with office(tmp_path) as place:
        project = tmp_path / "projects" / "one"
        await registered(place.owner, project)
        (project / "sub").mkdir()
        chats = [
            await place.ben.chat(workspace=str(folder), visibility="everyone") for folder in (project, project / "sub")
        ]
        for folder in (project / "sub", tmp_path / "projects"):
            assert (await registered(place.ada, folder))["visibility"] == "everyone"
        for chat in chats:
            assert await place.ben.status("GET", chat.path) == await place.cleo.status("GET", chat.path) == 200
        assert (await place.ada.chat(workspace=str(tmp_path / "projects"))).opened["visibility"] == "private"
