"""The setting that says who sees what people start, until they share it."""

from pathlib import Path

import pytest

from support.live_server import LiveServer, live_server
from support.people import PersonClient, person
from support.spec import proves


async def begun(client: PersonClient | LiveServer, **given: str) -> str:
    """Returns who sees a new chat."""
    return str((await client.chat(**given)).opened["visibility"])


async def registered(admin: PersonClient, folder: Path) -> str:
    """Returns who sees a new workspace."""
    folder.mkdir()
    return str((await admin.ask("POST", "/workspaces", {"root": str(folder)}, expect=201))["visibility"])


@proves("OPS-6/1")
async def test_an_admin_says_who_sees_what_people_start_from_now_on(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Ada", "admin") as ada, person(owner, "Mia") as mia:
        assert (await mia.ask("GET", "/settings"))["new_visibility"] is None
        assert await begun(mia) == "private"
        first = await mia.chat()
        changed = await ada.ask("PUT", "/settings", {"new_visibility": "everyone"})
        assert changed["new_visibility"] == "everyone"
        assert await begun(mia) == "everyone" and await begun(mia, visibility="private") == "private"
        assert (await first.show())["visibility"] == "private", "what there was stays as it is"
        assert await registered(ada, tmp_path / "open") == "everyone"
        await ada.ask("PUT", "/settings", {"new_visibility": "private"})
        assert await begun(mia) == "private" and await registered(ada, tmp_path / "closed") == "private"
        assert await begun(owner) == "everyone", "what is started with the server's token"
        await ada.ask("PUT", "/settings", {"new_visibility": None})
        assert await begun(mia) == "private"


@proves("OPS-6/1", "OPS-6/2")
async def test_a_new_chat_is_never_seen_by_more_than_its_workspace(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, new_visibility="everyone") as owner,
        person(owner, "Ada", "admin", ("design",)) as ada,
    ):
        for visibility in ("private", "group:design"):
            folder = tmp_path / visibility.partition(":")[0]
            folder.mkdir()
            await ada.ask("POST", "/workspaces", {"root": str(folder), "visibility": visibility}, expect=201)
            assert await begun(ada, workspace=str(folder)) == visibility
        assert await begun(ada) == "everyone"


@pytest.mark.parametrize("visibility", ["", "Private", "group:design", "all", 1, True, ["private"]])
async def test_a_default_that_there_is_not_is_refused_and_changes_nothing(tmp_path: Path, visibility: object) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Mia") as mia:
        refused = await owner.ask("PUT", "/settings", {"new_visibility": visibility}, expect=422)
        assert (
            refused["error"]["param"] == "new_visibility" and "'private' or 'everyone'" in refused["error"]["message"]
        )
        assert await begun(mia) == "private"


async def test_only_admins_set_it(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Mia") as mia, person(owner, "Vic", "viewer") as vic:
        for someone in (mia, vic):
            assert await someone.status("PUT", "/settings", {"new_visibility": "everyone"}) == 403
        assert await begun(mia) == "private"
