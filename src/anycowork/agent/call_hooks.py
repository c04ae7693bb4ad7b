"""Runs the person's hooks: around each call, where they may deny, ask or add words, and at messages, the end of turns and compactions."""

from collections.abc import Awaitable, Callable, Sequence

from anycowork.agent.turn_context import TurnContext
from anycowork.domain.agents import AGENT_PROVIDER
from anycowork.domain.chats import Chat
from anycowork.domain.hooks import (
    DeniedByHook,
    HeldByHook,
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
from anycowork.workspace.folder import Folder

_MOST_SHOWN = 20_000  # characters of a result
ReadHooks = Callable[[str], Awaitable[Sequence[Hook]]]
ReadHidden = Callable[[str, str], Awaitable[HiddenPathRules]]
MOST_HELD = 2  # times that hooks have the agent go on, in one turn


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


class TurnHooks:
    """Without any hook, a message and the end of a turn pay one look at the files. `has_begun` tells whether the chat had a turn."""

    def __init__(
        self,
        *,
        read: ReadHooks,
        read_in_turn: ReadHooks,
        runner: HookRunner,
        hidden: ReadHidden,
        open_folder: Callable[[str], Folder],
        has_begun: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._read, self._read_in_turn = read, read_in_turn
        self._runner = runner
        self._hidden = hidden
        self._open_folder = open_folder
        self._has_begun = has_begun

    async def before_message(self, chat: Chat, prompt: str) -> HookRuns:
        """Runs the hooks of the chat's beginning, before its first turn, and those that look at a person's message. The caller refuses
        the message if one of them denies it."""
        hooks = await self._read(chat.workspace)
        runs: list[HookRuns] = []
        if _any(hooks, HookEvent.SESSION_START) and not await self._has_begun(chat.id):
            runs.append(await self._run(hooks, HookEvent.SESSION_START, "startup", chat, {"source": "startup"}))
        if _any(hooks, HookEvent.USER_PROMPT_SUBMIT):
            runs.append(await self._run(hooks, HookEvent.USER_PROMPT_SUBMIT, "", chat, {"prompt": prompt}))
        return [run for of_event in runs for run in of_event]

    async def before_compaction(self, chat: Chat) -> HookRuns:
        hooks = await self._read(chat.workspace)
        if not _any(hooks, HookEvent.PRE_COMPACT):
            return ()
        payload: Json = {"trigger": "manual", "custom_instructions": ""}
        return await self._run(hooks, HookEvent.PRE_COMPACT, "manual", chat, payload)

    async def at_stop(self, context: TurnContext, answer: str) -> HeldByHook | None:
        """Runs the hooks before the turn ends; returns what one of them wants done first, at most twice in a turn."""
        if context.hooks is None:
            context.hooks = tuple(await self._read_in_turn(context.workspace.origin))
        is_task = context.turn.task_id is not None
        event = HookEvent.SUBAGENT_STOP if is_task else HookEvent.STOP
        if not _any(context.hooks, event):
            return None
        times_held = context.times_told(HeldByHook.code)
        payload: Json = {
            "session_id": context.chat.id,
            "permission_mode": "plan" if context.role.only_advises else "default",
            "stop_hook_active": times_held > 0,
            "last_assistant_message": answer,
            **({"agent_id": context.turn.task_id, "agent_type": context.role.name} if is_task else {}),
        }
        hidden = await self._hidden(context.chat.id, context.workspace.origin)
        runs = await self._runner.run(context.hooks, event, context.role.name, payload, context.workspace, hidden)
        context.proof.stop_hooks = runs
        context.conversation.add_hook_checks(runs)
        is_delegate = (context.chat.config.model_id or "").startswith(f"{AGENT_PROVIDER}/")  # its own loop has ended
        if denied(runs) is None or times_held >= MOST_HELD or is_delegate:
            return None
        reasons = [f"{named(hook)}: {outcome.reason}" for hook, outcome in runs if denied([(hook, outcome)])]
        return HeldByHook(f"Not over yet. {' '.join(reasons)}")

    async def _run(self, hooks: Sequence[Hook], event: HookEvent, subject: str, chat: Chat, payload: Json) -> HookRuns:
        hidden = await self._hidden(chat.id, chat.workspace)
        whole_payload: Json = {"session_id": chat.id, "permission_mode": "default", **payload}
        return await self._runner.run(hooks, event, subject, whole_payload, self._open_folder(chat.workspace), hidden)


def _any(hooks: Sequence[Hook], event: HookEvent) -> bool:
    return any(hook.event is event for hook in hooks)
