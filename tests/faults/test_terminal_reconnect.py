"""The chat in a terminal while its server is killed and started again."""

from pathlib import Path

from anycowork.tui.composer import Composer
from support.fork_server import ForkServer
from support.ports import held_port
from support.scripted_model import serve_in_thread
from support.server import child_server
from support.terminals import opened_screen


async def test_the_chat_in_a_terminal_goes_on_when_the_server_is_back(tmp_path: Path, fork_server: ForkServer) -> None:
    with (
        serve_in_thread(["Before.", "After."]) as model,
        held_port() as port,
        child_server(fork_server, tmp_path, model_url=model.base_url, port=port) as server,
    ):
        async with opened_screen(server.url, server.workspace) as person:
            await person.say("First")
            await person.sees("Before.", "ready")
            server.kill()
            await person.sees("does not answer any more", "no server: trying again")
            await person.say("Lost")
            await person.until(lambda: person.screen.query_one("#status").has_class("error"))  # it could not be sent
            assert "Lost" in person.screen.query_one(Composer).text
            server.start(port=port)
            await person.sees("Before.", "ready")
            assert "does not answer any more" not in person.seen()
            await person.say("Second")
            await person.sees("Before.", "After.", "ready")
