"""The workspace's lease is for calls that may change its files, and for no others."""

from pathlib import Path

from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.tool_sources import FixedSource, OutsideTool


async def test_a_call_that_changes_no_file_does_not_wait_for_the_one_that_writes(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("far__act"), "Done."]) as client:
        tool = _offer(client)
        chat = await client.chat()
        async with client.server.scheduler._workspaces.writing(str(client.workspace.resolve())):
            await chat.send("Act.")
        assert tool.begun.is_set()
        assert [result["status"] for result in await chat.results()] == ["ok"]


async def test_it_is_recorded_before_its_effect_all_the_same(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("far__act"), "Done."]) as client:
        tool = _offer(client)
        seen: list[str] = []
        run = tool.run

        async def noting(*given: object) -> object:
            turn = await client.server.database.store.turns.current(chat.id)
            assert turn is not None
            seen.extend(str(one.state) for one in await client.server.database.store.calls.of_turn(turn.id))
            return await run(*given)  # type: ignore[arg-type]  # handed on as it came

        tool.run = noting  # type: ignore[method-assign, assignment]
        chat = await client.chat()
        await chat.send("Act.")
        assert seen == ["intent"]


def _offer(client: LiveServer) -> OutsideTool:
    tool = OutsideTool()
    toolbox = client.server.scheduler._agent.toolrunner._toolbox
    toolbox.refresh(FixedSource([tool]))  # type: ignore[attr-defined]  # the registry itself
    return tool
