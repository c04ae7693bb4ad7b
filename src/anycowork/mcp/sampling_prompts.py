"""Prompts that a server wants the chat's model to answer while it works on a call. A person sees each one in full and agrees, or it is refused.

What is shown is what is sent: control characters and invisible ones are taken out before, images and tools are refused, and the model gets
nothing of the chat.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.model import PromptMessage, SampledReply, SamplingPrompt
from anycowork.domain.question import Option, Question
from anycowork.mcp.schemas import plain_text

if TYPE_CHECKING:
    from mcp_types import CreateMessageResult, ErrorData

MOST_REQUESTS = 5
MOST_TOKENS = 4_000
LONGEST_PROMPT = 20_000
_ALLOW, _DENY = "anycowork:allow", "anycowork:deny"
_REFUSED = -1  # as the specification has it for a person who declines
_INVALID = -32602
Ask = Callable[[Question], Awaitable[str | None]]
Sample = Callable[[SamplingPrompt], Awaitable[SampledReply]]


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
