"""Lets the person's hooks look at calls: before each one, where they may deny or ask, and after it, where they may add words."""

from collections.abc import Awaitable, Callable, Sequence

from anycowork.agent.turn_context import TurnContext
from anycowork.domain.hooks import (
    DeniedByHook,
    Hook,
    HookDecision,
    HookEvent,
    HookRuns,
    denied,
    named,
    origins_of_words,
    runs_json,
    texts_of_hooks,
)
from anycowork.domain.messages import Json
from anycowork.domain.origins import MODEL, join
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.tools import Call, ToolResult
from anycowork.domain.values import replace
from anycowork.tools.hook_runner import HookRunner

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
        if refusal := denied(outcomes):
            raise DeniedByHook(f"{refusal.message} Find another way.")
        return tuple(
            f"{named(hook)} asks a person: {outcome.reason}"
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
            origins = join(result.origins, origins_of_words(outcomes))
            result = replace(result, content=result.content + added_text, origins=origins)
        context.conversation.add_hook_checks(outcomes)
        return _with_record(result, call, outcomes)

    def recorded(self, context: TurnContext, call: Call, result: ToolResult) -> ToolResult:
        """Returns the result of a call that was refused, with a record of the runs before it, and with the origins of a hook's reason."""
        outcomes = context.hook_outcomes.get(call.id, ())
        if result.error is not None and result.error.code == DeniedByHook.code:
            result = replace(result, origins=join(result.origins, (MODEL,), origins_of_words(outcomes)))
        return _with_record(result, call, outcomes)

    async def _run(self, event: HookEvent, context: TurnContext, call: Call, result: ToolResult | None) -> HookRuns:
        if not any(hook.event is event for hook in context.hooks or ()):
            return ()
        hidden = await self._hidden(context.chat.id, context.workspace.origin)
        payload = _payload(context, call, result)
        return await self._runner.run(context.hooks or (), event, call.tool, payload, context.workspace, hidden)


def _with_record(result: ToolResult, call: Call, outcomes: HookRuns) -> ToolResult:
    """Names the paths of the call beside the runs: what a hook says of a protected file is as protected as the file."""
    if not outcomes:
        return result
    paths: Json = {name: call.parameters[name] for name in ("path", "to", "key_files") if name in call.parameters}
    return replace(result, facts={**paths, **result.facts, **runs_json(outcomes)})


def _payload(context: TurnContext, call: Call, result: ToolResult | None) -> Json:
    response: Json = {}
    if result is not None:
        response = {"tool_response": {"status": result.status.value, "content": result.content[:_MOST_SHOWN]}}
    return {
        "session_id": context.chat.id,
        "permission_mode": "plan" if context.role.only_advises else "default",
        "tool_name": call.tool,
        "tool_input": call.parameters,
        "tool_use_id": call.id,
        **response,
    }
