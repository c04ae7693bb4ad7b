"""Plan against actual: for each approved plan, what every step meant and what was done for it, and what was done outside it.
Told from the recorded calls alone; no word of a model counts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from anycowork.chats.finding import find_chat
from anycowork.domain.approvals import PlanRow
from anycowork.domain.chats import EndReason, Turn, TurnState
from anycowork.domain.messages import Json, Message, MessageType
from anycowork.domain.plan import Budget, Plan, PlanStep, read_plan
from anycowork.domain.ports import Store, Toolbox
from anycowork.domain.tools import Call, Status
from anycowork.domain.values import value
from anycowork.permissions.budgets import CostOf, spent_by
from anycowork.permissions.patterns import is_literal, path_matches, plain

Reads = Callable[[Call], bool]
_WELL = {EndReason.ANSWERED, EndReason.TERMINATED}


@value
class Span:
    """When a call was asked for, and when its result was written."""

    began: str = ""
    ended: str | None = None

    @property
    def seconds(self) -> float | None:
        if not self.began or not self.ended:
            return None
        return round((_moment(self.ended) - _moment(self.began)).total_seconds(), 3)


class PlanAudit:
    def __init__(self, *, store: Store, toolbox: Toolbox, cost_of: CostOf = lambda used: None) -> None:
        self._store = store
        self._toolbox = toolbox
        self._cost_of = cost_of

    async def of_chat(self, chat_id: str) -> list[Json]:
        """Oldest plan first. Raises: NotFound."""
        await find_chat(self._store, chat_id)
        plans = await self._store.approved_plans(chat_id)
        spans = _spans(await self._store.history(chat_id)) if plans else {}
        return [told for row in plans if (told := await self._told(row, spans))]

    async def _told(self, row: PlanRow, spans: Mapping[str, Span]) -> Json | None:
        plan = read_plan(row.approved or {})
        turn = await self._store.turn(row.turn_id or "")
        if plan is None or turn is None:
            return None
        calls = await self._store.calls(turn.id)
        used = await self._store.turn_usage(turn.chat_id, turn.id)
        spent = spent_by(calls, seconds=turn.seconds, used=used, cost_of=self._cost_of)
        return {
            "message_id": row.message_id,
            "goal": plan.goal,
            "approved_by": row.approved_by,
            "turn_id": turn.id,
            "state": turn.reason.value if turn.reason else turn.state.value,
            "seconds": round(turn.seconds, 3),
            "budget": plan.budget.model_dump(mode="json", include=set(Budget.model_fields)) if plan.budget else None,
            "spent": spent.to_json(),
            **compare(plan, turn, calls, spans, reads=self._only_reads),
        }

    def _only_reads(self, call: Call) -> bool:
        tool = self._toolbox.find(call.tool)
        return tool is not None and tool.spec.read_only


def compare(plan: Plan, turn: Turn, calls: Sequence[Call], spans: Mapping[str, Span], *, reads: Reads) -> Json:
    """Each call stands under the step it served. What changed something for no step is `unplanned`; what only read for none is a number."""
    served: dict[str, list[Call]] = {step.id: [] for step in plan.steps}
    unplanned: list[Call] = []
    also_read = 0
    for call in calls:
        step_id = _step_of(call, plan, only_reads=reads(call))
        if step_id in served:
            served[step_id].append(call)
        elif reads(call):
            also_read += 1
        elif call.result is None or not call.result.was_model_fault:
            unplanned.append(call)
    steps: list[JsonValue] = [_step(step, turn, served[step.id], spans) for step in plan.steps]
    return {"steps": steps, "unplanned": [_done(call, spans) for call in unplanned], "also_read": also_read}


def _step_of(call: Call, plan: Plan, *, only_reads: bool) -> str | None:
    """The step that granted it; a read, or an attempt that came to nothing, belongs to the first step that names its place."""
    if call.plan_step is not None:
        return call.plan_step
    if not only_reads and _took_effect(call):
        return None
    return next((step.id for step in plan.steps if _names(step, call)), None)


def _names(step: PlanStep, call: Call) -> bool:
    command, path = call.parameters.get("command"), call.parameters.get("path")
    if isinstance(command, str):
        return command in (*step.commands, step.check)
    return isinstance(path, str) and any(path_matches(pattern, path) for pattern in step.paths)


def _step(step: PlanStep, turn: Turn, calls: list[Call], spans: Mapping[str, Span]) -> Json:
    work = [call for call in calls if not call.provenance.check]
    touched = {plain(path) for call in work for path in _places(call)}
    return {
        "id": step.id,
        "intended": step.model_dump(mode="json", exclude_none=True),
        "done": [_done(call, spans) for call in work],
        "status": _status(step, turn, calls),
        "check": _check(step, calls),
        "untouched": [path for path in step.paths if is_literal(path) and plain(path) not in touched],
        "seconds": round(sum(spans.get(call.id, Span()).seconds or 0.0 for call in calls), 3),
    }


def _status(step: PlanStep, turn: Turn, calls: list[Call]) -> str:
    """By evidence: its check if there is one, else how the last attempt at each place ended. `claimed` where nothing could be held against it."""
    over = turn.state is TurnState.ENDED
    proof = _last(calls, step.check)
    last = {(call.tool, _resource(call)): call for call in calls}.values()
    if any(call.result is None for call in calls):
        return "interrupted" if over else "running"
    if proof is not None:
        return "completed" if _ok(proof) else "failed"
    if calls:
        return "completed" if all(map(_ok, last)) else "failed"
    if not over:
        return "pending"
    empty_handed = not (step.paths or step.commands or step.check)
    return "claimed" if empty_handed and turn.reason in _WELL else "skipped"


def _check(step: PlanStep, calls: list[Call]) -> Json | None:
    if step.check is None:
        return None
    proof = _last(calls, step.check)
    if proof is None or proof.result is None:
        return {"command": step.check, "ran": False}
    exit_code = proof.result.facts.get("exit_code")
    return {"command": step.check, "ran": True, "ok": _ok(proof), "exit_code": exit_code, "call_id": proof.id}


def _done(call: Call, spans: Mapping[str, Span]) -> Json:
    span, result = spans.get(call.id, Span()), call.result
    facts = result.facts if result else {}
    return {
        "call_id": call.id,
        "tool": call.tool,
        "resource": _resource(call),
        "status": result.status.value if result else "open",
        "error": result.error.message if result and result.error else None,
        "paths": list(_places(call)),
        "exit_code": facts.get("exit_code"),
        "allowed_by": facts.get("allowed_by"),
        "at": span.began,
        "seconds": span.seconds,
    }


def _resource(call: Call) -> str:
    named = call.parameters.get("command") or call.parameters.get("path") or call.parameters.get("pattern")
    return named if isinstance(named, str) else ""


def _places(call: Call) -> tuple[str, ...]:
    """What it changed, by its intent; what it read, by its words."""
    if call.intent and call.intent.paths:
        return tuple(item.path for item in call.intent.paths)
    path = call.parameters.get("path")
    return (path,) if isinstance(path, str) else ()


def _took_effect(call: Call) -> bool:
    return call.intent is not None and (call.result is None or call.result.status in (Status.OK, Status.INTERRUPTED))


def _last(calls: list[Call], command: str | None) -> Call | None:
    return next((call for call in reversed(calls) if command and call.parameters.get("command") == command), None)


def _ok(call: Call) -> bool:
    return call.result is not None and call.result.status is Status.OK


def _spans(history: Iterable[Message]) -> dict[str, Span]:
    spans: dict[str, Span] = {}
    for message in history:
        payload = message.payload or {}
        if message.message_type is MessageType.TOOL_CALL:
            spans[str(payload.get("id"))] = Span(message.created_at)
        elif message.message_type is MessageType.TOOL_RESULT:
            call_id = str(payload.get("tool_call_id"))
            spans[call_id] = Span(spans.get(call_id, Span()).began, message.created_at)
    return spans


def _moment(written: str) -> datetime:
    return datetime.fromisoformat(written)
