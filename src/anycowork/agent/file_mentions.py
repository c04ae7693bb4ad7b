"""Reads files that a person names with `@path` before the model is called. The reads are ordinary calls: they pass the gate, are
recorded, and count as read; names that are not readable files are ignored. For a small model a plain file name is enough."""

import re

from anycowork.agent.expected_actions import paths_in
from anycowork.agent.tool_runner import ToolRunner
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.tools import Provenance

READ_WITH = "read_file"
MOST_FILES = 8
MOST_FOR_A_SMALL_MODEL = 3
_REFERENCE = re.compile(r'(?<![\w@/.])@(?:"([^"\n]{1,1000})"|([\w.][\w./-]{0,999}))')


class FileMentions:
    def __init__(self, *, recorder: TurnRecorder, toolrunner: ToolRunner) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner

    async def read_named(self, context: TurnContext) -> None:
        """Read the named files at the beginning of a turn, without asking anybody. Raises: StorageFault."""
        if context.turn.steps or context.calls:
            return
        named = mentions_in(context.request())
        if context.brief:
            named += [path for path in paths_in(context.request())[:MOST_FOR_A_SMALL_MODEL] if path not in named]
        for path in named:
            call = self._recorder.own_call(context, READ_WITH, {"path": path}, Provenance(reference=True))
            if await self._toolrunner.passes_unasked(context, call):
                await self._recorder.record_own_call(context, call, reference=True)
                await self._toolrunner.run(context)


def mentions_in(text: str) -> list[str]:
    """Return the first paths named in this text, each once. A full stop at the end of a sentence is not part of a name."""
    if "@" not in text:
        return []
    found = [quoted or bare.rstrip(".-/") for quoted, bare in _REFERENCE.findall(text)]
    return list(dict.fromkeys(path for path in found if path))[:MOST_FILES]
