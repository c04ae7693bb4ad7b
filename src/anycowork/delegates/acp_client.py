"""Our side of the Agent Client Protocol: what a delegate tells and asks. Its text is data; its requests are held to the chat's permissions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any  # what the delegate sends beside the parameters

from acp.exceptions import RequestError
from acp.schema import (
    AllowedOutcome,
    CreateTerminalResponse,
    DeniedOutcome,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalExitStatus,
    TerminalOutputResponse,
    ToolCallUpdate,
    WaitForTerminalExitResponse,
)

from anycowork.delegates.sandbox_requests import MissingFile, RequestFailed, SandboxRequests
from anycowork.domain.question import Option, Question
from anycowork.domain.rules import Effect
from anycowork.domain.tool_ports import ToolContext
from anycowork.domain.tools import PathIntent
from anycowork.domain.values import value
from anycowork.mcp.definitions import plain_text
from anycowork.sandbox.commit.delta_check import may_change_nothing
from anycowork.workspace.text import lines_of

_IN_THE_COPY = frozenset({"read", "edit", "delete", "move", "search", "execute", "think"})
_CHANGING = frozenset({"edit", "delete", "move"})


class PermissionDecision(StrEnum):
    ALLOW = "allow"
    REFUSE = "refuse"
    ASK = "ask"


@value
class WantedPermission:
    """`kind` as the protocol names it; None if the delegate did not say. `outside` are paths beyond the workspace that it named."""

    kind: str | None
    paths: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """Returns the number of characters in its paths."""
        return sum(map(len, (*self.paths, *self.outside)))


def decide_permission(
    permission: WantedPermission, *, may_change: bool, denied: str | None
) -> tuple[PermissionDecision, str]:
    """Returns the decision, and why. `denied` is what a deny rule says of the paths."""
    if permission.outside:
        return PermissionDecision.REFUSE, f"'{permission.outside[0]}' lies outside the workspace."
    if denied is not None:
        return PermissionDecision.REFUSE, denied
    if permission.kind in _CHANGING and not may_change:
        return PermissionDecision.REFUSE, "This role may not change files."
    if permission.kind in _IN_THE_COPY:
        return PermissionDecision.ALLOW, "It happens in a private copy."
    return PermissionDecision.ASK, "Only a person can allow this."


def option_for(options: Sequence[tuple[str, str]], *, allow: bool) -> str | None:
    """Returns the id of the option that allows or rejects once, from `options` given as (id, kind). Never gives a standing answer."""
    answer = "allow_once" if allow else "reject_once"
    return next((option_id for option_id, kind in options if kind == answer), None)


MOST_TEXT = 1_000_000
MOST_KEPT_FROM = 100
MOST_TOLD = 1_000  # lines of progress in one task
LONGEST_PATH = 4_096
MOST_REMEMBERED = 2_000_000  # letters of ids and paths
_NOT_FOUND = -32002  # the protocol's code
_ALLOW, _REFUSE = "allow", "refuse"


class DelegateClient:
    """Implements the SDK's `Client`. `text` is what the delegate answered, `kept_from` what it was refused."""

    def __init__(self, name: str, root: str, requests: SandboxRequests, tool_context: ToolContext) -> None:
        self._name, self._root, self._requests, self._context = name, root, requests, tool_context
        self._kinds: dict[str, WantedPermission] = {}
        self._remembered = 0
        self._told = 0
        self._pieces: list[str] = []
        self._length = 0
        self.kept_from: list[str] = []
        self.calls = 0

    @property
    def text(self) -> str:
        return "".join(self._pieces).strip()

    def on_connect(self, conn: Any) -> None:
        pass  # requests go through the connection that the tool holds

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        match update.session_update:
            case "agent_message_chunk" if getattr(update.content, "type", "") == "text":
                self._take(update.content.text)
            case "tool_call" | "tool_call_update":
                if update.session_update == "tool_call":
                    self._begin_call(update)
                self._remember(update)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **kwargs: Any
    ) -> RequestPermissionResponse:
        """Returns the gate's decision. A person is asked only for what a private copy does not hold."""
        if tool_call.tool_call_id not in self._kinds:
            self._begin_call(tool_call)
        permission = self._wanted(tool_call)
        may_change = not may_change_nothing(self._context.permissions)
        decision, reason = decide_permission(
            permission, may_change=may_change, denied=await self._denied(permission.paths)
        )
        title = plain_text(tool_call.title or permission.kind or "something", 200)
        if decision is PermissionDecision.ASK:
            decision = PermissionDecision.ALLOW if await self._person_allows(title) else PermissionDecision.REFUSE
        if decision is PermissionDecision.REFUSE:
            self._keep_from(f"{title}: {reason}")
        chosen = option_for(
            [(option.option_id, option.kind) for option in options], allow=decision is PermissionDecision.ALLOW
        )
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    # --- files and terminals

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **kwargs: Any
    ) -> ReadTextFileResponse:
        await self._require_inside(path)
        try:
            text = await self._fulfilled(self._requests.read(path))
        except MissingFile:
            raise _missing_file(path) from None
        if line is not None or limit is not None:
            first = max(0, (line or 1) - 1)
            lines = lines_of(text)[first:]
            text = "".join(lines if limit is None else lines[:limit])
        return ReadTextFileResponse(content=text)

    async def write_text_file(self, session_id: str, path: str, content: str, **kwargs: Any) -> None:
        relative = await self._require_inside(path)
        if may_change_nothing(self._context.permissions):
            self._refuse(path, "this role may not change files")
        if (denied := await self._denied((relative,))) is not None:
            self._refuse(path, denied)
        await self._fulfilled(self._requests.write(path, content))

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: Sequence[Any] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **kwargs: Any,
    ) -> CreateTerminalResponse:
        if cwd is not None:
            await self._require_inside(cwd)
        environment: Mapping[str, str] = {variable.name: variable.value for variable in env or ()}
        argv = [command, *args] if args else ["bash", "-c", command]
        try:
            terminal = self._requests.start_terminal(
                argv, environment=environment, cwd=cwd, most_output=output_byte_limit
            )
        except RequestFailed as error:
            raise RequestError.invalid_params({"details": str(error)}) from None
        return CreateTerminalResponse(terminal_id=terminal)

    async def terminal_output(self, session_id: str, terminal_id: str, **kwargs: Any) -> TerminalOutputResponse:
        try:
            terminal = self._requests.output(terminal_id)
        except RequestFailed as error:
            raise RequestError.invalid_params({"details": str(error)}) from None
        status = None if terminal.exit_code is None else TerminalExitStatus(exit_code=max(0, terminal.exit_code))
        return TerminalOutputResponse(output=terminal.text, truncated=terminal.truncated, exit_status=status)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> WaitForTerminalExitResponse:
        code = await self._fulfilled(self._requests.wait(terminal_id))
        return WaitForTerminalExitResponse(exit_code=max(0, code))

    async def kill_terminal(self, session_id: str, terminal_id: str, **kwargs: Any) -> None:
        await self._fulfilled(self._requests.kill(terminal_id))

    async def release_terminal(self, session_id: str, terminal_id: str, **kwargs: Any) -> None:
        await self._fulfilled(self._requests.release(terminal_id))

    # --- what is decided with

    def _begin_call(self, call: Any) -> None:
        """Drops the text so far: the answer is what the agent says after its last call. Some agents announce a call by asking for its permission."""
        self._pieces.clear()
        self._length = 0
        self.calls += 1
        self._tell(f"[{self._name}] {plain_text(call.title or str(call.kind or 'a call'), 200)}\n")

    def _wanted(self, call: ToolCallUpdate) -> WantedPermission:
        self._remember(call)
        return self._merged(call)

    def _merged(self, call: Any) -> WantedPermission:
        """Joins the update with what is known of the call: a later update names only what changed."""
        earlier = self._kinds.get(call.tool_call_id, WantedPermission(None))
        paths = [str(item.path) for item in call.locations or ()]
        paths += [str(item.path) for item in call.content or () if getattr(item, "type", "") == "diff"]
        pairs = [(path, relative_to_root(path, self._root)) for path in paths[:100]]
        inside = tuple(relative for _, relative in pairs if relative is not None)
        outside = tuple(plain_text(path, 200) for path, relative in pairs if relative is None)
        kind = str(call.kind) if call.kind else earlier.kind
        return WantedPermission(kind, inside or earlier.paths, outside or earlier.outside)

    def _remember(self, call: Any) -> None:
        """Remembers the call while there is room: a delegate may name calls and paths without end."""
        permission, earlier = self._merged(call), self._kinds.get(call.tool_call_id)
        size = (
            permission.length
            + (0 if earlier is None else -earlier.length)
            + (len(call.tool_call_id) if earlier is None else 0)
        )
        if len(self._kinds) < 10_000 and self._remembered + size <= MOST_REMEMBERED:
            self._kinds[call.tool_call_id] = permission
            self._remembered += size

    async def _denied(self, paths: Sequence[str]) -> str | None:
        if not paths:
            return None
        changes = [PathIntent(path, None, "written by the agent") for path in paths]
        decision = await self._context.commit.check_changes(changes)
        return decision.why or "A rule denies it." if decision.effect is Effect.DENY else None

    async def _person_allows(self, title: str) -> bool:
        if self._context.ask is None:
            return False
        question = Question(
            type="question",
            question=f"May the agent '{self._name}' do this: {title}",
            context="It works on a private copy. This is something that the copy does not hold back.",
            options=(Option(label="Allow once", value=_ALLOW), Option(label="Refuse", value=_REFUSE)),
        )
        return await self._context.ask(question) == _ALLOW

    async def _require_inside(self, path: str) -> str:
        relative = relative_to_root(path, self._root)
        if relative is None:
            self._refuse(path, "it lies outside the workspace")
        assert relative is not None
        return relative

    def _refuse(self, path: str, reason: str) -> None:
        """Raises: RequestError."""
        self._keep_from(f"{plain_text(path, 200)}: {reason}")
        raise RequestError.invalid_params({"details": f"'{path[:200]}' is refused: {reason}."})

    async def _fulfilled(self, request: Awaitable[Any]) -> Any:
        try:
            return await request
        except MissingFile:
            raise
        except RequestFailed as error:
            raise RequestError.invalid_params({"details": str(error)}) from None

    def _keep_from(self, refusal: str) -> None:
        if len(self.kept_from) < MOST_KEPT_FROM:
            self.kept_from.append(refusal)
        self._tell(f"[{self._name}] refused: {refusal}\n")

    def _take(self, text: str) -> None:
        if text and self._length < MOST_TEXT:
            self._pieces.append(text[: MOST_TEXT - self._length])
            self._length += len(text)

    def _tell(self, line: str) -> None:
        """Shows the line, unless too many were shown: a delegate may send them without end."""
        progress: Callable[[str], None] | None = self._context.progress
        self._told += 1
        if progress is not None and self._told <= MOST_TOLD:
            progress(line)


def _missing_file(path: str) -> RequestError:
    """Returns the error for a missing file. Agents go by its code or by words in its message: each of these is needed by one of them."""
    return RequestError(_NOT_FOUND, f"Resource not found: ENOENT: No such file: '{path[:200]}'", {"uri": path[:200]})


def relative_to_root(path: str, root: str) -> str | None:
    """Returns the path from the workspace's root; None if it leads out or is too long. It follows no links: in the sandbox they lead
    nowhere else."""
    if len(path) > LONGEST_PATH:
        return None
    pure_path = PurePosixPath(path)
    parts: list[str] = []
    for part in (pure_path if pure_path.is_absolute() else PurePosixPath(root, path)).parts[1:]:
        if part == "..":
            if parts:
                parts.pop()
        else:
            parts.append(part)
    full = PurePosixPath("/", *parts)
    return str(full.relative_to(root)) if full.is_relative_to(root) else None
