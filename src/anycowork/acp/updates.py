"""A chat's events and stored messages as the session updates that an editor draws. No I/O; remembers what was sent already."""

from collections.abc import Sequence

from acp.helpers import text_block, update_agent_message_text, update_agent_thought_text, update_user_message_text
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ContentToolCallContent,
    Cost,
    CurrentModeUpdate,
    PlanEntry,
    PlanEntryStatus,
    TerminalToolCallContent,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    Usage,
    UsageUpdate,
    UserMessageChunk,
)

from anycowork.acp.tool_calls import call_kind, call_locations, call_title, diff_content, fenced, one_line, shown_text
from anycowork.domain.messages import Json, json_object, json_objects

SessionUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | CurrentModeUpdate
)

LONGEST_RESULT = 20_000  # characters of a result that the editor is sent; the chat keeps all of it
LONGEST_OUTPUT = 6_000  # characters of a running command's output
_STEP_STATUS: dict[str, PlanEntryStatus] = {"running": "in_progress", "done": "completed", "claimed": "completed"}
_STEP_NOTES = {"claimed": "not verified", "failed": "failed", "skipped": "skipped"}


class UpdateBuilder:
    """`role` follows the chat's; `own` holds the ids of messages that the editor shows already; `usage` counts one prompt's tokens.

    With `terminals` the editor shows a command's output as a terminal of its own. It runs nothing there: we send what the command
    in the sandbox printed.
    """

    def __init__(self, workspace: str, role: str, *, terminals: bool = False) -> None:
        self._workspace = workspace
        self._terminals = terminals
        self.role = role
        self.own: set[str] = set()
        self.usage = Usage(total_tokens=0, input_tokens=0, output_tokens=0)
        self._sent: dict[tuple[str, bool], int] = {}
        self._printed: dict[str, str] = {}
        self._output_lengths: dict[str, int] = {}
        self._calls: set[str] = set()
        self._shown_terminals: set[str] = set()
        self._steps: dict[str, Json] = {}

    def from_event(self, event: Json) -> Sequence[SessionUpdate]:
        match event.get("type"):
            case "text-delta" | "reasoning-delta" as kind:
                return self._delta(event, thinking=kind == "reasoning-delta")
            case "message":
                return self._message(json_object(event.get("message")), live=True)
            case "tool-call":
                return [self._call(json_object(event.get("tool_call")), running=True)]
            case "permission-request":
                approval = json_object(event.get("approval"))
                return [self._call({**approval, "id": approval.get("tool_call_id")}, running=False)]
            case "plan-update":
                return self._plan(json_object(event.get("plan")))
            case "role-changed":
                self.role = str(json_object(event.get("role")).get("new_role"))
                return [CurrentModeUpdate(session_update="current_mode_update", current_mode_id=self.role)]
            case "usage":
                self._count(json_object(event.get("usage")))
        return []

    def from_message(self, message: Json) -> Sequence[SessionUpdate]:
        """A stored message, for a session that is loaded."""
        return self._message(message, live=False)

    def _delta(self, event: Json, *, thinking: bool) -> Sequence[SessionUpdate]:
        where, text, offset = str(event.get("message_id")), str(event.get("text")), event.get("offset")
        start = offset if isinstance(offset, int) else 0
        if (call_id := event.get("call_id")) is not None:
            return self._output(str(call_id), start, text)
        new = text[max(0, self._sent.get((where, thinking), 0) - start) :]
        self._sent[where, thinking] = max(self._sent.get((where, thinking), 0), start + len(text))
        return [_chunk(new, thinking=thinking)] if new else []

    def _output(self, call_id: str, offset: int, text: str) -> Sequence[SessionUpdate]:
        """Also after a reconnect, when all that was printed so far comes again."""
        seen = self._output_lengths.get(call_id, 0)
        self._output_lengths[call_id] = max(seen, offset + len(text))
        text = text[max(0, seen - offset) :]
        if not text:
            return []
        self._printed[call_id] = (self._printed.get(call_id, "") + text)[-LONGEST_OUTPUT:]
        if call_id in self._shown_terminals:
            return [self._print(call_id, text)]
        return [_progress(call_id, content=[_text_content(fenced(shown_text(self._printed[call_id])))])]

    def _print(self, call_id: str, text: str) -> SessionUpdate:
        """Into the call's terminal, where escape sequences of a program would act: they are written out."""
        data = shown_text(text).replace("\n", "\r\n")
        return _progress(call_id, field_meta=_terminal("output", call_id, data=data))

    def _message(self, message: Json, *, live: bool) -> Sequence[SessionUpdate]:
        payload = json_object(message.get("payload"))
        match message.get("role"), message.get("message_type"):
            case "user", "text":
                hidden = (
                    "plan_id" in payload or str(message.get("id")) in self.own or (live and "question_id" in payload)
                )
                return [] if hidden else [update_user_message_text(str(message.get("content")))]
            case "assistant", "text" | "review":
                return self._rest(message)
            case "assistant", "question":
                return [*self._thought(message), update_agent_message_text(question_text(payload))]
            case "assistant" | "user", "plan":
                return [*self._thought(message), *([] if live else self._plan(payload))]
            case "assistant", "tool_call":
                return [*self._thought(message), *([] if live else [self._call(payload, running=False)])]
            case "tool", "tool_result":
                return self._result(payload, str(message.get("content")))
        return []

    def _rest(self, message: Json) -> Sequence[SessionUpdate]:
        """What of the complete message was not streamed."""
        content, seen = str(message.get("content")), self._sent.pop((str(message.get("id")), False), 0)
        thoughts = self._thought(message)
        return [*thoughts, update_agent_message_text(content[seen:])] if content[seen:] else thoughts

    def _thought(self, message: Json) -> Sequence[SessionUpdate]:
        thought, seen = message.get("reasoning"), self._sent.pop((str(message.get("id")), True), 0)
        return [update_agent_thought_text(thought[seen:])] if isinstance(thought, str) and thought[seen:] else []

    def _call(self, call: Json, *, running: bool) -> SessionUpdate:
        call_id, tool, parameters = str(call.get("id")), str(call.get("tool")), json_object(call.get("parameters"))
        if call_id in self._calls:
            return _progress(call_id, status="in_progress" if running else "pending")
        self._calls.add(call_id)
        is_terminal = self._terminals and call_kind(tool) == "execute"
        if is_terminal:
            self._shown_terminals.add(call_id)
        return ToolCallStart(
            session_update="tool_call",
            tool_call_id=call_id,
            title=call_title(tool, parameters),
            kind=call_kind(tool),
            status="in_progress" if running else "pending",
            locations=call_locations(parameters, self._workspace),
            raw_input=parameters,
            content=[TerminalToolCallContent(type="terminal", terminal_id=call_id)] if is_terminal else None,
            field_meta=_terminal("info", call_id, cwd=self._workspace) if is_terminal else None,
        )

    def _result(self, payload: Json, content: str) -> Sequence[SessionUpdate]:
        call_id, diff = str(payload.get("tool_call_id")), payload.get("diff")
        text = content if len(content) <= LONGEST_RESULT else f"{content[:LONGEST_RESULT]}\n… (the chat holds the rest)"
        output = [_text_content(fenced(shown_text(text)))] if text.strip() else []
        hidden = _hidden_values(payload)
        drawn = diff_content(diff, self._workspace) if isinstance(diff, str) else []
        status: ToolCallStatus = "completed" if payload.get("status") == "ok" else "failed"
        raw_output: Json = {name: payload[name] for name in ("status", "error", "facts") if name in payload}
        was_printed = self._printed.pop(call_id, None) is not None
        self._output_lengths.pop(call_id, None)
        if call_id not in self._shown_terminals:
            return [_progress(call_id, status=status, content=[*drawn, *output, *hidden], raw_output=raw_output)]
        self._shown_terminals.discard(call_id)
        terminal = TerminalToolCallContent(type="terminal", terminal_id=call_id)
        code = json_object(raw_output.get("facts")).get("exit_code")
        exit_meta = _terminal("exit", call_id, exit_code=code if isinstance(code, int) else None, signal=None)
        blocks = [terminal, *drawn, *hidden]
        end = _progress(call_id, status=status, content=blocks, raw_output=raw_output, field_meta=exit_meta)
        return [end] if was_printed else [self._print(call_id, text), end]

    def _plan(self, plan: Json) -> Sequence[SessionUpdate]:
        """Progress names steps by their ids alone; the editor is always sent the whole plan."""
        steps = json_objects(plan.get("steps"))
        if any("action" in step for step in steps):
            self._steps = {str(step.get("id")): step for step in steps}
        for step in steps:
            step_id = str(step.get("id"))
            self._steps[step_id] = {**self._steps.get(step_id, {}), **step}
        return [AgentPlanUpdate(session_update="plan", entries=[_entry(step) for step in self._steps.values()])]

    def _count(self, usage: Json) -> None:
        prompt, completion = (n if isinstance(n := usage.get(name), int) else 0 for name in ("prompt", "completion"))
        self.usage = Usage(
            total_tokens=self.usage.total_tokens + prompt + completion,
            input_tokens=self.usage.input_tokens + prompt,
            output_tokens=self.usage.output_tokens + completion,
        )


def usage_update(used: Json) -> UsageUpdate | None:
    """Returns how full the chat's context is and what the chat has cost; None where nobody named the size of the context."""
    window, size = used.get("window"), used.get("context_tokens")
    if not used.get("context_known") or not isinstance(window, int) or not isinstance(size, int):
        return None
    costs = [model.get("cost") for model in json_objects(used.get("models"))]
    known_costs = [float(cost) for cost in costs if isinstance(cost, int | float)]
    cost = Cost(amount=sum(known_costs), currency="USD") if known_costs and len(known_costs) == len(costs) else None
    return UsageUpdate(session_update="usage_update", used=window, size=size, cost=cost)


def question_text(question: Json) -> str:
    lines = [shown_text(question.get("question"))]
    if context := question.get("context"):
        lines.append(shown_text(context))
    for option in json_objects(question.get("options")):
        more = f": {shown_text(option['description'])}" if option.get("description") else ""
        lines.append(f"- {shown_text(option.get('label'))}{more}")
    return "\n\n".join(lines[:2]) + "".join(f"\n{line}" for line in lines[2:])


def _chunk(text: str, *, thinking: bool) -> SessionUpdate:
    return update_agent_thought_text(text) if thinking else update_agent_message_text(text)


def _progress(call_id: str, **changed: object) -> ToolCallProgress:
    return ToolCallProgress.model_validate({"session_update": "tool_call_update", "tool_call_id": call_id, **changed})


def _terminal(event: str, terminal_id: str, **more: object) -> dict[str, object]:
    """What editors take for a terminal that they show and do not run: an extension of theirs, in `_meta`."""
    return {f"terminal_{event}": {"terminal_id": terminal_id, **more}}


def _hidden_values(payload: Json) -> list[ContentToolCallContent]:
    """Says of which values the model was told a stand-in instead."""
    match payload.get("hidden_values"):
        case [str(), *_] as kinds:
            return [_text_content(f"The agent is not shown: {one_line(', '.join(map(str, kinds)))}.")]
    return []


def _text_content(text: str) -> ContentToolCallContent:
    return ContentToolCallContent(type="content", content=text_block(text))


def _entry(step: Json) -> PlanEntry:
    status = str(step.get("status"))
    note = f" ({_STEP_NOTES[status]})" if status in _STEP_NOTES else ""
    content = f"{shown_text(step.get('action', step.get('id')))}{note}"
    return PlanEntry(content=content, priority="medium", status=_STEP_STATUS.get(status, "pending"))
