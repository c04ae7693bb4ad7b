"""Asks the model: builds what it is shown, sets the budget aside before and books what was spent after. Nothing is asked unrecorded."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import assert_never

from anycowork.agent.listening import Heard, Listener
from anycowork.agent.moment import Moment
from anycowork.agent.promises import Deed
from anycowork.domain import announce
from anycowork.domain.asking import Calling, ModelOptions, ModelRequest, Providers, Said, UsageChunk
from anycowork.domain.images import ImageBytes, images_of
from anycowork.domain.journal import Change, Reserve, Spend
from anycowork.domain.messages import Json, Message
from anycowork.domain.ports import Hidden, Journal
from anycowork.domain.roles import OutputFormat
from anycowork.domain.values import replace
from anycowork.prompts.book import NOT_OFFERED, Aim, Offered, PromptBook, Setting
from anycowork.prompts.fitting import RESULT_CAP
from anycowork.prompts.shortlist import A_REQUEST
from anycowork.prompts.tokens import TokenRatios, tokens
from anycowork.prompts.window import Shown, Window

_AT_A_TIME = 100  # messages
ANSWER_SHARE = 0.25  # of the context is kept free for the answer
OVERVIEW_FILES = 60
BRIEF_RESULT = 4_096  # bytes of one result that a small model is shown
ANOTHER_TEMPERATURE = 0.8
PATIENCE = 4  # calls that a small model makes before it may say that it cannot do what was asked
FILES_HEAD = "[Files in the workspace:"


class Asking:
    """`hidden` says what may not be read in a chat and a workspace."""

    def __init__(
        self,
        *,
        journal: Journal,
        providers: Providers,
        prompts: PromptBook,
        hidden: Callable[[str, str], Awaitable[Hidden]],
        image_bytes: ImageBytes,
    ) -> None:
        self._journal = journal
        self._providers = providers
        self._ratios = TokenRatios()
        self._prompts = prompts
        self._hidden = hidden
        self._image_bytes = image_bytes

    def is_brief(self, moment: Moment) -> bool:
        """Whether the model that will answer is a small one. Raises: NoSuchModel."""
        return self._providers.options(moment.chat.config.model_id).brief

    async def ask(self, moment: Moment, listener: Listener) -> Heard:
        """Raises: ProviderFault, Runaway."""
        provider, model = self._providers.find(moment.chat.config.model_id)
        options = self._providers.options(moment.chat.config.model_id)
        name = f"{provider.name}/{model}"
        shown = await self._shown(moment, options, ratio=self._ratios.of(name))
        request = self._request(moment, model, shown, options)
        if options.images:
            request = replace(request, image_bytes=await self._seen(moment, shown.messages))
        asked = listener.heard.message_id  # what it costs goes by the name of the answer
        reserve = Reserve(asked, moment.turn.id, request.purpose, name, shown.tokens)
        pending, announcements = moment.take_pending()
        change = Change(moment.chat.id, (*pending, reserve, moment.turn), announcements)
        await moment.unwritten.write(self._journal, change)
        heard = await listener.hear(provider, request)
        if heard.usage and not request.image_bytes:  # what an image weighs says nothing of words
            estimated = shown.tokens / moment.window.ratio + self._offered(moment, options).tokens
            self._ratios.learn(name, estimated=estimated, reported=heard.usage.prompt)
        spend, event = _spent(reserve, heard)
        moment.pending.append(spend)
        moment.announcements.append(announce.usage(moment.turn.id, event))
        return heard

    def _request(self, moment: Moment, model: str, shown: Shown, options: ModelOptions) -> ModelRequest:
        """A model that goes round in a circle is asked differently, once: being told of it does not help a weak one."""
        circling = moment.circling()
        moment.brief = options.brief
        return ModelRequest(
            model=model,
            messages=shown.messages,
            purpose="turn",
            max_tokens=options.max_tokens,
            temperature=ANOTHER_TEMPERATURE if circling else options.temperature,
            schema=self._schema(moment, options, circling),
            offers=self._offered(moment, options).tools,
        )

    def _offered(self, moment: Moment, options: ModelOptions) -> Offered:
        native = options.calling is Calling.NATIVE
        return self._prompts.offers(moment.role, self._aim(moment)) if native else NOT_OFFERED

    def _aim(self, moment: Moment) -> Aim:
        return Aim.of(moment.opening(), self._room(moment))

    def _room(self, moment: Moment) -> int:
        """Tokens that may be shown."""
        return int(self._providers.context_tokens(moment.chat.config.model_id) * (1 - ANSWER_SHARE))

    def _schema(self, moment: Moment, options: ModelOptions, circling: frozenset[str]) -> Json | None:
        match options.calling:
            case Calling.TEXT | Calling.NATIVE:
                return None
            case Calling.SCHEMA:
                if not options.brief:
                    return self._prompts.replies(moment.role, brief=False, without=circling, aim=self._aim(moment))
                without = (
                    circling
                    | moment.unfit_forms()
                    | (self._prompts.changers() | {OutputFormat.PLAN.value} if moment.asks_only() else frozenset())
                )
                return self._prompts.replies(
                    moment.role, brief=True, without=without, only=self._due(moment), aim=self._aim(moment)
                )
            case _:
                assert_never(options.calling)

    def _due(self, moment: Moment) -> frozenset[str]:
        """The tools of which a small model must call one now: before its first answer, once when its answer was not taken, and as long
        as nothing was done of what was asked. Whoever could claim a deed would rather claim it."""
        pushed, moment.must_call = moment.must_call, False
        owed, tools = self._serving(moment.owed()), self._prompts.tools(moment.role)
        if pushed:
            return owed or tools
        if len(moment.calls) < PATIENCE and (owed or moment.missing()):
            return owed if owed and moment.calls else tools | owed
        looks_first = not moment.calls and len(moment.request().split()) >= A_REQUEST
        return tools if looks_first else frozenset()

    def _serving(self, deed: Deed | None) -> frozenset[str]:
        """The tools of which any would do it; a plan is said, not called."""
        match deed:
            case None:
                return frozenset()
            case Deed.RUN:
                return self._prompts.runners()
            case Deed.CHANGE:
                return self._prompts.changers() | self._prompts.runners()
            case Deed.PLAN:
                return frozenset({OutputFormat.PLAN.value})
            case _:
                assert_never(deed)

    async def _shown(self, moment: Moment, options: ModelOptions, *, ratio: float) -> Shown:
        room = self._room(moment)
        if not len(moment.window):
            cap = BRIEF_RESULT if options.brief else RESULT_CAP
            moment.window = Window(ratio=ratio, result_cap=cap, begins_late=bool(moment.beginning))
        for at, message in enumerate(moment.history[len(moment.window) :], start=1):
            if at % _AT_A_TIME == 0:
                await asyncio.sleep(0)  # a long chat must not starve the others
            one = message if options.images else _with_notes(message)
            if message.id == moment.turn.message_id:
                one = await self._with_files(moment, one)
            moment.window.add(one)
        system = await self._told(moment, options, room)
        return moment.window.shown(budget=room - self._offered(moment, options).tokens, system=system)

    async def _with_files(self, moment: Moment, request: Message) -> Message:
        """The turn's own request begins with the workspace's file list: a model that sees it makes the right call at once.

        The files are as they were when the segment began: the same words in every request of it.
        """
        hidden = await self._hidden(moment.chat.id, moment.workspace.root)
        files = moment.workspace.overview(OVERVIEW_FILES, hidden)
        return replace(request, content=f"{FILES_HEAD}\n{files}]\n\n{request.content}")

    async def _seen(self, moment: Moment, messages: Sequence[Said]) -> Mapping[str, bytes]:
        """The bytes of what is shown, each read once for the segment."""
        wanted = {image.sha256 for said in messages for part in said.parts for image in part.images}
        for hash_ in wanted - moment.image_bytes.keys():
            if (data := await self._image_bytes.get(hash_)) is not None:
                moment.image_bytes[hash_] = data
        return {hash_: moment.image_bytes[hash_] for hash_ in wanted & moment.image_bytes.keys()}

    async def _told(self, moment: Moment, options: ModelOptions, room: int) -> str:
        """Read once for the segment, so that every request of it begins with the same bytes."""
        if moment.system_prompt is None:
            prompt_id = moment.chat.config.system_prompt_id
            offered = options.calling is Calling.NATIVE
            setting = Setting(moment.workspace.root, room, moment.opening())
            moment.system_prompt = await self._prompts.for_chat(
                prompt_id, moment.role, setting, brief=options.brief, offered=offered
            )
        return moment.system_prompt


def _with_notes(message: Message) -> Message:
    """For a model that cannot see: that there were images, and which."""
    images = images_of(message)
    if not images:
        return message
    notes = "\n".join(image.note() for image in images)
    return replace(message, content=f"{message.content}\n\n{notes}", payload=None)


def _spent(of: Reserve, heard: Heard) -> tuple[Spend, Json]:
    usage = heard.usage or UsageChunk(of.tokens, tokens(heard.text) + tokens(heard.reasoning))
    spend = Spend(of, usage.prompt, usage.completion, usage.cached, usage.reasoning, estimated=heard.usage is None)
    return spend, {
        "prompt": spend.prompt,
        "completion": spend.completion,
        "cached": spend.cached,
        "reasoning": spend.reasoning,
        "estimated": spend.estimated,
        "model": of.model,
    }
