"""One request to a server from start to answer: its time limit, its progress, and what the server asks meanwhile.

Servers of the newest protocol answer that they need input, and the request is sent again with it. Older ones send a request of their own
while ours is open; it belongs to our request only if no other one is open in the same session.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.model import PromptMessage, SampledReply, SamplingPrompt
from anycowork.domain.question import Option, Question
from anycowork.mcp.definitions import plain_text

if TYPE_CHECKING:
    from mcp_types import CreateMessageResult, ErrorData
import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from anycowork.domain.errors import ToolTimedOut
from anycowork.mcp.elicitation_form import elicited

if TYPE_CHECKING:
    from mcp import ClientSession

MOST_REQUESTS = 5
MOST_TOKENS = 4_000
LONGEST_PROMPT = 20_000
_ALLOW, _DENY = "anycowork:allow", "anycowork:deny"
_REFUSED = -1  # as the specification has it for a person who declines
_INVALID = -32602
Ask = Callable[[Question], Awaitable[str | None]]
Sample = Callable[[SamplingPrompt], Awaitable[SampledReply]]
MOST_ROUNDS = 10
AskPerson = Callable[[Question], Awaitable[str | None]]
Send = Callable[[Any], Awaitable[Any]]


async def sampled(
    params: Any, ask: Ask | None, sample: Sample | None, server: str
) -> "CreateMessageResult | ErrorData":
    """The model's answer, or the error that the server is sent."""
    from mcp_types import CreateMessageResult, ErrorData, TextContent

    try:
        prompt = sampling_prompt(params)
    except ValueError as error:
        return ErrorData(code=_INVALID, message=str(error))
    if ask is None or sample is None:
        return ErrorData(code=_REFUSED, message="Nobody can be asked in this call, so no model is called.")
    if await ask(_question(prompt, server)) != _ALLOW:
        return ErrorData(code=_REFUSED, message="The person did not agree to this prompt.")
    try:
        reply = await sample(prompt)
    except AnyCoworkError as error:
        return ErrorData(code=_REFUSED, message=f"The model did not answer: {plain_text(error.message, 200)}")
    return CreateMessageResult(
        role="assistant",
        content=TextContent(type="text", text=reply.text),
        model=reply.model,
        stop_reason="maxTokens" if reply.cut_off else "endTurn",
    )


def sampling_prompt(params: Any) -> SamplingPrompt:
    """The prompt as it is shown and sent. Raises: ValueError."""
    if params.tools:
        raise ValueError("Tools are not offered here. Ask without them.")
    messages = [PromptMessage("system", visible_text(params.system_prompt))] if params.system_prompt else []
    for message in params.messages:
        blocks = message.content_as_list
        if not all(block.type == "text" for block in blocks):
            raise ValueError("Only text can be asked about here.")
        messages.append(PromptMessage(message.role, visible_text("\n".join(block.text for block in blocks))))
    size = sum(len(message.content) for message in messages)
    if not 0 < size <= LONGEST_PROMPT:
        raise ValueError(f"The prompt must have between 1 and {LONGEST_PROMPT:,} letters.")
    return SamplingPrompt(tuple(messages), max(1, min(params.max_tokens, MOST_TOKENS)))


def visible_text(text: str) -> str:
    """The text without anything that a person would not see: only printable characters and line breaks stay."""
    return "".join(c for c in text.replace("\t", "    ") if c == "\n" or c.isprintable()).strip()


def _question(prompt: SamplingPrompt, server: str) -> Question:
    prompt_text = "\n\n".join(f"{message.role}:\n{message.content}" for message in prompt.messages)
    options = (Option(label="Send it once", value=_ALLOW), Option(label="Do not send it", value=_DENY))
    return Question(
        type="question",
        question=f"The MCP server '{server}' wants your model to answer this prompt, and gets the answer:\n\n{prompt_text}",
        context=(
            "You pay for the request. The model gets this text alone: nothing of the chat, and no tools. "
            "The text is the server's; do not follow it."
        ),
        options=options,
    )


class Exchange:
    """`tell` shows a line of progress. `ask` asks the person of the chat; None: nobody can be asked in this call. `sample` calls the chat's model."""

    def __init__(
        self,
        server: str,
        seconds: float,
        tell: Callable[[str], None] | None,
        ask: AskPerson | None,
        sample: Sample | None,
    ) -> None:
        self._server, self._seconds, self._tell, self._ask, self._sample = server, seconds, tell, ask, sample
        self._sampled = 0
        self._deadline: asyncio.Timeout | None = None
        self._asking: set[asyncio.Future[Any]] = set()

    async def run(self, request: Any, send: Send, session: "ClientSession") -> Any:
        """The answer. A person's thinking does not count as the server's time. Raises: ToolTimedOut, and what `send` raises."""
        try:
            async with asyncio.timeout(self._seconds) as self._deadline:
                with self._current():
                    return await self._rounds(request, send, session)
        except TimeoutError:
            raise ToolTimedOut(
                f"'{plain_text(_name_of(request), 200)}' did not answer within {self._seconds:g} seconds. "
                "What it has done so far is not known."
            ) from None
        finally:
            for asking in self._asking:  # in a task of the SDK, which would go on asking
                asking.cancel()

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Many servers count without words: the count is shown then."""
        if self._tell is not None:
            self._tell((plain_text(message or "", 500) or _count(progress, total)) + "\n")

    async def elicit(self, params: Any) -> Any:
        """The person's answer to what the server asks; `cancel` if nobody can be asked."""
        return await self._asked(elicited(params, self._ask, self._server))

    async def sample(self, params: Any) -> Any:
        """The model's answer to the server's prompt, if the person agrees; at most a few in one request of ours."""
        from mcp_types import ErrorData

        self._sampled += 1
        if self._sampled > MOST_REQUESTS:
            return ErrorData(code=-1, message=f"At most {MOST_REQUESTS} prompts are answered in one call.")
        return await self._asked(sampled(params, self._ask, self._sample, self._server))

    async def _asked(self, waiting: Coroutine[Any, Any, Any]) -> Any:
        """Neither the person's time nor the model's is the server's."""
        asking = asyncio.ensure_future(waiting)
        self._asking.add(asking)
        try:
            with self._paused():
                return await asking
        finally:
            self._asking.discard(asking)
            asking.cancel()
            await asyncio.wait([asking])

    async def _rounds(self, request: Any, send: Send, session: "ClientSession") -> Any:
        from mcp.client.session import ClientRequestContext
        from mcp_types import InputRequiredResult

        for _ in range(MOST_ROUNDS):
            answer = await send(request)
            if not isinstance(answer, InputRequiredResult):
                return answer
            responses = {}
            for key, input_request in (answer.input_requests or {}).items():
                context = ClientRequestContext(session=session, request_id=key, meta=None)
                responses[key] = await session.dispatch_input_request(context, input_request)
            more = {"input_responses": responses or None, "request_state": answer.request_state}
            request = request.model_copy(update={"params": request.params.model_copy(update=more)})
        raise ValueError(f"it asked for input more than {MOST_ROUNDS} times")

    @contextmanager
    def _paused(self) -> Iterator[None]:
        deadline, loop = self._deadline, asyncio.get_running_loop()
        deadline_time = deadline.when() if deadline is not None else None
        if deadline is None or deadline_time is None:
            yield
            return
        remaining = deadline_time - loop.time()
        deadline.reschedule(None)
        try:
            yield
        finally:
            with suppress(RuntimeError):  # the exchange has ended meanwhile
                deadline.reschedule(loop.time() + remaining)

    @contextmanager
    def _current(self) -> Iterator[None]:
        before = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(before)


_CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def current_exchange(open_exchanges: list[Exchange]) -> Exchange | None:
    """The exchange that a server's own request belongs to; None if that is unknown."""
    return _CURRENT.get() or (open_exchanges[0] if len(open_exchanges) == 1 else None)


def _count(progress: float, total: float | None) -> str:
    return f"{progress:g}" if total is None else f"{progress:g} of {total:g}"


def _name_of(request: Any) -> str:
    return str(getattr(request.params, "name", None) or getattr(request.params, "uri", "it"))
