"""What an export shows of a chat, however it is written. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from anycowork.domain.chats import Chat
from anycowork.domain.evidence import evidence_line
from anycowork.domain.messages import Json, Message, MessageType, Speaker, json_object, json_objects
from anycowork.domain.person_commands import PERSON_COMMAND, ended_command
from anycowork.domain.values import value

_SPEAKERS = {Speaker.USER: "You", Speaker.ASSISTANT: "Agent", Speaker.SYSTEM: "AnyCowork", Speaker.TOOL: "Tool"}


@value
class ExportedChat:
    """Everything but the messages, which are read while the file is written. `evidence` is that of each turn that has some."""

    chat: Chat
    plans: tuple[Json, ...]
    audit: Json
    at: str
    evidence: tuple[Json, ...] = ()

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yields the lines of the heading."""
        config = self.chat.config
        yield "Workspace", self.chat.workspace
        yield "Role", config.agent_role
        yield "Model", config.model_id or "the default model"
        yield "Created", self.chat.created_at
        yield "Updated", self.chat.updated_at
        yield "Exported", self.at

    def audit_facts(self) -> Iterator[tuple[str, str]]:
        yield "End of the audit chain", str(self.audit["end"])
        yield "Last record", str(self.audit["last_seq"])
        heads = self.audit.get("heads")
        if isinstance(heads, dict):
            yield "Newest head of all chats", f"{heads.get('head')} (number {heads.get('count')})"


def evidence_lines(exported: ExportedChat) -> Iterator[tuple[str, str]]:
    """Yields each turn with evidence, and the evidence in one line."""
    for turn in exported.evidence:
        evidence = turn.get("evidence")
        yield str(turn.get("turn_id")), evidence_line(evidence) if isinstance(evidence, dict) else ""


def diffs(messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """Yields what each change did to the files, in order: the tool, and the diff."""
    for message in messages:
        payload = message.payload or {}
        diff = payload.get("diff")
        if message.message_type is MessageType.TOOL_RESULT and isinstance(diff, str) and diff:
            yield str(payload.get("tool") or "change"), diff


def author(message: Message) -> str:
    if PERSON_COMMAND in (message.payload or {}):
        return "You (a command of your own)"
    role = f" ({message.agent_role})" if message.agent_role and message.role is Speaker.ASSISTANT else ""
    return f"{_SPEAKERS[message.role]}{role}"


def printed_by_person(message: Message) -> str:
    """Returns what a person's own command printed; empty for any other message."""
    return str((ended_command(message) or {}).get("output") or "")


def call_line(payload: Mapping[str, JsonValue]) -> str:
    """Returns a call in one line: the tool, and what it is about."""
    fields = json_object(payload.get("parameters"))
    subject = next((str(fields[key]) for key in ("path", "command", "pattern", "query", "url") if key in fields), "")
    return f"{payload.get('tool')} {subject}".strip()


def step_lines(plan: Json) -> Iterator[tuple[str, str, str, str]]:
    """Yields each step of an approved plan: id, what was intended, the status, and what was done."""
    for step in json_objects(plan.get("steps")):
        intended = step.get("intended")
        action = intended.get("action") if isinstance(intended, dict) else None
        done = "; ".join(_done(done_call) for done_call in json_objects(step.get("done")))
        yield str(step.get("id")), str(action or ""), str(step.get("status")), done


def unplanned_lines(plan: Json) -> list[str]:
    return [_done(call) for call in json_objects(plan.get("unplanned"))]


def _done(done: Json) -> str:
    return f"{done.get('tool')} {done.get('resource')}: {done.get('status')}"
