"""Lets the person's hooks look at calls: before each one, where they may deny or ask, and after it, where they may add words."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from pydantic import JsonValue

from anycowork.agent.turn_context import TurnContext
from anycowork.domain.hooks import DeniedByHook, Hook, HookDecision, HookEvent, HookOutcome, texts_of_hooks
from anycowork.domain.messages import Json
from anycowork.domain.origins import WORKSPACE, join
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.tools import Call, ToolResult
from anycowork.domain.values import replace
from anycowork.tools.hook_runner import HookRunner

log = logging.getLogger(__name__)
_MOST_SHOWN = 20_000  # characters of a result
ReadHooks = Callable[[str], Awaitable[Sequence[Hook]]]
ReadHidden = Callable[[str, str], Awaitable[HiddenPathRules]]


class CallHooks:
    """Reads the hooks once per segment of a turn; without any, a call pays one comparison."""

    def __init__(self, *, read: ReadHooks, runner: HookRunner, hidden: ReadHidden) -> None:
        self._read = read
        self._runner = runner
        self._hidden = hidden

    async def reasons_to_ask(self, context: TurnContext, call: Call) -> tuple[str, ...]:
        """Runs the hooks before the call, once per segment. Raises: DeniedByHook."""
        if context.hooks is None:
            context.hooks = tuple(await self._read(context.workspace.origin))
        if not context.hooks or call.held is not None:
            return ()
        if call.id not in context.hook_outcomes:
            context.hook_outcomes[call.id] = await self._run(HookEvent.PRE_TOOL_USE, context, call, None)
        outcomes = context.hook_outcomes[call.id]
        for hook, outcome in outcomes:
            if outcome.decision is HookDecision.DENY:
                raise DeniedByHook(f"{_named(hook)} denies it: {outcome.reason} Find another way.")
        return tuple(
            f"{_named(hook)} asks a person: {outcome.reason}"
            for hook, outcome in outcomes
            if outcome.decision is HookDecision.ASK
        )

    async def after(self, context: TurnContext, call: Call, result: ToolResult) -> ToolResult:
        """Runs the hooks after the call; returns the result with what hooks add, and with a record of every run."""
        if not context.hooks:
            return result
        after = await self._run(HookEvent.POST_TOOL_USE, context, call, result)
        outcomes = [*context.hook_outcomes.get(call.id, ()), *after]
        if added_text := texts_of_hooks(outcomes):
            # A hook sees the workspace, so its words may come from there.
            result = replace(result, content=result.content + added_text, origins=join(result.origins, (WORKSPACE,)))
        return replace(result, facts={**result.facts, **facts(outcomes)})

    def recorded(self, context: TurnContext, call: Call, result: ToolResult) -> ToolResult:
        """Returns the result of a call that was refused, with a record of the runs before it."""
        outcomes = context.hook_outcomes.get(call.id, ())
        return replace(result, facts={**result.facts, **facts(outcomes)}) if outcomes else result

    async def _run(
        self, event: HookEvent, context: TurnContext, call: Call, result: ToolResult | None
    ) -> tuple[tuple[Hook, HookOutcome], ...]:
        outcomes = []
        for hook in context.hooks or ():
            if hook.event is not event or not hook.looks_at(call.tool):
                continue
            payload = _payload(event, context, call, result)
            hidden = await self._hidden(context.chat.id, context.workspace.origin)
            outcome = await self._runner.run(hook, payload, context.workspace, hidden)
            if outcome.failed:
                log.warning("hook %r of %s failed: %s", hook.command[:80], hook.source, outcome.failed)
            outcomes.append((hook, outcome))
        return tuple(outcomes)


def facts(outcomes: Sequence[tuple[Hook, HookOutcome]]) -> dict[str, JsonValue]:
    """Returns what is recorded of the runs; nothing without any."""
    runs: list[JsonValue] = [
        {"event": hook.event.value, "command": hook.command[:200], "source": hook.source, **outcome.to_json()}
        for hook, outcome in outcomes
    ]
    return {"hooks": runs} if runs else {}


def _payload(event: HookEvent, context: TurnContext, call: Call, result: ToolResult | None) -> Json:
    response: Json = {}
    if result is not None:
        response = {"tool_response": {"status": result.status.value, "content": result.content[:_MOST_SHOWN]}}
    return {
        "hook_event_name": event.value,
        "session_id": context.chat.id,
        "cwd": context.workspace.origin,
        "permission_mode": "plan" if context.role.only_advises else "default",
        "tool_name": call.tool,
        "tool_input": call.parameters,
        "tool_use_id": call.id,
        **response,
    }


def _named(hook: Hook) -> str:
    return f"The hook '{hook.command[:80]}' of {hook.source}"
