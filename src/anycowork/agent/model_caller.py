"""Calls the model: builds the prompt, reserves the budget before the call and records the usage after it."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import assert_never

from anycowork.agent.reply_stream import Reply, ReplyStream
from anycowork.agent.small_models import excluded_forms, paths_to_quote, required_tools
from anycowork.agent.turn_calls import repeated_tools
from anycowork.agent.turn_context import TurnContext
from anycowork.domain import event_factory
from anycowork.domain.chats import Turn
from anycowork.domain.errors import ContextFull
from anycowork.domain.images import images_of
from anycowork.domain.journal import Change, Reserve, SetChat, Spend
from anycowork.domain.limits import payer_of
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.metering import Price
from anycowork.domain.model import ModelOptions, ModelRequest, PromptMessage, Provider, ToolCallStyle, UsageChunk
from anycowork.domain.ports import Clock, HiddenPathRules
from anycowork.domain.provider_errors import NoSuchModel, PromptTooLong, ProviderFault
from anycowork.domain.skills import Skill
from anycowork.domain.telemetry import Telemetry
from anycowork.domain.values import replace
from anycowork.prompts.agent_list import LEADS_FROM
from anycowork.prompts.conversation import is_summary
from anycowork.prompts.history_budget import RESULT_CAP
from anycowork.prompts.instructions import activated_skill, skills_section
from anycowork.prompts.prompt_service import NOT_OFFERED, OfferedTools, PromptScope, PromptService, PromptTarget
from anycowork.prompts.reply_schema import with_paths
from anycowork.prompts.tokens import TokenRatios, tokens
from anycowork.prompts.window import HistoryLimit, PromptHistory, Window
from anycowork.providers.registry import LOCAL, ProviderRegistry
from anycowork.store.sql.blobs import Blobs
from anycowork.store.sql.journal import Journal
from anycowork.workspace.paths import shown

_AT_A_TIME = 100  # messages
ANSWER_SHARE = 0.25  # of the context is reserved for the answer
OVERVIEW_FILES = 60
BRIEF_RESULT = 4_096  # bytes of one result that a small model is shown
ANOTHER_TEMPERATURE = 0.8
FILES_HEAD = "[Files in the workspace:"
_WAY_OUT = "Compact the chat, or continue with what fits. Nothing is lost."


class ModelCaller:
    """`hidden` returns what may not be read in a chat and a workspace; `skills` those of a workspace; `foreign_among` which of these
    paths carry what neither its person, its model nor its folder said."""

    def __init__(
        self,
        *,
        journal: Journal,
        providers: ProviderRegistry,
        prompts: PromptService,
        hidden: Callable[[str, str], Awaitable[HiddenPathRules]],
        skills: Callable[[str], Awaitable[Sequence[Skill]]],
        foreign_among: Callable[[str, Sequence[str]], Awaitable[Collection[str]]],
        image_bytes: Blobs,
        telemetry: Telemetry,
        clock: Clock,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._providers = providers
        self._ratios = TokenRatios()
        self._prompts = prompts
        self._hidden = hidden
        self._skills = skills
        self._foreign_among = foreign_among
        self._image_bytes = image_bytes
        self._telemetry = telemetry

    def is_brief(self, context: TurnContext) -> bool:
        """Whether the chat's model is a small one. Raises: NoSuchModel."""
        return self._providers.options(context.chat.config.model_id).brief

    def history_limit(self, turn: Turn, model_id: str | None) -> HistoryLimit:
        """Returns what tells how much of the chat the model could be shown in this turn: nothing if it does not exist."""
        try:
            budget = self._prompt_budget(model_id)
        except NoSuchModel:  # when it is called, the turn ends with this error; steps of a workflow may not call it
            budget = 0
        return HistoryLimit(budget=budget, since=turn.message_id)

    async def ask(self, context: TurnContext, reply_stream: ReplyStream) -> Reply:
        """Calls the model and stream its reply. Raises: ProviderFault, RunawayReply."""
        self._keep_model(context)
        provider, model = find_model(self._providers, context)
        options = self._providers.options(context.chat.config.model_id)
        name = f"{provider.name}/{model}"
        offered = self._offered(context, options)
        prompt_history = await self._shown(context, options, offered, ratio=self._ratios.of(name))
        if prompt_history.full and stops_when_full(context):
            raise ContextFull(
                f"The context of {name} is full: it cannot be shown all that it did in this turn. {_WAY_OUT}"
            )
        request = self._request(context, model, prompt_history, options, offered)
        if options.images:
            data = await self._image_data(context, prompt_history.messages)
            request = replace(request, image_bytes=data, tries_images=options.tries_images)
        reply_id = reply_stream.reply.message_id  # the usage is recorded under the id of the answer
        reserve = Reserve(
            reply_id, context.turn.id, request.purpose, name, prompt_history.tokens, *paid_by(context.turn, self._clock)
        )
        async with context.assignment.reserving(reserve):
            pending, announcements = context.write_buffer.take_pending()
            change = Change(context.chat.id, (*pending, reserve, context.turn), announcements)
            await context.write_buffer.reserve(self._journal, change, pending, announcements)
        try:
            with self._telemetry.model_request(context.turn, provider.name, request) as outcome:
                reply = await reply_stream.receive(provider, request)
                outcome.text, outcome.finish, outcome.usage = reply.text, reply.finish, reply.usage
        except PromptTooLong as fault:
            self._ratios.learn_too_long(name)
            if context.turn.job_id is not None:
                raise
            raise ContextFull(f"{fault.message} {_WAY_OUT}") from fault
        if reply.usage and not request.image_bytes:  # image tokens do not help to estimate text
            estimated = prompt_history.tokens / context.conversation.window.ratio + offered.tokens
            self._ratios.learn(name, estimated=estimated, reported=reply.usage.prompt)
        spend, event = spent_for(reserve, reply)
        context.write_buffer.pending.append(spend)
        context.write_buffer.announcements.append(
            event_factory.usage(context.turn.id, {**event, "steps_left": context.steps_left})
        )
        return reply

    def _keep_model(self, context: TurnContext) -> None:
        """Stores the first model that is asked in a chat that was opened before any model was connected. Later defaults do not change it."""
        if context.chat.config.model_id is None and (first := self._providers.lasting_id()) is not None:
            context.chat = replace(context.chat, config=replace(context.chat.config, model_id=first))
            context.write_buffer.pending.append(SetChat(first_model=first))

    def go_on(self, context: TurnContext, fault: ProviderFault) -> tuple[str, Json] | None:
        """Chooses the next model that the person named for this segment. Returns the message for the person, and its facts; None if none
        is left, or if the fault is not the server's."""
        if isinstance(fault, PromptTooLong):
            return None
        before = context.chat.config.model_id or self._providers.lasting_id()
        own_model = context.own_model or before
        fallbacks = [name for name in self._providers.fallbacks(own_model) if name not in context.models_gone_on]
        if not fallbacks:
            return None
        after, context.own_model = fallbacks[0], own_model
        context.models_gone_on.append(after)
        context.chat = replace(context.chat, config=replace(context.chat.config, model_id=after))
        context.conversation.system_prompt, context.conversation.window = None, Window()
        price = Price(0, 0) if after.startswith(f"{LOCAL}/") else self._providers.facts(*after.split("/", 1)).price
        facts: Json = {
            "from": before,
            "to": after,
            "reason": fault.code,
            "price": {"input": price.input, "output": price.output} if price else None,
        }
        return f"{before} could not answer: {fault.message} {after} goes on; {_cost_told(price)}.", {
            "model_switch": facts
        }

    def _request(
        self,
        context: TurnContext,
        model: str,
        prompt_history: PromptHistory,
        options: ModelOptions,
        offered: OfferedTools,
    ) -> ModelRequest:
        """Builds the request. If the model repeats itself, changes the request once: telling a weak model about it does not help."""
        repeated = repeated_tools(context.calls)
        context.brief = options.brief
        is_other_draft = options.brief and context.drafts_begun() > 0
        return ModelRequest(
            model=model,
            messages=prompt_history.messages,
            purpose="turn",
            max_tokens=options.max_tokens,
            temperature=ANOTHER_TEMPERATURE if repeated or is_other_draft else options.temperature,
            schema=self._schema(context, options, repeated),
            offers=offered.tools,
        )

    def _offered(self, context: TurnContext, options: ModelOptions) -> OfferedTools:
        if options.calling is not ToolCallStyle.NATIVE:
            return NOT_OFFERED
        return self._prompts.offers(context.role, self._aim(context), unlisted=context.assignment.unlisted_tools)

    def _aim(self, context: TurnContext) -> PromptTarget:
        budget = self._prompt_budget(context.chat.config.model_id)
        return PromptTarget.of(
            context.conversation.opening(), budget, context.chat.id, works_alone=works_alone(context, budget)
        )

    def _prompt_budget(self, model_id: str | None) -> int:
        """Returns the number of tokens that the prompt may have. Raises: NoSuchModel."""
        return int(self._providers.context_tokens(model_id) * (1 - ANSWER_SHARE))

    def _schema(self, context: TurnContext, options: ModelOptions, repeated: frozenset[str]) -> Json | None:
        match options.calling:
            case ToolCallStyle.TEXT | ToolCallStyle.NATIVE:
                return None
            case ToolCallStyle.SCHEMA:
                if not options.brief:
                    return self._prompts.replies(context.role, brief=False, without=repeated, aim=self._aim(context))
                replies = self._prompts.replies(
                    context.role,
                    brief=True,
                    without=repeated | excluded_forms(context, self._prompts),
                    only=required_tools(context, self._prompts),
                    aim=self._aim(context),
                )
                quotable = paths_to_quote(context)
                return with_paths(replies, "update_file.edits", quotable) if quotable else replies
            case _:
                assert_never(options.calling)

    async def _shown(
        self, context: TurnContext, options: ModelOptions, offered: OfferedTools, *, ratio: float
    ) -> PromptHistory:
        prompt_budget = self._prompt_budget(context.chat.config.model_id)
        if not len(context.conversation.window):
            cap = BRIEF_RESULT if options.brief else RESULT_CAP
            context.conversation.window = Window(
                ratio=ratio, result_cap=cap, begins_late=bool(context.conversation.beginning)
            )
        for number, message in enumerate(context.conversation.history[len(context.conversation.window) :], start=1):
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)  # a long chat must not block the others
            noted = not options.images and message.payload is not None and message.role is Speaker.USER
            shown_message = _with_notes(message) if noted else message
            if message.id == context.turn.message_id:
                shown_message = await self._with_files(context, shown_message)
            context.conversation.window.add(shown_message)
        system = await self._system_prompt(context, options, prompt_budget)
        return context.conversation.window.shown(budget=prompt_budget - offered.tokens, system=system)

    async def _with_files(self, context: TurnContext, request: Message) -> Message:
        """Prepend the workspace's file list to the request of the turn, with which a model makes the right call at once, and the skill
        that it activates.

        The list is the one of the segment's start, so that every request of the segment has the same text. A name that others may have
        chosen is text of theirs, and nobody has read it yet: it is left out.
        """
        hidden = await self._hidden(context.chat.id, context.workspace.origin)
        paths, has_more = await asyncio.to_thread(context.workspace.first_paths, OVERVIEW_FILES, hidden)
        foreign = await self._foreign_among(context.workspace.origin, paths)
        files = overview([path for path in paths if path not in foreign], has_more=has_more or bool(foreign))
        context_tokens = self._prompt_budget(context.chat.config.model_id)
        skill = activated_skill(request.payload, context_tokens=context_tokens)
        parts = (f"{FILES_HEAD}\n{files}]", *([skill] if skill else []), request.content)
        return replace(request, content="\n\n".join(parts))

    async def _image_data(self, context: TurnContext, messages: Sequence[PromptMessage]) -> Mapping[str, bytes]:
        """Returns the bytes of the shown images; each is read once per segment."""
        hashes = {image.sha256 for prompt_message in messages for part in prompt_message.parts for image in part.images}
        for hash_ in hashes - context.conversation.image_bytes.keys():
            if (data := await self._image_bytes.get(hash_)) is not None:
                context.conversation.image_bytes[hash_] = data
        return {
            hash_: context.conversation.image_bytes[hash_] for hash_ in hashes & context.conversation.image_bytes.keys()
        }

    async def _system_prompt(self, context: TurnContext, options: ModelOptions, prompt_budget: int) -> str:
        """Builds the system prompt once per segment, so that every request of it begins with the same bytes."""
        if context.conversation.system_prompt is None:
            prompt_id = context.chat.config.system_prompt_id
            offered = options.calling is ToolCallStyle.NATIVE
            setting = PromptScope(
                context.workspace.origin,
                prompt_budget,
                context.conversation.opening(),
                context.chat.id,
                works_alone=works_alone(context, prompt_budget),
            )
            built = await self._prompts.for_chat(prompt_id, context.role, setting, brief=options.brief, offered=offered)
            skills = "" if options.brief else skills_section(await self._skills(context.workspace.origin))
            others = "" if options.brief or prompt_budget < LEADS_FROM else context.assignment.agents_prompt
            context.conversation.system_prompt = "\n\n".join(
                part for part in (built, skills, others, context.assignment.extra_prompt) if part
            )
        return context.conversation.system_prompt


def find_model(providers: ProviderRegistry, context: TurnContext) -> tuple[Provider, str]:
    """Returns who answers now, and its name for the model. Raises: NoSuchModel if it is gone, or may no longer go on for another one."""
    model_id = context.chat.config.model_id
    if context.own_model and model_id not in providers.fallbacks(context.own_model):
        raise NoSuchModel(f"{model_id} may no longer go on for {context.own_model}.")
    return providers.find(model_id)


def works_alone(context: TurnContext, prompt_budget: int) -> bool:
    """Whether the agent can give no task to another one: it was given one itself, or its model or context is too small to lead."""
    return context.brief or not context.assignment.agents or prompt_budget < LEADS_FROM


def overview(paths: Sequence[str], *, has_more: bool) -> str:
    lines = [shown(path) for path in paths] + (["… and more; list_directory shows the rest."] if has_more else [])
    return "\n".join(lines) or "(no files yet)"


def stops_when_full(context: TurnContext) -> bool:
    """A chat's turn stops once when its context is full, until a person has chosen what to do. A job's tasks go on with what fits."""
    if context.turn.job_id is not None:
        return False
    for message in reversed(context.conversation.history):
        if is_summary(message):
            return True
        if message.turn_id == context.turn.id and (message.payload or {}).get("continued_after") == ContextFull.code:
            return False
    return True


def _with_notes(message: Message) -> Message:
    """Replaces the images by notes, for a model without vision."""
    images = images_of(message)
    if not images:
        return message
    notes = "\n".join(image.note() for image in images)
    payload = {key: value for key, value in (message.payload or {}).items() if key != "images"}
    return replace(message, content=f"{message.content}\n\n{notes}", payload=payload or None)


def paid_by(turn: Turn, clock: Clock) -> tuple[str, str]:
    """Returns whose limits the turn's next request counts against, and on which day."""
    return payer_of(turn.principal), clock.now()[:10]


def spent_for(reserve: Reserve, reply: Reply) -> tuple[Spend, Json]:
    """What the reply cost, for the journal and for readers; estimated if the provider does not say."""
    usage = reply.usage or UsageChunk(reserve.tokens, tokens(reply.text) + tokens(reply.reasoning))
    spend = Spend(reserve, usage.prompt, usage.completion, usage.cached, usage.reasoning, estimated=reply.usage is None)
    return spend, {
        "prompt": spend.prompt,
        "completion": spend.completion,
        "cached": spend.cached,
        "reasoning": spend.reasoning,
        "estimated": spend.estimated,
        "model": reserve.model,
    }


def _cost_told(price: Price | None) -> str:
    if price is None:
        return "what it costs is not known"
    if not price.input and not price.output:
        return "it costs nothing"
    return f"it costs ${price.input:g} per million tokens that it reads and ${price.output:g} that it writes"
