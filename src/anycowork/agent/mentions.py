"""Brings what a person names with `@` before the model is called: `@path` reads a file, `@folder/` lists a folder, `@symbol:name` finds
where a name is defined, `@mcp:server:uri` reads a resource of an MCP server. Each is an ordinary call: it passes the gate, is recorded,
and is shown. `@checkpoint:id` is expanded to what that checkpoint changed. A path that is not readable without asking is not read, and a
note says so; a resource asks if its server's tool does. For a small model a plain file name is enough, also one in a command."""

import re
from collections.abc import Sequence
from enum import StrEnum

from anycowork.agent.request_paths import paths_in, paths_in_commands
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.messages import CHECKPOINT_NOTE
from anycowork.domain.origins import WORKSPACE, join
from anycowork.domain.snapshots import PathImage, PathKind, Snapshot, SnapshotMoment, shown_path
from anycowork.domain.tools import Call, Provenance
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.store.sql.store import Store

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
    def __init__(self, *, recorder: TurnRecorder, toolrunner: ToolRunner, snapshots: Store) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner
        self._snapshots = snapshots

    async def bring(self, context: TurnContext) -> bool:
        """Makes the calls at the beginning of a turn; returns False if a person must decide about one first. Raises: StorageFault."""
        if context.turn.steps or context.calls:
            return True
        mentions = mentions_in(context.conversation.request())
        mentions.sort(
            key=lambda mention: mention.kind is not MentionKind.CHECKPOINT
        )  # words come before results of calls
        missed = [mention for mention in mentions if not await self._bring(context, mention)]
        if noted := [mention for mention in missed if mention.is_meant]:
            await self._note_missed(context, noted)
        if context.brief:
            await self._bring_named(context, mentions)
        return await self._read_resources(
            context, [named_mention for named_mention in mentions if named_mention.kind is MentionKind.RESOURCE]
        )

    async def _bring(self, context: TurnContext, mention: Mention) -> bool:
        """Returns False if this names nothing that can be read without asking. Resources are only looked up: they are read together."""
        if mention.kind is MentionKind.CHECKPOINT:
            checkpoint = await find_checkpoint(self._snapshots, context.chat.id, mention.name)
            if checkpoint is not None:
                text, origins = describe_checkpoint(checkpoint, mention.name), join(checkpoint.origins, (WORKSPACE,))
                await self._recorder.note(context, text, {CHECKPOINT_NOTE: mention.name}, origins=origins)
            return checkpoint is not None
        call = self._call(context, mention)
        if call is None or mention.kind is MentionKind.RESOURCE:
            return call is not None
        if not await self._toolrunner.passes_unasked(context, call):
            return False
        await self._recorder.record_own_call(context, call, reference=True)
        await self._toolrunner.run(context)
        return True

    async def _bring_named(self, context: TurnContext, mentions: Sequence[Mention]) -> None:
        """Reads the first files that the request names without an `@`, also in a command: a small model seldom looks at the tests that
        its work must pass."""
        request, count = context.conversation.request(), 0
        for path in dict.fromkeys((*paths_in(request), *paths_in_commands(request))):
            if count == MOST_FOR_A_SMALL_MODEL:
                return
            mention = Mention(MentionKind.FILE, path)
            if mention not in mentions and context.has_file(path):
                count += await self._bring(context, mention)

    async def _note_missed(self, context: TurnContext, missed: Sequence[Mention]) -> None:
        names = [str(mention) for mention in missed]
        note = f"Not found, or not readable without asking: {', '.join(names)}."
        await self._recorder.note(context, note, {"not_found": [*names]})

    async def _read_resources(self, context: TurnContext, mentions: list[Mention]) -> bool:
        """All together, so that a person is asked once."""
        for call in [self._call(context, mention) for mention in mentions]:
            if call is not None:
                await self._recorder.record_own_call(context, call, reference=True)
        return not context.calls.open() or not isinstance(await self._toolrunner.run(context), CallsParked)

    def _call(self, context: TurnContext, mention: Mention) -> Call | None:
        """Builds the call that brings this; None if there is no such tool."""
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
    """Returns the first things named in this text, each once. Punctuation at the end of a sentence is not part of a name."""
    mentions: dict[Mention, None] = {}
    position = text.find("@")
    for _ in range(_MOST_SIGNS):
        if position < 0 or len(mentions) == MOST_MENTIONS:
            break
        matched = _MENTION.match(text, position)
        if matched and (mention := _mention(*(group or "" for group in matched.groups()))):
            mentions[mention] = None
        position = text.find("@", matched.end() if matched else position + 1)
    return list(mentions)


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


SHORTEST_NAME = 8
MOST_PATHS = 50
_PAGE, _MOST_PAGES = 500, 10


async def find_checkpoint(store: Store, chat_id: str, name: str) -> Snapshot | None:
    """Returns the checkpoint with this id, or whose id alone begins like this; None if the chat has none, or several."""
    matching = (
        [snapshot for snapshot in await _all(store, chat_id) if snapshot.id.startswith(name)]
        if len(name) >= SHORTEST_NAME
        else []
    )
    return await store.snapshots.find(chat_id, matching[0].id) if len(matching) == 1 else None


def describe_checkpoint(checkpoint: Snapshot, name: str) -> str:
    """Returns when the checkpoint was made and which paths it changed."""
    when = "before" if checkpoint.moment is SnapshotMoment.BEFORE else "after"
    head = f"[Checkpoint {name}, made at {checkpoint.created_at}, {when} a change of {_files(checkpoint)}"
    if checkpoint.pruned or not checkpoint.images:
        return f"{head}. Its content is no longer stored.]" if checkpoint.pruned else f"{head}.]"
    lines = [f"- {visible_line(UntrustedText(shown_path(image.path)))}{_state(image)}" for image in checkpoint.images]
    more = [f"- and {len(lines) - MOST_PATHS} more"] if len(lines) > MOST_PATHS else []
    return "\n".join([f"{head}:]", *lines[:MOST_PATHS], *more])


async def _all(store: Store, chat_id: str) -> list[Snapshot]:
    snapshots: list[Snapshot] = []
    before: int | None = None
    for _ in range(_MOST_PAGES):
        page, before = await store.snapshots.page(chat_id, before=before, limit=_PAGE)
        snapshots += page
        if before is None:
            break
    return snapshots


def _files(snapshot: Snapshot) -> str:
    return "1 path" if snapshot.files == 1 else f"{snapshot.files} paths"


def _state(image: PathImage) -> str:
    if image.kind is PathKind.ABSENT:
        return " (not there at that moment)"
    return f" (+{image.additions} -{image.deletions} lines)" if image.additions or image.deletions else ""
