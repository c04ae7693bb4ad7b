"""A hidden workspace that is taken off the list: nothing that its visibility alone kept from people is seen by them afterwards."""

import json
from pathlib import Path

import pytest

from attacks.test_private_chats import Office, office
from support.live_server import Json
from support.spec import proves

START = {"name": "Nightly", "workflow": "summarize_chat", "parameters": {}}
RULE = {"tool": "read_file", "resource": "secret.txt", "effect": "allow", "scope": "workspace"}
CRON = {"cron": "0 3 * * *"}


async def new_workspace(place: Office, folder: Path, visibility: str) -> Json:
    (folder / "inside").mkdir(parents=True)
    return await place.ada.ask("POST", "/workspaces", {"root": str(folder), "visibility": visibility}, expect=201)


async def fill(place: Office, folder: str, kind: str) -> str:
    """Puts something into the folder that is hidden with it. Returns the address of what can be removed again."""
    match kind:
        case "chat":
            return (await place.ada.chat(workspace=folder, title="Hidden by its folder", visibility="everyone")).path
        case "schedule":
            schedule = await place.ada.ask("POST", "/schedules", {**START, **CRON, "workspace": folder}, expect=201)
            return f"/schedules/{schedule['id']}"
        case "trigger":
            trigger = await place.ada.ask("POST", "/triggers", {**START, "workspace": folder}, expect=201)
            return f"/triggers/{trigger['id']}"
        case _:
            rule = await place.ada.ask("POST", "/rules", {**RULE, "workspace": folder}, expect=201)
            return f"/rules/{rule['id']}"


@proves("OPS-6/1", "OPS-6/2")
@pytest.mark.parametrize("visibility", ["private", "group:design"])
@pytest.mark.parametrize("kind", ["chat", "schedule", "trigger", "rule"])
async def test_what_is_hidden_with_its_folder_is_not_shown_by_taking_that_off_the_list(
    tmp_path: Path, kind: str, visibility: str
) -> None:
    async with office(tmp_path) as place:
        folder = tmp_path / "team"
        root = await new_workspace(place, folder, "everyone")
        address, hidden = f"/workspaces/{root['id']}", await fill(place, str(folder / "inside"), kind)
        await place.ada.ask("PATCH", address, {"visibility": visibility})
        refused = await place.ada.ask("DELETE", address, expect=409)
        assert kind in refused["error"]["message"] and "visible to everyone" in refused["error"]["message"]
        listed = f"/{hidden.split('/')[1]}"
        assert hidden.rpartition("/")[2] not in json.dumps(await place.ben.ask("GET", listed))
        if kind == "chat":
            await place.ada.ask("PATCH", hidden, {"visibility": "private"})
        else:
            await place.ada.ask("DELETE", hidden, expect=204)
        await place.ada.ask("DELETE", address, expect=204)
        assert hidden.rpartition("/")[2] not in json.dumps(await place.ben.ask("GET", listed))


async def test_a_folder_beside_it_and_one_for_everyone_hold_nothing_back(tmp_path: Path) -> None:
    async with office(tmp_path) as place:
        private = await new_workspace(place, tmp_path / "team", "private")
        beside = await new_workspace(place, tmp_path / "team2", "everyone")
        chat = await place.ada.chat(workspace=str(tmp_path / "team2" / "inside"), visibility="everyone")
        await place.ada.chat(workspace=str(tmp_path / "team" / "inside"))
        for root in (private, beside):
            await place.ada.ask("DELETE", f"/workspaces/{root['id']}", expect=204)
        assert await place.ben.status("GET", chat.path) == 200
