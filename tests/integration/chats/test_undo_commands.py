"""What a command changed is kept before its commit, and can be taken back like any other change."""

from pathlib import Path

from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves


@proves("SNAP-1", "SNAP-2")
async def test_a_commands_changes_are_taken_back_exactly(tmp_path: Path) -> None:
    command = "echo more >> a.txt; mkdir made; echo new > made/b.txt; rm c.txt"
    files = {"a.txt": "one\n", "c.txt": "gone soon\n"}
    async with live_server(
        tmp_path, replies=[call("execute_command", command=command), "Done."], files=files
    ) as client:
        chat = await client.chat()
        await chat.send("run it")
        await chat.decide()
        assert (client.workspace / "a.txt").read_text() == "one\nmore\n" and not (client.workspace / "c.txt").exists()
        before, after = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        assert (before["moment"], after["moment"]) == ("before", "after") and after["files"] >= 3
        await client.ask("POST", f"{chat.path}/snapshots/{before['id']}/restore", {})
        found = {path.name: path.read_text() for path in client.workspace.rglob("*") if path.is_file()}
        assert found == files and not (client.workspace / "made").exists()
