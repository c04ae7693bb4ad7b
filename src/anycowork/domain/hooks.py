"""Hooks: commands of a person that look at what an agent does. They may deny, ask, add words or checks, and never allow. Pure."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec
from pydantic import ConfigDict, Field, JsonValue, ValidationError

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import ModelFault, Refusal
from anycowork.domain.messages import Json, Message, Speaker, json_objects
from anycowork.domain.origins import NO_ORIGINS, Origins, join
from anycowork.domain.values import replace, value

HOOKS_FILE = "hooks.json"
MOST_SECONDS = 60.0
MOST_WORDS = 2_000  # characters
MOST_CHECKS, LONGEST_CHECK = 10, 1_000
DENIED = 2  # the exit code that denies
RUNS = "hooks"
"""In a message's payload and in the facts of a result: every run with its outcome."""
# The names of tools that hooks use, each with ours. A hook may use ours as well.
_TOOLS = {
    "Bash": ("execute_command",),
    "Read": ("read_file",),
    "Write": ("create_file", "update_file"),
    "Edit": ("update_file",),
    "MultiEdit": ("update_file",),
    "Grep": ("grep",),
    "Glob": ("list_directory",),
    "WebFetch": ("fetch_page",),
    "WebSearch": ("search_web",),
    "Task": ("ask_agent",),
}


class DeniedByHook(Refusal):
    code = "denied_by_hook"


class HeldByHook(ModelFault):
    """A hook has the agent go on instead of stopping."""

    code = "held_by_hook"


class HookEvent(StrEnum):
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    STOP = "Stop"
    SUBAGENT_STOP = "SubagentStop"
    PRE_COMPACT = "PreCompact"


_OF_TOOLS = (HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE)
_OF_WORDS = (HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT)
_UNMATCHED = (HookEvent.USER_PROMPT_SUBMIT, HookEvent.STOP)  # their hooks run whatever the matcher says


class HookDecision(StrEnum):
    NOTHING = "nothing"
    ASK = "ask"
    DENY = "deny"


@value
class Hook:
    """One command of a `hooks.json`. `matcher` names tools, or what else the event is about, `|` between them; empty or `*` means all.

    `checks` stand in the file, so whoever trusted it trusts them. `root` is the folder of the plugin that brings it.
    """

    event: HookEvent
    command: str
    source: str
    matcher: str = ""
    seconds: float = MOST_SECONDS
    checks: tuple[str, ...] = ()
    root: str = ""

    def looks_at(self, subject: str) -> bool:
        if self.event in _UNMATCHED:
            return True
        names = [name.strip() for name in self.matcher.split("|")]
        if self.event not in _OF_TOOLS:
            return any(_matches(name, subject) for name in names)
        return any(
            _matches(ours, subject) for name in names for ours in _TOOLS.get(name, (name.removeprefix("mcp__"),))
        )


@value
class HookOutcome:
    """The outcome of one run. `failed` says why it gave no answer; `checks` are commands for the end of the turn; `origins` are those of
    all files that it could read, if it has words that a model may be told."""

    decision: HookDecision = HookDecision.NOTHING
    reason: str = ""
    added_text: str = ""
    failed: str = ""
    checks: tuple[str, ...] = ()
    origins: Origins = NO_ORIGINS

    @property
    def has_words(self) -> bool:
        return bool(self.added_text) or self.decision is HookDecision.DENY

    def to_json(self) -> Json:
        return {
            "decision": self.decision.value,
            "reason": self.reason,
            "failed": self.failed,
            "adds": self.added_text,
            "checks": [*self.checks],
        }


HookRuns = Sequence[tuple[Hook, HookOutcome]]


class _Lenient(Boundary):
    model_config = ConfigDict(extra="ignore")


class _Command(_Lenient):
    type: str = "command"
    command: str = Field(min_length=1, max_length=4_000)
    timeout: float = Field(default=MOST_SECONDS, gt=0)
    checks: list[str] = Field(default_factory=list, max_length=MOST_CHECKS)


class _Group(_Lenient):
    matcher: str = Field(default="", max_length=500)
    hooks: list[_Command] = Field(max_length=50)


class _File(_Lenient):
    hooks: dict[str, list[_Group]]


class _Specific(_Lenient):
    permissionDecision: str = ""  # the common name
    permissionDecisionReason: str = ""
    additionalContext: str = ""
    checks: list[str] = Field(default_factory=list)


class _HookAnswer(_Lenient):
    decision: str = ""
    reason: str = ""
    hookSpecificOutput: _Specific = Field(default_factory=_Specific)


def read_hooks(text: str, source: str, root: str = "") -> tuple[list[Hook], list[str]]:
    """Returns the hooks of a `hooks.json`, and what in it is not run."""
    try:
        groups = _File.model_validate_json(text).hooks
    except ValidationError as error:
        first = error.errors()[0]
        return [], [f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"]
    hooks, problems = [], []
    events = {event.value: event for event in HookEvent}
    for name, listed in groups.items():
        commands = [(group.matcher, command) for group in listed for command in group.hooks]
        if name not in events:
            problems.append(f"{name[:60]}: there is no such event here; these are: {', '.join(events)}")
            continue
        for matcher, command in commands:
            if command.type != "command":
                problems.append(f"{name}: hooks of type '{command.type[:60]}' are not run")
                continue
            seconds = min(command.timeout, MOST_SECONDS)
            hooks.append(Hook(events[name], command.command, source, matcher, seconds, _checks(command.checks), root))
    return hooks, problems


def read_outcome(event: HookEvent, exit_code: int, output: bytes, errors: bytes) -> HookOutcome:
    """Returns the decision of a hook that was not stopped. An answer that cannot be read asks; `allow` does not count as a decision."""
    if exit_code == DENIED:
        return _outcome(event, HookDecision.DENY, errors.decode(errors="replace"), "", ())
    if exit_code != 0:
        return failed_outcome(event, f"it ended with exit code {exit_code}")
    text = output.decode(errors="replace").strip()
    if not text.startswith("{"):
        return HookOutcome(added_text=_words(text) if event in _OF_WORDS else "")
    try:
        answer = _HookAnswer.model_validate(msgspec.json.decode(text))
    except (ValidationError, msgspec.DecodeError, RecursionError):
        return failed_outcome(event, "its answer is not the JSON of a hook")
    specific = answer.hookSpecificOutput
    decision = {"deny": HookDecision.DENY, "block": HookDecision.DENY, "ask": HookDecision.ASK}.get(
        specific.permissionDecision or answer.decision, HookDecision.NOTHING
    )
    reason = specific.permissionDecisionReason or answer.reason
    return _outcome(event, decision, reason, specific.additionalContext, _checks(specific.checks))


def _outcome(event: HookEvent, decision: HookDecision, reason: str, added: str, checks: tuple[str, ...]) -> HookOutcome:
    """After a call nothing can be denied: the reason is for the model to read."""
    reason, added = _words(reason), _words(added)
    if event is HookEvent.POST_TOOL_USE and decision is not HookDecision.NOTHING:
        added = " ".join(filter(None, (reason, added)))
    return HookOutcome(decision, reason or "It gave no reason.", added, checks=checks)


def failed_outcome(event: HookEvent, reason: str) -> HookOutcome:
    """Returns the outcome of a hook that gave no answer: before a call it asks, so that a failure lets nothing more through."""
    decision = HookDecision.ASK if event is HookEvent.PRE_TOOL_USE else HookDecision.NOTHING
    return HookOutcome(decision, f"It failed: {reason}.", failed=reason)


def texts_of_hooks(outcomes: Iterable[tuple[Hook, HookOutcome]]) -> str:
    """Returns what hooks say to the model, as data beside the result or the message."""
    return "".join(
        f"\n\n[A hook ({hook.command[:80]}) adds: {outcome.added_text}]"
        for hook, outcome in outcomes
        if outcome.added_text
    )


def runs_json(outcomes: HookRuns) -> dict[str, JsonValue]:
    """Returns what is recorded of the runs; nothing without any."""
    runs: list[JsonValue] = [
        {"event": hook.event.value, "command": hook.command[:200], "source": hook.source, **outcome.to_json()}
        for hook, outcome in outcomes
    ]
    return {RUNS: runs} if runs else {}


def denied(outcomes: HookRuns) -> DeniedByHook | None:
    """Returns the refusal if a hook denies."""
    for hook, outcome in outcomes:
        if outcome.decision is HookDecision.DENY:
            return DeniedByHook(f"{named(hook)} denies it: {outcome.reason}")
    return None


def named(hook: Hook) -> str:
    return f"The hook '{hook.command[:80]}' of {hook.source}"


def origins_of_words(outcomes: HookRuns) -> Origins:
    """Returns where the words that hooks add, or deny with, may come from; nothing without any."""
    return join(*(outcome.origins for _, outcome in outcomes))


def denied_message(message: Message, refusal: DeniedByHook, outcomes: HookRuns) -> Message:
    """Returns the record of a message that a hook denies: who denied it and why, and not a word of it."""
    note = f"A message was not taken. {refusal.message}"
    origins = origins_of_words(outcomes)
    return replace(message, role=Speaker.SYSTEM, content=note, payload=runs_json(outcomes), origins=origins)


def checks_recorded(payload: Json | None) -> list[str]:
    """Returns the checks that hooks named, from the record of their runs in a message of this server."""
    checks = [run.get("checks") for run in _runs_recorded(payload)]
    return [str(check) for listed in checks if isinstance(listed, list) for check in listed]


def words_recorded(payload: Json | None) -> list[str]:
    """Returns the texts that hooks added for the model, from the record of their runs. They are untrusted text, in any message."""
    runs = _runs_recorded(payload)
    if not runs:  # as for most messages
        return []
    reasons = [run.get("reason") for run in runs if run.get("decision") == HookDecision.DENY]
    return [str(text) for text in (*reasons, *(run.get("adds") for run in runs)) if text]


def _runs_recorded(payload: Json | None) -> list[Json]:
    if not payload:
        return []
    facts = payload.get("facts")
    return json_objects((facts if isinstance(facts, dict) else payload).get(RUNS))


def with_hook_words(message: Message) -> Message:
    """Returns a person's message as the model is shown it: with what hooks added. Applying it twice changes nothing."""
    runs = (message.payload or {}).get(RUNS) if message.role is Speaker.USER else None
    if not isinstance(runs, list):
        return message
    additions = [
        f"\n\n[A hook ({str(run.get('command'))[:80]}) adds: {run['adds']}]"
        for run in runs
        if isinstance(run, dict) and run.get("adds")
    ]
    payload = {key: field_value for key, field_value in (message.payload or {}).items() if key != RUNS}
    return replace(message, content=message.content + "".join(additions), payload=payload or None)


def _checks(commands: Sequence[str]) -> tuple[str, ...]:
    """Returns the commands that are short enough. A long one is left out: cut off, it would be another command."""
    plain = (command.strip() for command in commands[:MOST_CHECKS])
    return tuple(command for command in plain if command and len(command) <= LONGEST_CHECK and command.isprintable())


def _matches(pattern: str, tool: str) -> bool:
    if pattern in ("", "*", ".*"):
        return True
    stem = pattern.removesuffix("*").removesuffix(".") if pattern.endswith("*") else None
    return tool == pattern if stem is None else tool.startswith(stem)


def _words(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * MOST_WORDS]).split())[
        :MOST_WORDS
    ]
