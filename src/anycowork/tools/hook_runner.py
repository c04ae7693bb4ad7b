"""Runs a hook: in the sandbox, with the workspace read-only and without network, with a deadline, and JSON on its stdin."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec
from pydantic import JsonValue

from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.hooks import Hook, HookEvent, HookOutcome, HookRuns, failed_outcome, read_outcome
from anycowork.domain.origins import Origins
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.values import replace
from anycowork.domain.visible_text import os_reason
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.secrets.masks import cover
from anycowork.sandbox.stdio_program import first_line, start_words, starter_paths
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult, SandboxedProgram
from anycowork.workspace.folder import Folder

log = logging.getLogger(__name__)
_MOST_OUTPUT = 64 * 1024
_ROOT_NAMES = ("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT")
_ENDINGS = {
    ChildEnding.TIMED_OUT: "it took longer than its deadline",
    ChildEnding.TOO_MUCH_OUTPUT: "it printed too much",
    ChildEnding.DISK_FULL: "the disk is full",
}


class HookRunner:
    """`sandbox` None: this machine has none, so no hook runs, and a call that one looks at asks.

    A hook sees the whole workspace, so its words may come from any file: `origins` returns where those of a workspace came from.
    """

    def __init__(self, sandbox: Sandbox | None, origins: Callable[[str], Awaitable[Origins]]) -> None:
        self._sandbox = sandbox
        self._origins = origins
        self.last: dict[Hook, HookOutcome] = {}
        """The newest outcome of each hook since the start of the server."""

    async def run(
        self,
        hooks: Iterable[Hook],
        event: HookEvent,
        subject: str,
        payload: Mapping[str, JsonValue],
        folder: Folder,
        hidden: HiddenPathRules,
    ) -> HookRuns:
        """Runs the hooks that look at this, in their order. Never raises but for a cancellation: a failure is an outcome."""
        runs = []
        for hook in hooks:
            if hook.event is not event or not hook.looks_at(subject):
                continue
            hook_input = {"hook_event_name": event.value, "cwd": folder.origin, **payload}
            outcome = await self._outcome(hook, hook_input, folder, hidden)
            if outcome.has_words:
                outcome = replace(outcome, origins=await self._origins(folder.origin))
            self.last[hook] = outcome
            if outcome.failed:
                log.warning("hook %r of %s failed: %s", hook.command[:80], hook.source, outcome.failed)
            runs.append((hook, outcome))
        return tuple(runs)

    async def _outcome(
        self, hook: Hook, payload: Mapping[str, JsonValue], folder: Folder, hidden: HiddenPathRules
    ) -> HookOutcome:
        if self._sandbox is None:
            return failed_outcome(hook.event, "this machine has no sandbox for hooks")
        try:
            child = await self._run(self._sandbox, hook, payload, folder, hidden)
        except (AnyCoworkError, OSError) as error:
            return failed_outcome(hook.event, os_reason(error)[:300])
        if child.how is not ChildEnding.ITSELF:
            return failed_outcome(hook.event, _ENDINGS[child.how])
        return read_outcome(hook.event, child.exit_code, child.output, child.errors)

    async def _run(
        self,
        sandbox: Sandbox,
        hook: Hook,
        payload: Mapping[str, JsonValue],
        folder: Folder,
        hidden: HiddenPathRules,
    ) -> ChildResult:
        """Raises: ToolFault, OSError."""
        jail = folder.jail
        async with sandbox.read_only(jail.root) as stage:
            covered = await asyncio.to_thread(cover, jail, stage, hidden, sandbox.key_files, sandbox.hidden_paths)
            try:
                sight, environment = await asyncio.to_thread(sandbox.view_of_tools, jail.root, stage.runner)
                # What plugins know their own folder and the project by.
                roots = [hook.root] if hook.root else []
                environment |= {
                    "CLAUDE_PROJECT_DIR": jail.origin,
                    **dict.fromkeys(_ROOT_NAMES if roots else (), hook.root),
                }
                program = SandboxedProgram(
                    sandbox,
                    command=start_words(is_confined=True),
                    bounds=ChildLimits(seconds=hook.seconds, output=_MOST_OUTPUT),
                    stdin=first_line(["/bin/bash", "-c", hook.command], environment) + msgspec.json.encode(payload),
                    sight=replace(sight, paths=tuple(dict.fromkeys((*starter_paths(), *sight.paths, *roots)))),
                )
                child, _ = await program.run(jail.origin, stage, source=jail.layers, covered=covered)
                return child
            finally:
                covered.close()
