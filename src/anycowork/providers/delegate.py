"""Lets a delegate answer a chat: the person's message becomes one call of the delegate's tool, and its result the answer. Pure.

No model is asked. The call passes the gate like a model's, so the chat's role, rules, approvals and checkpoints hold.
"""

import json
from collections.abc import AsyncIterator, Sequence

from anycowork.domain.agents import AGENT_PROVIDER, delegate_tool
from anycowork.domain.model import Chunk, ContentPart, ModelRequest, PromptMessage, ReplyFinished, TextChunk, UsageChunk

_KEYS = ("tool", "type", "<")
_REJECTED = "Result of reply ("  # the server's own note on an answer
_REPORT_WANTED = "The task needs your report"
_LONGEST_SUMMARY = 2_000
_FILES_HEAD = "[Files in the workspace:"  # the list that a model gets; the agent looks for itself
MOST_EARLIER = 20_000  # characters of the conversation so far


class DelegateProvider:
    name = AGENT_PROVIDER

    async def answer(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        reply = next_reply(request.model, request.messages)
        yield TextChunk(reply)
        yield UsageChunk(prompt=0, completion=0)
        yield ReplyFinished("stop")


def next_reply(name: str, messages: Sequence[PromptMessage]) -> str:
    """The call, or the answer once the call has a result."""
    spoken = [message for message in messages if message.role != "system"]
    last = spoken[-1] if spoken else PromptMessage("user", "")
    newest = last.parts[-1] if last.parts else ContentPart(last.content)
    if newest.text.startswith(_REJECTED):
        result = _last_result(spoken)
        return _report(name, result) if _REPORT_WANTED in newest.text else _answer(name, result)
    if newest.answers is not None:
        return _answer(name, newest.text)
    request = last.content.partition("]\n\n")[2] if last.content.startswith(_FILES_HEAD) else last.content
    earlier = "\n\n".join(f"{message.role}: {message.content}" for message in spoken[:-1])[-MOST_EARLIER:]
    task = f"{request}\n\nThe conversation so far, as background:\n\n{earlier}" if earlier else request
    return json.dumps({"tool": delegate_tool(name), "parameters": {"task": task}, "terminate": False})


def _last_result(spoken: Sequence[PromptMessage]) -> str:
    parts = [part for message in spoken for part in message.parts if part.answers is not None]
    return parts[-1].text if parts else ""


def _report(name: str, result: str) -> str:
    """What a job's task ends with. The agent's words are its claim; the job's checks decide."""
    heading, _, text = result.partition("\n")
    status = "success" if f"{delegate_tool(name)} (ok)" in heading else "failure"
    return json.dumps({"status": status, "summary": text.strip()[:_LONGEST_SUMMARY] or heading or "No result."})


def _answer(name: str, result: str) -> str:
    """The result without its heading. A failure is not repeated: the result says why. A call that the agent quotes is none of ours,
    so text that could be read as one is not repeated either."""
    heading, _, text = result.partition("\n")
    if f"{delegate_tool(name)} (ok)" not in heading:
        return f"The agent '{name}' failed or was kept from this. The result above says why."
    answer = text.strip() or heading
    if "{" in answer and any(key in answer for key in _KEYS):
        return "The agent's answer stands in the result above."
    return f"The agent answered:\n\n{answer}"
