"""What records say about who decided."""

import json
from pathlib import Path

from support.live_server import Json, LiveChat, live_server
from support.people import person
from support.scripted_model import call
from support.spec import proves

WRITE = call("create_file", path="a.txt", content="x")


async def audit_log(chat: LiveChat) -> list[Json]:
    async with chat.client.session.get(f"{chat.client.url}{chat.path}/audit/log") as response:
        assert response.status == 200
        lines = [json.loads(line) for line in (await response.text()).splitlines()]
        return [json.loads(line["record"]) for line in lines if "record" in line]


def deciders(records: list[Json], kind: str) -> set[str]:
    return {one["principal"] for one in records if one.get("type") == kind}


@proves("OPS-3/3")
async def test_the_audit_names_who_decided_also_after_they_left(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[WRITE, "Done."]) as owner, person(owner, "Ada L.") as ada:
        chat = await owner.chat()
        await chat.send("write a.txt")
        by_ada = LiveChat(ada, chat.opened)
        await by_ada.decide()
        await by_ada.switch("planner")
        await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
        records = await audit_log(chat)
        label = f"person:{ada.id}:Ada L."
        assert deciders(records, "permission-decided") == {label} == deciders(records, "role-changed")


@proves("OPS-3/3")
async def test_a_message_says_who_wrote_it(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello.", "Hello."]) as owner, person(owner, "Ada") as ada:
        chat = await owner.chat()
        await chat.send("from the owner")
        await LiveChat(ada, chat.opened).send("from Ada")
        found = [one for one in await audit_log(chat) if one.get("type") == "message"]
        authors = {one["message"]["content"]: one["principal"] for one in found if one["message"]["role"] == "user"}
        assert authors == {"from the owner": "person:owner", "from Ada": f"person:{ada.id}:Ada"}
