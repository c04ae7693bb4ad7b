"""Settles a command's changes after it ran: commits them together, drops them together, or holds them for a person's approval."""

import asyncio
import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from anycowork.domain.errors import DeniedByRule, Refusal, ToolFault
from anycowork.domain.path_class import is_git_control
from anycowork.domain.rules import ChangesDecision, Effect
from anycowork.domain.tool_ports import CommitSession, ToolContext
from anycowork.domain.tools import HeldChanges, Intent, PathIntent, ToolResult
from anycowork.sandbox.commit.delta import Delta, UnusableDelta
from anycowork.sandbox.commit.delta_check import CommitBlocker, CommitBlockerKind, may_change_nothing
from anycowork.sandbox.commit.delta_diff import content, delta_diff, is_file
from anycowork.sandbox.commit.entry_marks import state_mark
from anycowork.sandbox.commit.transaction import CannotHold, Transaction, resume_transaction
from anycowork.sandbox.layers.stage import Staging
from anycowork.tools.command_summary import CommandSummary, committed, dropped, joined, left_alone, partly_kept
from anycowork.tools.syntax_check import check_syntax, is_checked
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.reader_threads import run_uncancellable

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
    """`result` is the command's output; the returned result also describes its changes. Held changes are passed to the commit session.

    `whose` names the holder of the permissions; `within` is the only place that may change. Raises: ToolFault.
    """
    commit = tool_context.commit
    if may_change_nothing(tool_context.permissions):
        return joined(result, left_alone(whose, is_check=tool_context.check is not None))
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
    decision = await commit.check_changes(await asyncio.to_thread(_every_change, transaction))
    blocker = await asyncio.to_thread(
        transaction.find_blocker, tool_context.permissions, _named(commit, decision), whose
    )
    if blocker is not None and blocker.kind is not CommitBlockerKind.NEEDS_APPROVAL:
        return joined(result, _dropped_by(blocker))
    if decision.effect is Effect.DENY:
        return joined(
            result, dropped(f"{decision.why} None of the command's changes was kept.", code=DeniedByRule.code)
        )
    reasons = _reasons(blocker, decision, commit, left_out)
    if not reasons:
        return joined(result, await _commit(transaction, command, commit))
    if not commit.can_hold:
        return joined(
            result,
            _dropped_by(blocker)
            if blocker
            else dropped(" ".join(reasons), code=CommitBlockerKind.NEEDS_APPROVAL.value),
        )
    every_time = blocker is not None or decision.effect is Effect.ASK
    drawn = await asyncio.to_thread(delta_diff, transaction.delta, transaction.stage.upper, transaction.jail)
    if unseen := [path for path in drawn.unseen if not _named(commit, decision)(path)]:
        return joined(result, dropped(_cannot_be_shown(unseen), code="cannot_be_shown", paths=tuple(unseen)))
    return await _hold(transaction, command, HeldChanges(reasons, drawn.text, result, every_time), commit)


async def commit_now(staging: Staging, jail: Jail, intent: Intent, tool_context: ToolContext) -> ToolResult:
    """Commits held changes after a person allowed them: checks them again, as if the command had just ended.

    Raises: ToolFault (StateChanged if they, or the files beneath them, are not as shown).
    """
    assert intent.held is not None  # nothing else is ever held
    transaction = await asyncio.to_thread(resume_transaction, staging, jail, intent)
    try:
        blocker = await asyncio.to_thread(transaction.find_blocker, tool_context.permissions, lambda path: True)
        if blocker is not None:
            raise UnusableDelta(blocker.message)
        transaction.pledged = True  # the call that waits names its stage
        return joined(intent.held.result, await _commit(transaction, intent.command or "", tool_context.commit))
    finally:
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, transaction.end))


async def _leave_out(transaction: Transaction, result: ToolResult) -> tuple[ToolResult, tuple[str, ...]]:
    """Takes refused changes out of the delta where the rest can do without; returns the result that tells it, and the sentence."""
    left_out = await asyncio.to_thread(transaction.leave_out)
    if left_out is None:
        return result, ()
    return joined(result, partly_kept(left_out.message, left_out.paths)), (left_out.message,)


async def _hold(transaction: Transaction, command: str, held_changes: HeldChanges, commit: CommitSession) -> ToolResult:
    try:
        commit.hold(await run_uncancellable(lambda: transaction.hold(command, held_changes)))
    except CannotHold as fault:
        return joined(held_changes.result, dropped(fault.message, code=fault.code))
    return held_changes.result


async def _commit(transaction: Transaction, command: str, commit: CommitSession) -> CommandSummary:
    delta = transaction.delta
    drawn = await asyncio.to_thread(
        partial(delta_diff, delta, transaction.stage.upper, transaction.jail, most_drawn=MOST_DRAWN)
    )
    spoilt = await asyncio.to_thread(_unparsable, delta, transaction.stage.upper)
    intent = await asyncio.to_thread(transaction.intent, command)
    try:
        await commit.keep(intent, delta.replaced.files)
        transaction.pledged = True
        await commit.intend(intent)
    except (ToolFault, Refusal):
        transaction.pledged = False  # refused before it was recorded, so nobody needs the stage
        raise
    applied = await run_uncancellable(transaction.commit)
    commit.finish(applied.conflicts)
    return await asyncio.to_thread(committed, delta, drawn, tuple(applied.conflicts), spoilt)


def _unparsable(delta: Delta, upper: Path) -> dict[str, str]:
    """Returns the files that no longer parse, and why: `sed` breaks a file as easily as an edit."""
    staged, faults = Jail(str(upper)), {}
    files = (change for change in delta.changes if is_file(change.after) and is_checked(change.place.path))
    for change in islice(files, MOST_CHECKED):
        checked = check_syntax(change.place.path, content(staged, change.place, change.after) or b"")
        if checked is not None and not checked.ok:
            faults[change.place.path] = checked.message
    return faults


def _reasons(
    blocker: CommitBlocker | None, decision: ChangesDecision, commit: CommitSession, left_out: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns why a person must approve existing changes; empty if nobody must."""
    reasons = []
    if blocker is not None:
        reasons.append(blocker.asks)
    if decision.effect is Effect.ASK:
        reasons.append(decision.why)
    if commit.asks_at_commit:
        reasons.append("No rule covers it.")
    return ("It has run, and its changes are waiting for your approval.", *reasons, *left_out) if reasons else ()


def _cannot_be_shown(paths: Sequence[str]) -> str:
    return (
        f"'{shown(paths[0])}' controls tools, editors or agents, and its new content is too large to be shown, so nobody can allow it. "
        "None of the command's changes was kept. Leave this file out, or let a person make a rule that names it."
    )


def _every_change(transaction: Transaction) -> tuple[PathIntent, ...]:
    """Returns the manifest, and for each removed folder what was in it: rules and questions are about files. Contents are read only where
    a new file of the same name may hold them."""
    changes = transaction.delta.changes
    new_names = {change.place.name for change in changes if change.before is None}
    removed_entries = ((path, transaction.jail.stat(path)) for change in changes for path in change.below)
    removed = [
        PathIntent(path.path, _mark(transaction.jail, path, status) if path.name in new_names else "", None)
        for path, status in removed_entries
        if status is not None and not stat.S_ISDIR(status.st_mode)
    ]
    return (*transaction.manifest(), *removed) if removed else transaction.manifest()


def _mark(jail: Jail, path: WorkspacePath, status: os.stat_result) -> str:
    with jail.folder(path.parent) as folder:
        return state_mark(path.name, folder, status)


def _beyond(delta: Delta, within: WorkspacePath | None) -> str | None:
    """Returns a path that was changed elsewhere. Folders that lead to the place may have been created for it."""
    if within is None:
        return None
    return next((p.path for p in delta.paths() if not within.holds(p) and not p.holds(within)), None)


def _dropped_by(blocker: CommitBlocker) -> CommandSummary:
    return dropped(blocker.message, code=blocker.kind.value, paths=blocker.paths)


def _named(commit: CommitSession, decision: ChangesDecision) -> Callable[[str], bool]:
    return lambda path: path in decision.named or commit.is_named(path)
