"""Hooks: commands of a person that look at an agent's calls. They may deny, ask or add words, and never allow. Pure."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec
from pydantic import ConfigDict, Field, ValidationError

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Refusal
from anycowork.domain.messages import Json
from anycowork.domain.values import value

HOOKS_FILE = "hooks.json"
MOST_SECONDS = 60.0
MOST_WORDS = 2_000  # characters
DENIED = 2  # the exit code that denies
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


class HookEvent(StrEnum):
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"


class HookDecision(StrEnum):
    NOTHING = "nothing"
    ASK = "ask"
    DENY = "deny"


@value
class Hook:
    """One command of a `hooks.json`. `matcher` names tools, `|` between them; empty or `*` means all."""

    event: HookEvent
    command: str
    source: str
    matcher: str = ""
    seconds: float = MOST_SECONDS

    def looks_at(self, tool: str) -> bool:
        names = self.matcher.split("|")
        return any(
            _matches(ours, tool)
            for name in names
            for ours in _TOOLS.get(name.strip(), (name.strip().removeprefix("mcp__"),))
        )


@value
class HookOutcome:
    """What a run came to. `failed` says why it gave no answer."""

    decision: HookDecision = HookDecision.NOTHING
    reason: str = ""
    added_text: str = ""
    failed: str = ""

    def to_json(self) -> Json:
        return {"decision": self.decision.value, "reason": self.reason, "failed": self.failed}


class _Lenient(Boundary):
    model_config = ConfigDict(extra="ignore")


class _Command(_Lenient):
    type: str = "command"
    command: str = Field(min_length=1, max_length=4_000)
    timeout: float = Field(default=MOST_SECONDS, gt=0)


class _Group(_Lenient):
    matcher: str = Field(default="", max_length=500)
    hooks: list[_Command] = Field(max_length=50)


class _File(_Lenient):
    hooks: dict[str, list[_Group]]


class _Specific(_Lenient):
    permissionDecision: str = ""  # the common name
    permissionDecisionReason: str = ""
    additionalContext: str = ""


class _HookAnswer(_Lenient):
    decision: str = ""
    reason: str = ""
    hookSpecificOutput: _Specific = _Specific()


def read_hooks(text: str, source: str) -> tuple[list[Hook], list[str]]:
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
            hooks.append(Hook(events[name], command.command, source, matcher, min(command.timeout, MOST_SECONDS)))
    return hooks, problems


def read_outcome(event: HookEvent, exit_code: int, output: bytes, errors: bytes) -> HookOutcome:
    """Returns what a hook that ended by itself decided. What is not understood asks; `allow` is no decision."""
    if exit_code == DENIED:
        return HookOutcome(HookDecision.DENY, _words(errors.decode(errors="replace")) or "It gave no reason.")
    if exit_code != 0:
        return failed_outcome(event, f"it ended with exit code {exit_code}")
    text = output.decode(errors="replace").strip()
    if not text.startswith("{"):
        return HookOutcome()
    try:
        answer = _HookAnswer.model_validate(msgspec.json.decode(text))
    except (ValidationError, msgspec.DecodeError, RecursionError):
        return failed_outcome(event, "its answer is not the JSON of a hook")
    specific = answer.hookSpecificOutput
    decision = {"deny": HookDecision.DENY, "block": HookDecision.DENY, "ask": HookDecision.ASK}.get(
        specific.permissionDecision or answer.decision, HookDecision.NOTHING
    )
    reason = _words(specific.permissionDecisionReason or answer.reason) or "It gave no reason."
    return HookOutcome(decision, reason, _words(specific.additionalContext))


def failed_outcome(event: HookEvent, reason: str) -> HookOutcome:
    """Returns the outcome of a hook that gave no answer: before a call it asks, so that a failure lets nothing more through."""
    decision = HookDecision.ASK if event is HookEvent.PRE_TOOL_USE else HookDecision.NOTHING
    return HookOutcome(decision, f"It failed: {reason}.", failed=reason)


def texts_of_hooks(outcomes: Iterable[tuple[Hook, HookOutcome]]) -> str:
    """Returns what hooks say to the model, as data beside the result."""
    return "".join(
        f"\n\n[A hook ({hook.command[:80]}) adds: {outcome.added_text}]"
        for hook, outcome in outcomes
        if outcome.added_text
    )


def _matches(pattern: str, tool: str) -> bool:
    if pattern in ("", "*", ".*"):
        return True
    stem = pattern.removesuffix("*").removesuffix(".") if pattern.endswith("*") else None
    return tool == pattern if stem is None else tool.startswith(stem)


def _words(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * MOST_WORDS]).split())[
        :MOST_WORDS
    ]
