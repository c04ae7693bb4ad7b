"""What becomes of a command's changes once it has run: committed together, dropped together, or held until a person has seen them."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from anycowork.domain.errors import DeniedByRule, Refusal, ToolFault
from anycowork.domain.ports import Hands
from anycowork.domain.rules import Effect, Weighed
from anycowork.domain.tools import Held, Intent, ToolResult
from anycowork.tools.checks import check, is_checked
from anycowork.tools.endings import Story, committed, dropped, joined, left_alone
from anycowork.workspace.checking import Objection, Why, may_change_nothing
from anycowork.workspace.commit import manifest
from anycowork.workspace.delta import Delta, UnusableDelta
from anycowork.workspace.finishing import to_the_end
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import Place, shown
from anycowork.workspace.picture import content, is_file, picture
from anycowork.workspace.stage import Staging
from anycowork.workspace.transaction import CannotHold, Transaction, taken_up

MOST_CHECKED = 20


async def settled(
    transaction: Transaction,
    command: str,
    result: ToolResult,
    hands: Hands,
    *,
    by_itself: bool,
    whose: str = "This role",
    within: Place | None = None,
) -> ToolResult:
    """`result` is what the command said; the answer tells of its changes too. Held ones are told to `hands.hold`.

    `whose` are the permissions of these hands; `within` is the only place that may change. Raises: ToolFault.
    """
    if may_change_nothing(hands.permissions):
        return joined(result, left_alone(whose))
    if not by_itself:
        return joined(result, dropped("What it had changed so far was dropped."))
    try:
        delta = await asyncio.to_thread(transaction.look)
    except UnusableDelta as unusable:
        return joined(result, dropped(unusable.message, code=unusable.code))
    if not delta:
        return joined(result, committed(delta, None, ()))
    if beyond := _beyond(delta, within):
        says = f"It was to work on '{shown(within.path) if within else ''}' and changed '{shown(beyond)}' too. None of its changes was kept."
        return joined(result, dropped(says, code="beyond_its_path", paths=(beyond,)))
    weighed = await hands.weigh(manifest(delta)) if hands.weigh is not None else Weighed()
    objection = await asyncio.to_thread(transaction.objection, hands.permissions, _named(hands, weighed), whose)
    if objection is not None and objection.why is not Why.NEEDS_WORD:
        return joined(result, _objected(objection))
    if weighed.effect is Effect.DENY:
        return joined(result, dropped(f"{weighed.why} None of the command's changes was kept.", code=DeniedByRule.code))
    why = _reasons(objection, weighed, hands)
    if not why:
        return joined(result, await _commit(transaction, command, hands))
    if hands.hold is None:
        return joined(result, _objected(objection) if objection else dropped(" ".join(why), code=Why.NEEDS_WORD.value))
    every_time = objection is not None or weighed.effect is Effect.ASK
    drawn = await asyncio.to_thread(picture, transaction.delta, transaction.stage.upper, transaction.jail)
    return await _hold(transaction, command, Held(why, drawn.text, result, every_time), hands.hold)


async def committed_now(staging: Staging, jail: Jail, held: Intent, hands: Hands) -> ToolResult:
    """Makes changes that waited, now that a person allowed them: checked once more, as if the command had just ended.

    Raises: ToolFault (StateChanged if they, or what lies beneath them, are not as they were shown).
    """
    assert held.held is not None  # nothing else is ever held
    transaction = await asyncio.to_thread(taken_up, staging, jail, held)
    try:
        objection = await asyncio.to_thread(transaction.objection, hands.permissions, lambda path: True)
        if objection is not None:
            raise UnusableDelta(objection.says)
        return joined(held.held.result, await _commit(transaction, held.command or "", hands))
    finally:
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, transaction.end))


async def _hold(transaction: Transaction, command: str, held: Held, hold: Callable[[Intent], None]) -> ToolResult:
    try:
        hold(await to_the_end(lambda: transaction.hold(command, held)))
    except CannotHold as fault:
        return joined(held.result, dropped(fault.message, code=fault.code))
    return held.result


async def _commit(transaction: Transaction, command: str, hands: Hands) -> Story:
    delta = transaction.delta
    drawn = await asyncio.to_thread(picture, delta, transaction.stage.upper, transaction.jail)
    spoilt = await asyncio.to_thread(_spoilt, delta, transaction.stage.upper)
    intent = await asyncio.to_thread(transaction.intent, command)
    transaction.pledged = True
    if hands.intend is not None:
        try:
            await hands.intend(intent)
        except (ToolFault, Refusal):
            transaction.pledged = False  # refused before it was written down, so nobody will ask for the stage
            raise
    applied = await to_the_end(transaction.commit)
    return committed(delta, drawn, tuple(applied.conflicts), spoilt)


def _spoilt(delta: Delta, upper: Path) -> dict[str, str]:
    """What no longer parses, and why: a `sed` breaks a file as easily as an edit does."""
    staged, found = Jail(str(upper)), {}
    for change in [one for one in delta.changes if is_file(one.after) and is_checked(one.place.path)][:MOST_CHECKED]:
        checked = check(change.place.path, content(staged, change.place, change.after) or b"")
        if checked is not None and not checked.ok:
            found[change.place.path] = checked.says
    return found


def _reasons(objection: Objection | None, weighed: Weighed, hands: Hands) -> tuple[str, ...]:
    """Why a person is asked about changes that are there already; empty if nobody is."""
    found = []
    if objection is not None:
        found.append(objection.asks)
    if weighed.effect is Effect.ASK:
        found.append(weighed.why)
    if hands.asks_at_commit:
        found.append("No rule covers it.")
    return ("It has run, and its changes wait for your word.", *found) if found else ()


def _beyond(delta: Delta, within: Place | None) -> str | None:
    """What was changed elsewhere. The folders that lead to the place may have been made for it."""
    if within is None:
        return None
    return next((p.path for p in delta.paths() if not within.holds(p) and not p.holds(within)), None)


def _objected(objection: Objection) -> Story:
    return dropped(objection.says, code=objection.why.value, paths=objection.paths)


def _named(hands: Hands, weighed: Weighed) -> Callable[[str], bool]:
    return lambda path: path in weighed.named or hands.named(path)
