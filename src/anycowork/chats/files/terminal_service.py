"""Terminals that people open for themselves in a chat's workspace: a person's command that goes on until its shell ends.

A terminal holds the workspace's lease while it is open, so no agent writes at the same time, and what it changed is known exactly.
"""

from anycowork.chats.files.person_command_service import PersonCommandService
from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.principals import Principal
from anycowork.permissions.direct_acts import admit_own_command
from anycowork.tools.person_shell import PersonShell
from anycowork.tools.person_terminal import PersonTerminal, TerminalSize

MOST_OPEN = 4  # of one person
TERMINAL = "terminal"  # what stands for its command in the record


class TerminalService:
    def __init__(self, *, commands: PersonCommandService, shell: PersonShell) -> None:
        self._commands = commands
        self._shell = shell

    async def open(self, principal: Principal, chat_id: str, size: TerminalSize) -> str:
        """Record and start a terminal, and return its id. Raises: NotAllowed, NotFound, Conflict, BadWorkspace."""
        by = admit_own_command(principal)
        if self._commands.open_terminals(by) >= MOST_OPEN:
            raise Conflict(f"You have {MOST_OPEN} terminals open already. Close one of them first.")
        return await self._commands.start(principal, chat_id, TERMINAL, PersonTerminal(self._shell, size))

    def find(self, principal: Principal, chat_id: str, terminal_id: str) -> PersonTerminal:
        """Return an open terminal of this person. Raises: NotAllowed, NotFound."""
        by = admit_own_command(principal)
        terminal = self._commands.terminal(by, chat_id, terminal_id)
        if terminal is None:
            raise NotFound("terminal", terminal_id)
        return terminal
