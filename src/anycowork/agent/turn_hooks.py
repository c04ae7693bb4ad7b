"""Lets the person's hooks look at a turn: at the message that begins it, at its end, and at a compaction."""

from collections.abc import Awaitable, Callable, Sequence

from anycowork.agent.call_hooks import ReadHidden, ReadHooks
from anycowork.agent.turn_context import TurnContext
from anycowork.domain.agents import AGENT_PROVIDER
from anycowork.domain.chats import Chat
from anycowork.domain.hooks import HeldByHook, Hook, HookEvent, HookRuns, denied, named
from anycowork.domain.messages import Json
from anycowork.tools.hook_runner import HookRunner
from anycowork.workspace.folder import Folder

MOST_HELD = 2  # times that hooks have the agent go on, in one turn


class TurnHooks:
    """Without any hook, a message and the end of a turn pay one look at the files. `has_begun` tells whether the chat had a turn."""

    def __init__(
        self,
        *,
        read: ReadHooks,
        runner: HookRunner,
        hidden: ReadHidden,
        open_folder: Callable[[str], Folder],
        has_begun: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._read = read
        self._runner = runner
        self._hidden = hidden
        self._open_folder = open_folder
        self._has_begun = has_begun

    async def before_message(self, chat: Chat, prompt: str) -> HookRuns:
        """Run the hooks of the chat's beginning, before its first turn, and those that look at a person's message. The caller refuses
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
        """Run the hooks before the turn ends; return what one of them wants done first, at most twice in a turn."""
        if context.hooks is None:
            context.hooks = tuple(await self._read(context.workspace.origin))
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
