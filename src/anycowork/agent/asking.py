"""Asks the model: builds what it is shown, sets the budget aside before and books what was spent after. Nothing is asked unrecorded."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from anycowork.agent.listening import Heard, Listener
from anycowork.agent.moment import Moment
from anycowork.domain import announce
from anycowork.domain.journal import Change, Reserve, Spend
from anycowork.domain.messages import Json, Message
from anycowork.domain.ports import Clock, Journal, ModelRequest, Providers, UsageChunk
from anycowork.domain.roles import RoleDefinition
from anycowork.prompts.tokens import tokens
from anycowork.prompts.window import Shown

SystemPrompt = Callable[[str | None, RoleDefinition], Awaitable[str]]
ANSWER_SHARE = 0.25  # of the context is kept free for the answer
OVERVIEW_FILES = 60
FILES_HEAD = "[Files in the workspace:"


class Asking:
    """`system_prompt` gives the role's prompt, on the base that the chat chose."""

    def __init__(self, *, journal: Journal, providers: Providers, clock: Clock, system_prompt: SystemPrompt) -> None:
        self._journal = journal
        self._providers = providers
        self._clock = clock
        self._system_prompt = system_prompt

    async def ask(self, moment: Moment, listener: Listener) -> Heard:
        """Raises: ProviderFault, Runaway."""
        provider, model = self._providers.find(moment.chat.config.model_id)
        shown = await self._shown(moment)
        request = ModelRequest(model=model, messages=shown.messages, purpose="turn")
        call_id = self._clock.new_id()
        reserve = Reserve(call_id, moment.turn.id, request.purpose, f"{provider.name}/{model}", shown.tokens)
        pending, announcements = moment.take_pending()
        await self._journal.write(Change(moment.chat.id, (*pending, reserve, moment.turn), announcements))
        heard = await listener.hear(provider, request)
        spend, event = _spent(call_id, heard, shown.tokens)
        moment.pending.append(spend)
        moment.announcements.append(announce.usage(moment.turn.id, event | {"model": f"{provider.name}/{model}"}))
        return heard

    async def _shown(self, moment: Moment) -> Shown:
        room = int(self._providers.context_tokens(moment.chat.config.model_id) * (1 - ANSWER_SHARE))
        new = moment.history[len(moment.window) :]
        moment.window.extend([_with_files(moment, one) if one.id == moment.turn.message_id else one for one in new])
        return moment.window.shown(budget=room, system=await self._told(moment))

    async def _told(self, moment: Moment) -> str:
        """Read once for the segment, so that every request of it begins with the same bytes."""
        if moment.system_prompt is None:
            moment.system_prompt = await self._system_prompt(moment.chat.config.system_prompt_id, moment.role)
        return moment.system_prompt


def _with_files(moment: Moment, request: Message) -> Message:
    """The turn's own request begins with the workspace's file list: a model that sees it makes the right call at once.

    The files are as they were when the segment began: the same words in every request of it.
    """
    return replace(request, content=f"{FILES_HEAD}\n{moment.workspace.overview(OVERVIEW_FILES)}]\n\n{request.content}")


def _spent(call_id: str, heard: Heard, estimate: int) -> tuple[Spend, Json]:
    usage = heard.usage or UsageChunk(estimate, tokens(heard.text) + tokens(heard.reasoning))
    spend = Spend(call_id, usage.prompt, usage.completion, usage.cached, usage.reasoning, estimated=heard.usage is None)
    return spend, {
        "prompt": spend.prompt,
        "completion": spend.completion,
        "cached": spend.cached,
        "reasoning": spend.reasoning,
        "estimated": spend.estimated,
    }
