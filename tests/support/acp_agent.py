"""A small real agent, written with the protocol's SDK: `PROGRAM`. The first line of its task is a list of what to attempt."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any  # a test's own words

if __name__ == "__main__":
    sys.path[1:1] = sys.argv[1:]  # a program in the sandbox gets no PYTHONPATH of ours

import acp
from acp import RequestError, text_block, update_agent_message
from acp.schema import (
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
    ToolCallLocation,
    ToolCallUpdate,
)

# With the folder of the SDK, which the interpreter may not know by itself: the attacks of an ordinary user run with a borrowed one.
PROGRAM = (sys.executable, __file__, str(Path(acp.__file__).parents[1]))
OPTIONS = [
    PermissionOption(option_id="always", kind="allow_always", name="Always"),
    PermissionOption(option_id="yes", kind="allow_once", name="Yes"),
    PermissionOption(option_id="no", kind="reject_once", name="No"),
]


def _attempts_in(text: str) -> Any:
    return json.JSONDecoder().raw_decode(text, text.index("[["))[0]


class Attempts:
    """Does what its task says, and answers with what came of each attempt."""

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **kwargs: Any) -> Any:
        self.offered = client_capabilities.fs
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **kwargs: Any) -> Any:
        os.chdir(cwd)
        self.mode = "auto"
        offered = [SessionMode(id=one, name=one) for one in ("auto", "full-access")]
        modes = SessionModeState(current_mode_id=self.mode, available_modes=offered)
        return NewSessionResponse(session_id="one", modes=modes)

    async def set_session_mode(self, session_id: str, mode_id: str, **kwargs: Any) -> Any:
        self.mode = mode_id
        return SetSessionModeResponse()

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        pass

    async def prompt(self, session_id: str, prompt: Any, **kwargs: Any) -> Any:
        told = [str(await self._attempt(*words)) for words in _attempts_in(prompt[0].text)]
        await self.client.session_update("one", update_agent_message(text_block("\n".join(told))))
        return PromptResponse(stop_reason="end_turn")

    async def _attempt(self, what: str, *words: str) -> Any:
        try:
            return await getattr(self, f"_{what}")(*words)
        except RequestError as error:
            return f"{what} refused: {error.data}"
        except OSError as error:
            return f"{what} failed: {type(error).__name__}"

    async def _mode(self) -> str:
        return f"mode {self.mode}"

    async def _offered(self) -> str:
        return f"offered: reads {self.offered.read_text_file}, writes {self.offered.write_text_file}"

    async def _say(self, text: str) -> str:
        await self.client.session_update("one", update_agent_message(text_block(text)))
        return "said it"

    async def _write(self, path: str, text: str) -> str:
        Path(path).write_text(text)
        return f"wrote {path}"

    async def _read(self, path: str) -> str:
        return f"read {Path(path).read_text()}"

    async def _ask_write(self, path: str, text: str) -> str:
        await self.client.write_text_file(session_id="one", path=str(Path(path).absolute()), content=text)
        return f"asked to write {path}"

    async def _ask_read(self, path: str) -> str:
        answer = await self.client.read_text_file(session_id="one", path=str(Path(path).absolute()))
        return f"asked to read: {answer.content}"

    async def _ask_read_missing(self, path: str) -> str:
        try:
            return await self._ask_read(path)
        except RequestError as error:
            return f"missing: {error.code} {error}"

    async def _terminal(self, command: str) -> str:
        made = await self.client.create_terminal(session_id="one", command="bash", args=["-c", command])
        ended = await self.client.wait_for_terminal_exit(session_id="one", terminal_id=made.terminal_id)
        output = await self.client.terminal_output(session_id="one", terminal_id=made.terminal_id)
        await self.client.release_terminal(session_id="one", terminal_id=made.terminal_id)
        return f"terminal {ended.exit_code}: {output.output.strip()}"

    async def _permission(self, kind: str, path: str) -> str:
        call = ToolCallUpdate(tool_call_id=f"{kind}-{path}", title=f"{kind} {path}", kind=kind)  # type: ignore[arg-type]  # tests try others
        call.locations = [ToolCallLocation(path=str(Path(path).absolute()))]
        answer = await self.client.request_permission(session_id="one", tool_call=call, options=OPTIONS)
        return f"{kind} {path}: {getattr(answer.outcome, 'option_id', 'cancelled')}"

    async def _environment(self) -> str:
        return " ".join(sorted(f"{name}={text}" for name, text in os.environ.items()))

    async def _die(self) -> str:
        os._exit(7)

    async def _deaf(self) -> str:
        """Closes its input, asks twice more, which nobody can answer, and ends."""
        os.close(0)
        for _ in range(2):
            asking = asyncio.ensure_future(self._ask_read("a.txt"))
            await asyncio.wait([asking], timeout=0.5)
        os._exit(7)

    async def _hang(self) -> str:
        await asyncio.sleep(3600)
        return "never"


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Attempts()))  # type: ignore[arg-type]  # of the optional methods it has those that are used
