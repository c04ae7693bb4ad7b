"""Files that a person names with `@path`: read before the model is asked, by calls like any other. They pass the door, are written
down, and count as read; what is no readable file is just a word. For a small model a plain name is enough: it calls before it looks."""

import re

from anycowork.agent.moment import Moment
from anycowork.agent.promises import paths_in
from anycowork.agent.recorder import Recorder
from anycowork.agent.toolrunner import ToolRunner
from anycowork.domain.tools import Provenance

READ_WITH = "read_file"
MOST_FILES = 8
MOST_FOR_A_SMALL_MODEL = 3
_REFERENCE = re.compile(r'(?<![\w@/.])@(?:"([^"\n]{1,1000})"|([\w.][\w./-]{0,999}))')


class Referrer:
    def __init__(self, *, recorder: Recorder, toolrunner: ToolRunner) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner

    async def read_named(self, moment: Moment) -> None:
        """At the beginning of a turn; nobody is asked for it. Raises: StorageFault."""
        if moment.turn.steps or moment.calls:
            return
        named = references_in(moment.request())
        if moment.brief:
            named += [path for path in paths_in(moment.request())[:MOST_FOR_A_SMALL_MODEL] if path not in named]
        for path in named:
            call = self._recorder.own_call(moment, READ_WITH, {"path": path}, Provenance(reference=True))
            if await self._toolrunner.passes_unasked(moment, call):
                await self._recorder.own(moment, call, reference=True)
                await self._toolrunner.run(moment)


def references_in(text: str) -> list[str]:
    """The paths named in these words, each once, the first ones; a full stop at the end of a sentence is not part of a name."""
    if "@" not in text:
        return []
    found = [quoted or bare.rstrip(".-/") for quoted, bare in _REFERENCE.findall(text)]
    return list(dict.fromkeys(path for path in found if path))[:MOST_FILES]
