"""A call inside a call (a delegate's own request for a file) passes the same gate: under the outer call's ceiling, and never unseen."""

from pathlib import Path

import pytest

from anycowork.domain.chats import Turn
from anycowork.domain.errors import Forbidden
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import ToolContext
from anycowork.domain.tools import Call, Provenance
from anycowork.domain.values import replace
from anycowork.permissions.admission import Admitted, CallContext, MustAsk
from anycowork.permissions.gate import Gate
from anycowork.permissions.roles import RoleRegistry
from anycowork.store.sql.database import Database
from anycowork.tools.toolbox import built_in_tools
from anycowork.workspace.folder import Folder
from support.stored import CLOCK, add_chat, opened

TURN = Turn("t1", "c1", "actor", "person:ann", "m1")
OUTER = Call("outer", "c1", "t1", "b1", 0, "delegate", {}, role_at_issue="actor")


def nested(tool: str, ceiling: frozenset[Permission] = OUTER.ceiling, **parameters: str) -> Call:
    inside = Provenance(whole_reply=False)
    return replace(OUTER, id="inner", tool=tool, parameters=parameters, ceiling=ceiling, provenance=inside)


async def admitted(database: Database, folder: Path, call: Call) -> Admitted | MustAsk:
    toolbox = built_in_tools(None, command_timeout=lambda: 5.0)
    gate = Gate(toolbox=toolbox, store=database.store, rules=database.rules, clock=CLOCK)
    role = RoleRegistry().require("actor")
    tool_context = ToolContext(Folder(str(folder)), role.permissions & call.ceiling, {}, "")
    return await gate.admit(call, CallContext(TURN, role, role), tool_context)


async def test_a_nested_call_reads_asks_to_write_and_is_held_to_the_outer_ceiling(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    async with opened(tmp_path / "data") as database:
        await database.journal.write(add_chat())
        assert isinstance(await admitted(database, work, nested("read_file", path="a.txt")), Admitted)
        writing = {"path": "b.txt", "content": "two\n"}
        assert isinstance(await admitted(database, work, nested("create_file", **writing)), MustAsk)
        with pytest.raises(Forbidden):
            await admitted(database, work, nested("create_file", frozenset({Permission.READ_FILES}), **writing))
    assert not (work / "b.txt").exists()
