"""The ports: Protocols that inner packages depend on. Adapters implement them; `app.py` wires both together."""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol, assert_never

from anycowork.domain.events import EventType
from anycowork.domain.messages import Message
from anycowork.domain.path_class import is_key_file
from anycowork.domain.tools import Call
from anycowork.domain.values import value


class Clock(Protocol):
    def now(self) -> str:
        """RFC 3339, UTC, microseconds."""

    def monotonic(self) -> float: ...
    def new_id(self) -> str:
        """UUIDv7."""


@value
class MessagePage:
    """`bodies` are the messages as wire JSON, ascending; `next` is the cursor for the next page, or None."""

    bodies: tuple[bytes, ...]
    last_seq: int
    next: str | None


@value
class RecentMessages:
    """The newest messages of a chat, ascending. `complete` if there are no older ones."""

    messages: list[Message]
    complete: bool


@value
class UnfinishedText:
    message_id: str
    kind: EventType
    text: str


@value
class PastCall:
    """A recorded call. `resource` is what a person was shown, if one was asked."""

    call: Call
    workspace: str
    resource: str | None


@value
class SuppliedFile:
    """A file from the data folder or a workspace. `text` is None if it could not be read, and `fault` says why.

    `trusted`: a person trusted exactly this content, or it is in the data folder, which belongs to the person. `changed`: the person
    trusted another content. `text` is what a person is shown: invisible characters are escaped.
    """

    path: str
    text: str | None
    sha256: str = ""
    trusted: bool = False
    fault: str | None = None
    changed: bool = False


def names_nothing(path: str) -> bool:
    """Returns False: outside a plan no step names any path."""
    return False


class ContentReader(StrEnum):
    """Who would be told a content. A model, and every tool and program that works for it, is the agent; a viewer decides nothing."""

    AGENT = "agent"
    DECIDER = "decider"
    VIEWER = "viewer"


class Telling(StrEnum):
    """Who may see the content of a path. `AFTER_DECISION`: the agent after a person allowed it, and a person who may decide after they asked
    to see it."""

    TOLD = "told"
    AFTER_DECISION = "after_decision"
    NEVER = "never"


@value
class HiddenPathRules:
    """Paths that may not be read or revealed, and the one function that says who may see which of them: `may_be_told`.

    `patterns` come from the rules; `hides` decides, by the path from the root. What it `withholds` (key files that no rule allows, and what
    rules ask about) is searched only if the call names exactly that file, and programs in the sandbox cannot read it. `asking` and `asks`
    are for rules that ask; `named` is what a person allowed by name.
    """

    patterns: tuple[str, ...] = ()
    hides: Callable[[str], bool] = names_nothing
    withholds: Callable[[str], bool] = names_nothing
    asking: tuple[str, ...] = ()
    asks: Callable[[str], bool] = names_nothing
    named: frozenset[str] = frozenset()

    def covers(self, path: str) -> bool:
        """Whether a rule keeps this path from programs in the sandbox."""
        return self.hides(path) or self.asks(path)

    def may_be_told(self, path: str, reader: ContentReader) -> Telling:
        """Returns whether the content of this path may be told to this reader: by a tool, an error, a difference, a search, a prompt, an
        answer, an event or an export."""
        match reader:
            case ContentReader.AGENT:
                if self.hides(path):
                    return Telling.NEVER
                return Telling.AFTER_DECISION if self.withholds(path) else Telling.TOLD
            case ContentReader.DECIDER:
                return Telling.AFTER_DECISION if self.hides(path) or is_key_file(path) else Telling.TOLD
            case ContentReader.VIEWER:
                return Telling.NEVER if self.covers(path) or is_key_file(path) else Telling.TOLD
            case _:
                assert_never(reader)

    def tells(self, path: str) -> bool:
        """Whether the agent may be told the content of this path without a person's decision."""
        return self.may_be_told(path, ContentReader.AGENT) is Telling.TOLD


NOTHING_HIDDEN = HiddenPathRules()
# Names that do not exist, at several depths: if all of these are hidden in a folder, the whole folder is hidden.
ANYTHING_INSIDE = ("\x01", "\x01/\x01", "\x01/\x01/\x01/\x01/\x01")


class Workspace(Protocol):
    """A folder that tools work in. `root` is its real, absolute path. A private copy has the workspace that it was copied from as its
    `origin`: rules, prompts and commands know it by that path."""

    @property
    def root(self) -> str: ...
    @property
    def origin(self) -> str: ...

    def file_hash(self, path: str) -> str | None:
        """Returns the SHA-256 of a regular file inside; None if there is none. Raises: OutsideWorkspace."""

    def has_entry(self, path: str) -> bool:
        """Returns whether anything is at this path. Raises: OutsideWorkspace."""

    def quick_checks(self) -> Sequence[str]:
        """Returns the commands that run the project's own tests, those in its own environment first; none if it has no tests."""

    def small_text(self, path: str) -> str:
        """Returns the text of a file inside; empty if there is none, or it is large. Blocking."""

    def find_files(self, matches: Callable[[str], bool], most: int) -> Sequence[tuple[str, str]]:
        """Returns the files whose paths match, at most so many, each with the path that it leads to if it is a link. Blocking."""

    def file_hashes(self, most: int) -> Mapping[str, str] | None:
        """Returns the SHA-256 of each file that git does not ignore; None if there are more than `most`. Blocking."""

    def first_paths(self, limit: int, hidden: HiddenPathRules = NOTHING_HIDDEN) -> tuple[list[str], bool]:
        """Returns a short, stable list of the files inside, without hidden ones, and whether there are more. Blocking."""

    def ignored_among(self, paths: Sequence[str], *, by_name_only: bool = False) -> list[str]:
        """Returns the topmost entries at or above these paths that git ignores, or that hold generated files. Blocking.

        `by_name_only`: only folders that always hold generated files, whatever ignore files say.
        """

    def clear_leftovers(self, path: str) -> None:
        """Removes temporary files that a killed process left beside this path. Only while nobody writes in the workspace."""


class TaskWorkspaces(Protocol):
    """The workspaces of a job's writing tasks, each apart from the others: a layer over the workspace that it starts from, or a copy of it.

    `Workspaces.open` opens one like any other workspace.
    """

    async def create(self, root: str) -> str:
        """Starts from a workspace, or from a task's own; returns the new one's root. It stays until it is removed. Raises: ToolFault,
        BadWorkspace."""

    async def remove(self, copy: str) -> None:
        """Removes a copy with everything in it; one that is gone already is no fault."""

    async def has_commits(self, copy: str) -> bool:
        """Returns whether commits were made with git in the copy. They cannot be merged like files."""

    async def keep_only(self, needed: Collection[str]) -> None:
        """Removes all other copies, which an earlier server left."""


@value
class RolledForward:
    """`conflicts` are the paths that matched neither the state before nor the intended state: they are left unchanged."""

    conflicts: tuple[str, ...] = ()
