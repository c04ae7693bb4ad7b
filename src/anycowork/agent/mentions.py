"""Brings what a person names with `@` before the model is called: `@path` reads a file, `@folder/` lists a folder, `@symbol:name` finds
where a name is defined, `@mcp:server:uri` reads a resource of an MCP server. Each is an ordinary call: it passes the gate, is recorded,
and is shown. A path that is not readable without asking is passed over; a resource asks if its server's tool does. For a small model a
plain file name is enough."""

import re
from enum import StrEnum

from anycowork.agent.expected_actions import paths_in
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.tools import Call, Provenance
from anycowork.domain.values import value

MOST_MENTIONS = 8
MOST_FOR_A_SMALL_MODEL = 3
_MOST_SIGNS = 2_000  # of one message that are looked at
_MENTION = re.compile(
    r'(?<![\w@/.])@(?:(symbol|mcp):(?:"([^"\n]{1,1000})"|([^\s"]{1,1000}))|"([^"\n]{1,1000})"|([\w.][\w./-]{0,999}))'
)
_END_OF_SENTENCE = ".,;:!?)]}>-"


class MentionKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    SYMBOL = "symbol"
    RESOURCE = "resource"


@value
class Mention:
    """Something that a message names. `name` is a path, the name of a symbol, or `server:uri`."""

    kind: MentionKind
    name: str


class Mentions:
    def __init__(self, *, recorder: TurnRecorder, toolrunner: ToolRunner) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner

    async def bring(self, context: TurnContext) -> bool:
        """Make the calls at the beginning of a turn; return False if a person must decide about one first. Raises: StorageFault."""
        if context.turn.steps or context.calls:
            return True
        named = mentions_in(context.request())
        if context.brief:
            paths = [Mention(MentionKind.FILE, path) for path in paths_in(context.request())[:MOST_FOR_A_SMALL_MODEL]]
            named += [mention for mention in paths if mention not in named]
        for mention in (one for one in named if one.kind is not MentionKind.RESOURCE):
            call = self._call(context, mention)
            if call and await self._toolrunner.passes_unasked(context, call):
                await self._recorder.record_own_call(context, call, reference=True)
                await self._toolrunner.run(context)
        return await self._read_resources(context, [one for one in named if one.kind is MentionKind.RESOURCE])

    async def _read_resources(self, context: TurnContext, named: list[Mention]) -> bool:
        """All together, so that a person is asked once."""
        for call in [self._call(context, mention) for mention in named]:
            if call is not None:
                await self._recorder.record_own_call(context, call, reference=True)
        return not context.open_calls() or not isinstance(await self._toolrunner.run(context), CallsParked)

    def _call(self, context: TurnContext, mention: Mention) -> Call | None:
        """Build the call that brings this; None if there is no such tool."""
        match mention.kind:
            case MentionKind.FILE:
                tool, parameters = "read_file", {"path": mention.name}
            case MentionKind.FOLDER:
                tool, parameters = "list_directory", {"path": mention.name}
            case MentionKind.SYMBOL:
                tool, parameters = "search_symbol", {"name": mention.name}
            case MentionKind.RESOURCE:
                server, _, uri = mention.name.partition(":")
                tool, parameters = f"{server}__resources_read", {"uri": uri}
        if context.toolbox.find(tool) is None:
            return None
        return self._recorder.own_call(context, tool, dict(parameters), Provenance(reference=True))


def mentions_in(text: str) -> list[Mention]:
    """Return the first things named in this text, each once. Punctuation at the end of a sentence is not part of a name."""
    found: dict[Mention, None] = {}
    place = text.find("@")
    for _ in range(_MOST_SIGNS):
        if place < 0 or len(found) == MOST_MENTIONS:
            break
        matched = _MENTION.match(text, place)
        if matched and (mention := _mention(*(group or "" for group in matched.groups()))):
            found[mention] = None
        place = text.find("@", matched.end() if matched else place + 1)
    return list(found)


def _mention(prefix: str, quoted_name: str, bare_name: str, quoted_path: str, bare_path: str) -> Mention | None:
    if prefix:
        name = quoted_name or bare_name.rstrip(_END_OF_SENTENCE)
        kind = MentionKind.SYMBOL if prefix == "symbol" else MentionKind.RESOURCE
        return Mention(kind, name) if name else None
    path = quoted_path or bare_path.rstrip(".-")
    name = path.rstrip("/")
    if not name:
        return None
    return Mention(MentionKind.FOLDER if path.endswith("/") else MentionKind.FILE, name)
