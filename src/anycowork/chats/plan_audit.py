"""Compares each approved plan with what was actually done, step by step, and lists what was done outside the plan.
Based on recorded tool calls, not on what the model says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from anycowork.agent.plan_progress import PlanProgress
from anycowork.domain.approvals import PlanRow
from anycowork.domain.chats import Chat, Turn, TurnState
from anycowork.domain.messages import Json, Message, MessageType
from anycowork.domain.people import DECIDED_BY
from anycowork.domain.plan import Budget, PlanStep, StepStatus, plan_status
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.tools import Call, CallStatus
from anycowork.domain.values import value
from anycowork.permissions.budgets import CostOf, spent_by
from anycowork.permissions.patterns import is_literal, plain
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import progress_of, require_chat

Reads = Callable[[Call], bool]


@value
class CallSpan:
    """When a call was requested, when its result was written, and how long a person thought about it meanwhile."""

    began: str = ""
    ended: str | None = None
    waited: float = 0.0

    @property
    def seconds(self) -> float | None:
        if not self.began or not self.ended:
            return None
        elapsed = (datetime.fromisoformat(self.ended) - datetime.fromisoformat(self.began)).total_seconds()
        return round(max(0.0, elapsed - self.waited), 3)


class PlanAudit:
    def __init__(self, *, store: Store, toolbox: Toolbox, cost_of: CostOf = lambda used: None) -> None:
        self._store = store
        self._toolbox = toolbox
        self._cost_of = cost_of

    async def of_chat(self, chat_id: str) -> list[Json]:
        """Returns the audits of all approved plans, oldest first. Raises: NotFound."""
        chat = await require_chat(self._store, chat_id)
        plans = await self._store.plans.approved(chat_id)
        spans = await read_spans(self._store, chat_id) if plans else {}
        return [audit for row in plans if (audit := await self._audit(row, chat, spans))]

    async def _audit(self, row: PlanRow, chat: Chat, spans: Mapping[str, CallSpan]) -> Json | None:
        turns = await self._store.turns.of_plan(chat.id, row.message_id)
        turn = turns[-1] if turns else None
        progress = await progress_of(self._store, self._toolbox, turn, chat.workspace) if turn else None
        if turn is None or progress is None:
            return None
        plan, seconds = progress.plan, sum(plan_turn.seconds for plan_turn in turns)
        calls = [call for plan_turn in turns for call in await self._store.calls.of_turn(plan_turn.id)]
        used = [
            usage for plan_turn in turns for usage in await self._store.usage.of_turn(plan_turn.chat_id, plan_turn.id)
        ]
        spent = spent_by(calls, seconds=seconds, used=used, cost_of=self._cost_of)
        return {
            "message_id": row.message_id,
            "goal": plan.goal,
            "approved_by": row.approved_by,
            "turn_id": turn.id,
            "state": turn.reason.value if turn.reason else turn.state.value,
            "seconds": round(seconds, 3),
            "budget": plan.budget.model_dump(mode="json", include=set(Budget.model_fields)) if plan.budget else None,
            "spent": spent.to_json(),
            "evidence": turn.evidence,
            **compare(progress, turn, calls, spans, reads=self._only_reads),
        }

    def _only_reads(self, call: Call) -> bool:
        tool = self._toolbox.find(call.tool)
        return tool is not None and tool.spec.read_only


def compare(
    progress: PlanProgress, turn: Turn, calls: Sequence[Call], spans: Mapping[str, CallSpan], *, reads: Reads
) -> Json:
    """Lists each call under its step. Changes outside all steps are `unplanned`; reads outside all steps are only counted."""
    statuses = progress.statuses(is_ended=turn.state is TurnState.ENDED, reason=turn.reason)
    served = {step.id: progress.calls_of(step.id) for step in progress.plan.steps}
    step_call_ids = {call.id for of_step in served.values() for call in of_step}
    others = [call for call in calls if call.id not in step_call_ids]
    unplanned = [
        call
        for call in others
        if not (reads(call) or call.provenance.baseline or (call.result is not None and call.result.was_model_fault))
    ]
    steps: list[JsonValue] = [_step(step, statuses[step.id], served[step.id], spans) for step in progress.plan.steps]
    return {
        "status": plan_status(statuses, finished=turn.state is TurnState.ENDED).value,
        "steps": steps,
        "unplanned": [_done(call, spans) for call in unplanned],
        "also_read": sum(map(reads, others)),
    }


def _step(step: PlanStep, status: StepStatus, calls: list[Call], spans: Mapping[str, CallSpan]) -> Json:
    work = [call for call in calls if not call.provenance.check]
    touched = {plain(path) for call in work for path in _places(call)}
    return {
        "id": step.id,
        "intended": step.model_dump(mode="json", exclude_none=True),
        "done": [_done(call, spans) for call in work],
        "status": status.value,
        "check": _check(step, calls),
        "untouched": [path for path in step.paths if is_literal(path) and plain(path) not in touched],
        "seconds": round(sum(spans.get(call.id, CallSpan()).seconds or 0.0 for call in calls), 3),
    }


def _check(step: PlanStep, calls: list[Call]) -> Json | None:
    if step.check is None:
        return None
    proof = _last(calls, step.check)
    if proof is None or proof.result is None:
        return {"command": step.check, "ran": False}
    exit_code = proof.result.facts.get("exit_code")
    return {"command": step.check, "ran": True, "ok": _ok(proof), "exit_code": exit_code, "call_id": proof.id}


def _done(call: Call, spans: Mapping[str, CallSpan]) -> Json:
    span, result = spans.get(call.id, CallSpan()), call.result
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
        "decided_by": facts.get(DECIDED_BY),
        "at": span.began,
        "seconds": span.seconds,
    }


def _resource(call: Call) -> str:
    resource = call.parameters.get("command") or call.parameters.get("path") or call.parameters.get("pattern")
    return resource if isinstance(resource, str) else ""


def _places(call: Call) -> tuple[str, ...]:
    """Returns the paths that the call changed, from its intent, or read, from its parameters."""
    if call.intent and call.intent.paths:
        return tuple(item.path for item in call.intent.paths)
    path = call.parameters.get("path")
    return (path,) if isinstance(path, str) else ()


def _last(calls: list[Call], command: str | None) -> Call | None:
    return next((call for call in reversed(calls) if command and call.parameters.get("command") == command), None)


def _ok(call: Call) -> bool:
    return call.result is not None and call.result.status is CallStatus.OK


async def read_spans(store: Store, chat_id: str) -> dict[str, CallSpan]:
    """Returns when each call of the chat began and ended, by call."""
    spans, waited = dict[str, CallSpan](), await store.approvals.seconds_waited(chat_id)
    async for page in store.messages.pages(chat_id, up_to=2**62):
        _add_spans(spans, page, waited)
    return spans


def _add_spans(spans: dict[str, CallSpan], messages: Iterable[Message], waited: Mapping[str, float]) -> None:
    for message in messages:
        payload = message.payload or {}
        if message.message_type is MessageType.TOOL_CALL:
            spans[str(payload.get("id"))] = CallSpan(message.created_at)
        elif message.message_type is MessageType.TOOL_RESULT:
            call_id = str(payload.get("tool_call_id"))
            spans[call_id] = CallSpan(
                spans.get(call_id, CallSpan()).began, message.created_at, waited.get(call_id, 0.0)
            )
