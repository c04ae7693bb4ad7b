"""Brings what a person names with `@` before the model is called: `@path` reads a file, `@folder/` lists a folder, `@symbol:name` finds
where a name is defined, `@mcp:server:uri` reads a resource of an MCP server. Each is an ordinary call: it passes the gate, is recorded,
and is shown. `@checkpoint:id` is expanded to what that checkpoint changed. A path that is not readable without asking is not read, and a
note says so; a resource asks if its server's tool does. For a small model a plain file name is enough."""

import re
from collections.abc import Sequence
from enum import StrEnum

from anycowork.agent.checkpoint_mentions import describe_checkpoint
from anycowork.agent.expected_actions import paths_in
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.messages import CHECKPOINT_NOTE
from anycowork.domain.snapshot_ports import SnapshotRows
from anycowork.domain.tools import Call, Provenance
from anycowork.domain.values import value

MOST_MENTIONS = 8
MOST_FOR_A_SMALL_MODEL = 3
_MOST_SIGNS = 2_000  # of one message that are looked at
_MENTION = re.compile(
    r'(?<![\w@/.])@(?:(symbol|mcp|checkpoint):(?:"([^"\n]{1,1000})"|([^\s"]{1,1000}))|"([^"\n]{1,1000})"|([\w.][\w./-]{0,999}))'
)
_END_OF_SENTENCE = ".,;:!?)]}>-"


class MentionKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    SYMBOL = "symbol"
    RESOURCE = "resource"
    CHECKPOINT = "checkpoint"


_ENDINGS_OF_FILES = (
    ".c", ".cc", ".cfg", ".conf", ".cpp", ".cs", ".css", ".csv", ".go", ".h", ".html", ".ini", ".ipynb", ".java", ".js", ".json", ".jsx",
    ".kt", ".lock", ".log", ".md", ".mjs", ".pdf", ".php", ".png", ".py", ".rb", ".rs", ".rst", ".sh", ".sql", ".svg", ".toml", ".ts",
    ".tsx", ".txt", ".vue", ".xml", ".yaml", ".yml",
)  # fmt: skip


@value
class Mention:
    """Something that a message names. `name` is a path, the name of a symbol, `server:uri`, or the beginning of a checkpoint's id."""

    kind: MentionKind
    name: str

    @property
    def is_meant(self) -> bool:
        """False for what may as well be a decorator or a person's handle: `@dataclass`, `@app.get`, `@anna`."""
        if self.kind is not MentionKind.FILE or "/" in self.name or self.name.startswith("."):
            return True
        return self.name.lower().endswith(_ENDINGS_OF_FILES)

    def __str__(self) -> str:
        match self.kind:
            case MentionKind.FILE:
                return f"@{self.name}"
            case MentionKind.FOLDER:
                return f"@{self.name}/"
            case MentionKind.RESOURCE:
                return f"@mcp:{self.name}"
            case MentionKind.SYMBOL | MentionKind.CHECKPOINT:
                return f"@{self.kind}:{self.name}"


class Mentions:
    def __init__(self, *, recorder: TurnRecorder, toolrunner: ToolRunner, snapshots: SnapshotRows) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner
        self._snapshots = snapshots

    async def bring(self, context: TurnContext) -> bool:
        """Make the calls at the beginning of a turn; return False if a person must decide about one first. Raises: StorageFault."""
        if context.turn.steps or context.calls:
            return True
        named = mentions_in(context.request())
        named.sort(key=lambda mention: mention.kind is not MentionKind.CHECKPOINT)  # words come before results of calls
        missed = [mention for mention in named if not await self._bring(context, mention)]
        if noted := [mention for mention in missed if mention.is_meant]:
            await self._note_missed(context, noted)
        if context.brief:
            for path in paths_in(context.request())[:MOST_FOR_A_SMALL_MODEL]:
                if (mention := Mention(MentionKind.FILE, path)) not in named:
                    await self._bring(context, mention)
        return await self._read_resources(context, [one for one in named if one.kind is MentionKind.RESOURCE])

    async def _bring(self, context: TurnContext, mention: Mention) -> bool:
        """Return False if this names nothing that can be read without asking. Resources are only looked up: they are read together."""
        if mention.kind is MentionKind.CHECKPOINT:
            words = await describe_checkpoint(self._snapshots, context.chat.id, mention.name)
            if words is not None:
                await self._recorder.note(context, words, {CHECKPOINT_NOTE: mention.name})
            return words is not None
        call = self._call(context, mention)
        if call is None or mention.kind is MentionKind.RESOURCE:
            return call is not None
        if not await self._toolrunner.passes_unasked(context, call):
            return False
        await self._recorder.record_own_call(context, call, reference=True)
        await self._toolrunner.run(context)
        return True

    async def _note_missed(self, context: TurnContext, missed: Sequence[Mention]) -> None:
        names = [str(mention) for mention in missed]
        words = f"Not found, or not readable without asking: {', '.join(names)}."
        await self._recorder.note(context, words, {"not_found": [*names]})

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
            case MentionKind.CHECKPOINT:
                return None
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
        kind = MentionKind.RESOURCE if prefix == "mcp" else MentionKind(prefix)
        return Mention(kind, name) if name else None
    path = quoted_path or bare_path.rstrip(".-")
    name = path.rstrip("/")
    if not name:
        return None
    return Mention(MentionKind.FOLDER if path.endswith("/") else MentionKind.FILE, name)
