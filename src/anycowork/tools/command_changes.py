"""Settles a command's changes after it ran: commits them together, drops them together, or holds them for a person's approval."""

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

from anycowork.domain.errors import DeniedByRule, Refusal, ToolFault
from anycowork.domain.rules import ChangesDecision, Effect
from anycowork.domain.tool_ports import ToolContext
from anycowork.domain.tools import HeldChanges, Intent, ToolResult
from anycowork.sandbox.delta import Delta, UnusableDelta
from anycowork.sandbox.delta_check import CommitBlocker, CommitBlockerKind, may_change_nothing
from anycowork.sandbox.delta_diff import content, delta_diff, is_file
from anycowork.sandbox.stage import Staging
from anycowork.sandbox.transaction import CannotHold, Transaction, resume_transaction
from anycowork.tools.command_summary import CommandSummary, committed, dropped, joined, left_alone, partly_kept
from anycowork.tools.syntax_check import check_syntax, is_checked
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, is_git_control, shown
from anycowork.workspace.uncancellable import run_uncancellable

MOST_CHECKED = 20
MOST_DRAWN = 200  # line diffs of a result: the checkpoint shows the others when somebody looks at them


async def settle_changes(
    transaction: Transaction,
    command: str,
    result: ToolResult,
    tool_context: ToolContext,
    *,
    by_itself: bool,
    whose: str = "This role",
    within: WorkspacePath | None = None,
) -> ToolResult:
    """`result` is the command's output; the returned result also describes its changes. Held changes are passed to `tool_context.hold`.

    `whose` names the holder of the permissions; `within` is the only place that may change. Raises: ToolFault.
    """
    if may_change_nothing(tool_context.permissions):
        return joined(result, left_alone(whose))
    if not by_itself:
        return joined(result, dropped("What it had changed so far was dropped."))
    try:
        delta = await asyncio.to_thread(transaction.look)
    except UnusableDelta as unusable:
        return joined(result, dropped(unusable.message, code=unusable.code))
    if transaction.jail.origin != transaction.jail.root:
        # Only files of the workspace come back from a task's private copy; two histories cannot be merged like files.
        delta.changes = [change for change in delta.changes if not is_git_control(change.place.parts)]
    if not delta:
        return joined(result, committed(delta, None, ()))
    result, left_out = await _leave_out(transaction, result)
    if beyond := _beyond(delta, within):
        says = f"It was to work on '{shown(within.path) if within else ''}' and changed '{shown(beyond)}' too. None of its changes was kept."
        return joined(result, dropped(says, code="beyond_its_path", paths=(beyond,)))
    decision = (
        await tool_context.check_changes(await asyncio.to_thread(transaction.manifest))
        if tool_context.check_changes is not None
        else ChangesDecision()
    )
    blocker = await asyncio.to_thread(
        transaction.find_blocker, tool_context.permissions, _named(tool_context, decision), whose
    )
    if blocker is not None and blocker.why is not CommitBlockerKind.NEEDS_APPROVAL:
        return joined(result, _dropped_by(blocker))
    if decision.effect is Effect.DENY:
        return joined(
            result, dropped(f"{decision.why} None of the command's changes was kept.", code=DeniedByRule.code)
        )
    why = _reasons(blocker, decision, tool_context, left_out)
    if not why:
        return joined(result, await _commit(transaction, command, tool_context))
    if tool_context.hold is None:
        return joined(
            result,
            _dropped_by(blocker) if blocker else dropped(" ".join(why), code=CommitBlockerKind.NEEDS_APPROVAL.value),
        )
    every_time = blocker is not None or decision.effect is Effect.ASK
    drawn = await asyncio.to_thread(delta_diff, transaction.delta, transaction.stage.upper, transaction.jail)
    return await _hold(transaction, command, HeldChanges(why, drawn.text, result, every_time), tool_context.hold)


async def commit_now(staging: Staging, jail: Jail, held: Intent, tool_context: ToolContext) -> ToolResult:
    """Commits held changes after a person allowed them: checks them again, as if the command had just ended.

    Raises: ToolFault (StateChanged if they, or the files beneath them, are not as shown).
    """
    assert held.held is not None  # nothing else is ever held
    transaction = await asyncio.to_thread(resume_transaction, staging, jail, held)
    try:
        blocker = await asyncio.to_thread(transaction.find_blocker, tool_context.permissions, lambda path: True)
        if blocker is not None:
            raise UnusableDelta(blocker.message)
        transaction.pledged = True  # the call that waits names its stage
        return joined(held.held.result, await _commit(transaction, held.command or "", tool_context))
    finally:
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, transaction.end))


async def _leave_out(transaction: Transaction, result: ToolResult) -> tuple[ToolResult, tuple[str, ...]]:
    """Takes refused changes out of the delta where the rest can do without; returns the result that tells it, and the sentence."""
    found = await asyncio.to_thread(transaction.leave_out)
    if found is None:
        return result, ()
    return joined(result, partly_kept(found.message, found.paths)), (found.message,)


async def _hold(
    transaction: Transaction, command: str, held: HeldChanges, hold: Callable[[Intent], None]
) -> ToolResult:
    try:
        hold(await run_uncancellable(lambda: transaction.hold(command, held)))
    except CannotHold as fault:
        return joined(held.result, dropped(fault.message, code=fault.code))
    return held.result


async def _commit(transaction: Transaction, command: str, tool_context: ToolContext) -> CommandSummary:
    delta = transaction.delta
    drawn = await asyncio.to_thread(
        partial(delta_diff, delta, transaction.stage.upper, transaction.jail, most_drawn=MOST_DRAWN)
    )
    spoilt = await asyncio.to_thread(_unparsable, delta, transaction.stage.upper)
    intent = await asyncio.to_thread(transaction.intent, command)
    try:
        if tool_context.keep is not None:
            await tool_context.keep(intent, delta.replaced.files)
        transaction.pledged = True
        if tool_context.intend is not None:
            await tool_context.intend(intent, delta.replaced.files)
    except (ToolFault, Refusal):
        transaction.pledged = False  # refused before it was recorded, so nobody needs the stage
        raise
    applied = await run_uncancellable(transaction.commit)
    if tool_context.committed is not None:
        tool_context.committed(applied.conflicts)
    return await asyncio.to_thread(committed, delta, drawn, tuple(applied.conflicts), spoilt)


def _unparsable(delta: Delta, upper: Path) -> dict[str, str]:
    """Returns the files that no longer parse, and why: `sed` breaks a file as easily as an edit."""
    staged, found = Jail(str(upper)), {}
    files = (change for change in delta.changes if is_file(change.after) and is_checked(change.place.path))
    for change in islice(files, MOST_CHECKED):
        checked = check_syntax(change.place.path, content(staged, change.place, change.after) or b"")
        if checked is not None and not checked.ok:
            found[change.place.path] = checked.message
    return found


def _reasons(
    blocker: CommitBlocker | None, decision: ChangesDecision, tool_context: ToolContext, left_out: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns why a person must approve existing changes; empty if nobody must."""
    found = []
    if blocker is not None:
        found.append(blocker.asks)
    if decision.effect is Effect.ASK:
        found.append(decision.why)
    if tool_context.asks_at_commit:
        found.append("No rule covers it.")
    return ("It has run, and its changes wait for your word.", *found, *left_out) if found else ()


def _beyond(delta: Delta, within: WorkspacePath | None) -> str | None:
    """Returns a path that was changed elsewhere. Folders that lead to the place may have been created for it."""
    if within is None:
        return None
    return next((p.path for p in delta.paths() if not within.holds(p) and not p.holds(within)), None)


def _dropped_by(blocker: CommitBlocker) -> CommandSummary:
    return dropped(blocker.message, code=blocker.why.value, paths=blocker.paths)


def _named(tool_context: ToolContext, decision: ChangesDecision) -> Callable[[str], bool]:
    return lambda path: path in decision.named or tool_context.named(path)
