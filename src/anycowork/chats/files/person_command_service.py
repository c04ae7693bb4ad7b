"""Runs the commands that a person types for themselves in a chat's workspace: recorded before and after, kept for undo, stopped on request.

A command holds the workspace's lease while it runs, so no agent writes at the same time. No model reaches this service: it is no tool.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from functools import partial

from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.checkpoints.workspace_images import KeptWorkspace
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import AnyCoworkError, Conflict, NotAllowed, NotFound, ToolFault
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, RemoveChat, RequireLease, Write
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.person_commands import PERSON_COMMAND, CommandEnd, CommandResult, has_unended_command
from anycowork.domain.ports import Clock
from anycowork.domain.principals import ACCESS_SCOPES, Principal, Scope
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.values import mutable_value, replace, value
from anycowork.permissions.policy import admit_own_command
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.people import People
from anycowork.store.sql.store import Store
from anycowork.tools.person_terminal import PersonShell, PersonTerminal, TerminalSize
from anycowork.turns.lookup import require_chat, require_chat_in_folder
from anycowork.turns.record_factory import RecordFactory
from anycowork.turns.turn_scheduler import InternalError
from anycowork.workspace.folder import Folder

log = logging.getLogger(__name__)
MOST_SHOWN = 200_000  # characters of a running command's output; its end brings all of it
EVERY_SECONDS = 0.1
RETRY_SECONDS = 1.0

AccessEnd = Callable[[], Awaitable[None]]
"""Returns when something that the person was let in with has ended."""


@value
class CommandsOffer:
    """Whether people may run commands on this server; `reason` says why not."""

    reason: str | None
    running: tuple[Json, ...]


@mutable_value
class _RunningCommand:
    id: str
    chat: Chat
    command: str
    by: str
    message_id: str
    started_at: str
    terminal: PersonTerminal | None = None
    output: list[str] = field(default_factory=list)
    length: int = 0
    shown: int = 0
    timer: asyncio.TimerHandle | None = None
    stopped: bool = False
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "command": self.command,
            "started_at": self.started_at,
            "output": "".join(self.output)[: self.shown],
            "terminal": self.terminal is not None,
        }


class PersonCommandService:
    """`refused` says why people run no commands on this server; None where they may. `others_write` tells whether another server on the
    database writes in a folder."""

    def __init__(
        self,
        *,
        store: Store,
        people: People,
        journal: Journal,
        writer: PersonChangeWriter,
        shell: PersonShell,
        clock: Clock,
        tasks: asyncio.TaskGroup,
        refused: str | None,
        others_write: Callable[[str], Awaitable[bool]] | None,
    ) -> None:
        self._store = store
        self._people = people
        self._journal = journal
        self._writer = writer
        self._shell = shell
        self._clock = clock
        self._tasks = tasks
        self._refused = refused
        self._others_write = others_write
        self._draft = RecordFactory(clock)
        self._running: dict[str, _RunningCommand] = {}

    async def offer(self, principal: Principal, chat_id: str) -> CommandsOffer:
        """Returns whether commands can be run, and those of the chat that run now. Raises: NotAllowed, NotFound."""
        admit_own_command(principal)
        await require_chat(self._store, chat_id)
        mine = (running for running in self._running.values() if running.chat.id == chat_id)
        return CommandsOffer(self._refused, tuple(running.to_json() for running in mine))

    async def start(
        self,
        principal: Principal,
        chat_id: str,
        command: str,
        terminal: PersonTerminal | None = None,
        *,
        session_end: AccessEnd | None = None,
    ) -> str:
        """Records the command or the terminal, starts it, and returns its id. It is stopped when `session_end` returns.

        Raises: NotAllowed, NotFound, Conflict, BadWorkspace.
        """
        by = admit_own_command(principal)
        if self._refused is not None:
            raise NotAllowed(self._refused)
        chat = await require_chat_in_folder(self._store, chat_id)
        if any(other.chat.workspace == chat.workspace for other in self._running.values()):
            raise Conflict("Another command or terminal of yours runs in this workspace. Wait for its end, or stop it.")
        running = _RunningCommand(
            self._clock.new_id(), chat, command, by, self._clock.new_id(), self._clock.now(), terminal
        )
        self._running[running.id] = running
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks.create_task(self._run(principal, running, begun, self._ends_of_access(principal, session_end)))
        await begun
        return running.id

    async def removal_of(self, chat_id: str) -> RemoveChat:
        """Returns the write that deletes the chat. It is refused if a command or terminal of a person begins there meanwhile, on any server:
        a start is recorded first. Raises: NotFound; Conflict if one runs, because its end would be recorded nowhere."""
        chain = await self._store.chats.chain(chat_id)
        if chain is None:
            raise NotFound("chat", chat_id)
        if any(running.chat.id == chat_id for running in self._running.values()):
            raise Conflict("A command or terminal of a person runs in this chat. Stop it before you delete the chat.")
        if await self._runs_elsewhere(chat_id):
            raise Conflict(
                "A command or terminal of a person runs in this chat, on another server. Stop it there before you delete the chat."
            )
        return RemoveChat(chain)

    async def _runs_elsewhere(self, chat_id: str) -> bool:
        """A command that runs has its start recorded and no end, and its server has the workspace's lease, which ends within seconds if the
        server dies."""
        if self._others_write is None or (chat := await self._store.chats.find(chat_id)) is None:
            return False
        return await self._others_write(chat.workspace) and has_unended_command(await self._store.messages.all(chat_id))

    def open_terminals(self, by: str) -> int:
        """Returns how many terminals this person has open."""
        return sum(running.terminal is not None and running.by == by for running in self._running.values())

    def terminal(self, by: str, chat_id: str, terminal_id: str) -> PersonTerminal | None:
        """Returns this person's open terminal; None if it is over or somebody else's."""
        running = self._running.get(terminal_id)
        return running.terminal if running is not None and (running.by, running.chat.id) == (by, chat_id) else None

    async def stop(self, principal: Principal, chat_id: str, command_id: str) -> None:
        """Stops the command; returns when its end is recorded. Raises: NotAllowed; NotFound if it does not run."""
        admit_own_command(principal)
        running = self._running.get(command_id)
        if running is None or running.chat.id != chat_id:
            raise NotFound("running command", command_id)
        running.stopped = True
        await running.done.wait()

    async def aclose(self) -> None:
        """Stops every command, and returns when their ends are recorded."""
        for running in list(self._running.values()):
            running.stopped = True
            await running.done.wait()

    async def _run(
        self, principal: Principal, running: _RunningCommand, begun: asyncio.Future[None], ends: list[AccessEnd]
    ) -> None:
        try:
            async with (
                self._writer.writing(running.chat.workspace, principal) as (workspace, epoch),
                self._stopped_without_access(running, ends),
            ):
                await self._record_start(running, workspace, epoch)
                begun.set_result(None)
                await self._run_and_record(running, workspace, epoch)
        except AnyCoworkError as error:
            self._fail(running, begun, error)
        except Exception:  # top level of a command: whatever fails, the server goes on
            log.exception("the person's command %s failed inside AnyCowork", running.id)
            self._fail(running, begun, InternalError("An internal error occurred; see the log."))
        finally:
            if not begun.done():
                begun.cancel()
            del self._running[running.id]
            self._journal.drop_output(running.chat.id, running.message_id)
            running.done.set()

    def _ends_of_access(self, principal: Principal, session_end: AccessEnd | None) -> list[AccessEnd]:
        """Returns what to wait for: the end of the browser's session, and of the person's access. The owner's access does not end."""
        ends = [] if session_end is None else [session_end]
        if principal.person is not None:
            ends.append(partial(self._lost_access, principal.person.id))
        return ends

    async def _lost_access(self, person_id: str) -> None:
        person = await self._people.find(person_id)
        if person is not None and Scope.MANAGE in ACCESS_SCOPES[person.access]:
            await self._people.lost_access(person)

    @asynccontextmanager
    async def _stopped_without_access(self, running: _RunningCommand, ends: list[AccessEnd]) -> AsyncIterator[None]:
        """Meanwhile the command is stopped when one of these returns, whether or not a page follows it."""
        watches = [self._tasks.create_task(_stop_at(running, end)) for end in ends]
        try:
            yield
        finally:
            for watch in watches:
                watch.cancel()
            if watches:
                await asyncio.wait(watches)

    def _fail(self, running: _RunningCommand, begun: asyncio.Future[None], error: AnyCoworkError) -> None:
        if begun.done():
            log.warning("the end of the person's command %s was not recorded: %s", running.id, error.message)
        else:
            begun.set_exception(error)

    async def _run_and_record(self, running: _RunningCommand, workspace: Folder, epoch: int) -> None:
        state_before, not_kept = None, None
        try:
            state_before, not_kept = await self._writer.keep(workspace)
            result = await self._run_program(running, workspace)
        except (ToolFault, Conflict) as fault:
            result = CommandResult(CommandEnd.NOT_STARTED, None, fault.message, 0.0)
        finally:
            if running.timer is not None:
                running.timer.cancel()
        await self._record_end(running, result, state_before, not_kept, workspace, epoch)

    async def _run_program(self, running: _RunningCommand, workspace: Folder) -> CommandResult:
        if running.terminal is not None:
            return await running.terminal.run(workspace, is_stopped=lambda: running.stopped)
        return await self._shell.run(
            workspace,
            running.command,
            on_output=lambda text: self._show(running, text),
            is_stopped=lambda: running.stopped,
        )

    def _show(self, running: _RunningCommand, text: str) -> None:
        piece = text[: MOST_SHOWN - running.length]
        running.output.append(piece)
        running.length += len(piece)
        if piece and running.timer is None:
            running.timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._publish, running)

    def _publish(self, running: _RunningCommand) -> None:
        running.timer = None
        text = "".join(running.output)
        piece, offset = text[running.shown :], running.shown
        running.output, running.shown = [text], len(text)
        self._journal.show(running.chat.id, None, running.id, running.message_id, offset, piece)

    async def _record_start(self, running: _RunningCommand, workspace: Folder, epoch: int) -> None:
        facts: Json = {"id": running.id, "command": running.command, "by": running.by}
        payload: Json = {PERSON_COMMAND: {**facts, "terminal": running.terminal is not None}}
        note = f"You run a command of your own: {running.command}"
        if running.terminal is not None:
            note = "You opened a terminal."
        message = self._draft.message(running.chat, Speaker.SYSTEM, note, payload=payload)
        writes = (RequireLease(workspace.root, epoch), message)
        await self._journal.write(Change(running.chat.id, writes, principal=running.by))

    async def _record_end(
        self,
        running: _RunningCommand,
        result: CommandResult,
        state_before: KeptWorkspace | None,
        not_kept: str | None,
        workspace: Folder,
        epoch: int,
    ) -> None:
        snapshots, fault = await self._writer.changes_since(state_before, running.id, running.chat, workspace)
        message = self._ended(running, result, snapshots, not_kept or fault)
        events: tuple[NewEvent, ...] = tuple(event_factory.snapshot(snapshot) for snapshot in snapshots)
        labels = await self._writer.origins_of(workspace, snapshots, unknown=bool(not_kept or fault))
        writes: tuple[Write, ...] = (RequireLease(workspace.root, epoch), *snapshots, *labels, message)
        await self._journal.write(Change(running.chat.id, writes, events, principal=running.by))

    def _ended(
        self, running: _RunningCommand, result: CommandResult, snapshots: tuple[Snapshot, ...], not_kept: str | None
    ) -> Message:
        facts: Json = {
            "id": running.id,
            "command": running.command,
            "by": running.by,
            "ended": result.ended.value,
            "exit_code": result.exit_code,
            "seconds": round(result.seconds, 3),
            "output": result.output,
            "files": snapshots[-1].files if len(snapshots) > 1 else None,
            "snapshot": snapshots[0].id if snapshots else None,
            "no_undo": not_kept,
            "terminal": running.terminal is not None,
        }
        note = f"You ran a command of your own ({_how(result)}): {running.command}"
        if running.terminal is not None:
            note = f"You had a terminal open for {result.seconds:,.0f} seconds ({_how(result)})."
        message = self._draft.message(running.chat, Speaker.SYSTEM, note, payload={PERSON_COMMAND: facts})
        return replace(message, id=running.message_id)


async def _stop_at(running: _RunningCommand, end: AccessEnd) -> None:
    """A database that does not answer ends nobody's access: it is asked again."""
    while not running.stopped:
        try:
            await end()
            running.stopped = True
        except AnyCoworkError:
            await asyncio.sleep(RETRY_SECONDS)


def _how(result: CommandResult) -> str:
    match result.ended:
        case CommandEnd.EXITED:
            return f"exit code {result.exit_code}"
        case CommandEnd.STOPPED:
            return "stopped"
        case CommandEnd.TIMED_OUT:
            return "ended at the time limit"
        case CommandEnd.TOO_MUCH_OUTPUT:
            return "ended because it printed too much"
        case CommandEnd.NOT_STARTED:
            return "not started"


MOST_OPEN = 4  # of one person
TERMINAL = "terminal"  # what stands for its command in the record


class TerminalService:
    def __init__(self, *, commands: PersonCommandService, shell: PersonShell) -> None:
        self._commands = commands
        self._shell = shell

    async def open(
        self, principal: Principal, chat_id: str, size: TerminalSize, *, session_end: AccessEnd | None = None
    ) -> str:
        """Records and starts a terminal, and returns its id. Raises: NotAllowed, NotFound, Conflict, BadWorkspace."""
        by = admit_own_command(principal)
        if self._commands.open_terminals(by) >= MOST_OPEN:
            raise Conflict(f"You have {MOST_OPEN} terminals open already. Close one of them first.")
        terminal = PersonTerminal(self._shell, size)
        return await self._commands.start(principal, chat_id, TERMINAL, terminal, session_end=session_end)

    def find(self, principal: Principal, chat_id: str, terminal_id: str) -> PersonTerminal:
        """Returns an open terminal of this person. Raises: NotAllowed, NotFound."""
        by = admit_own_command(principal)
        terminal = self._commands.terminal(by, chat_id, terminal_id)
        if terminal is None:
            raise NotFound("terminal", terminal_id)
        return terminal
