"""The guide's texts: what it is, what it can do, and the outcome of an intent. Pure; no text claims more than a result showed."""

import re
from collections.abc import Sequence

from anycowork.domain.values import value
from anycowork.providers.guide.conversation import CallOutcome
from anycowork.providers.guide.intents import Intent, RunCommandIntent, phrase

SHOWN_LINES = 40
SHOWN_CHARACTERS = 2_000

WHO = "I am the guide, not a language model: I follow plain requests word for word, and I understand nothing else."
CONNECT = (
    "To have a real model answer here, paste a key on the page under Settings, Models, or run `anycowork model connect`; "
    "or start Ollama, LM Studio or llama.cpp on this machine: they are found automatically."
)
_EXAMPLES = {
    "planner": (
        'Plan: create hello.txt with "Hello!" then run `cat hello.txt`',
        "List the files",
        'Replace "Hello" with "Good day" in hello.txt',
    ),
    "reviewer": ("Review README.md", "List the files", "Search for TODO"),
    "tester": ("Run `ls -l`", "Read README.md", "Search for TODO"),
    "designer": ('Create hello.txt with "Hello!"', "List the files", "Read README.md"),
    "actor": ('Create hello.txt with "Hello!"', "List the files", 'Replace "Hello" with "Good day" in hello.txt'),
}
_EXAMPLES["commander"] = _EXAMPLES["planner"]
_NEXT = {
    "planner": "I look first and then give you a plan. Nothing is changed until you press “Execute plan”.",
    "commander": "I look first and then give you a plan. Nothing is changed until you approve it.",
    "reviewer": "As Reviewer I read a file and report what can be seen mechanically.",
    "tester": "As Tester I run the command you name and report how it ended.",
    "designer": "As Designer I create new files and change none.",
    "actor": "I can list, read, search, create, change, append, move, delete and run. "
    "To see the plan before anything happens, switch to Planner and say the same.",
}


@value
class ResultSummary:
    """The outcome of one intent, in words. `answered`: the person said no, which is an answer and not a failure."""

    ok: bool
    text: str
    answered: bool = False


def introduction(role: str) -> str:
    return f"{WHO}\n\n{_NEXT.get(role, _NEXT['actor'])} For example:\n\n{examples(role)}\n\n{CONNECT}"


def not_understood(role: str, unclear: Sequence[str]) -> str:
    parts = "\n".join(f"- {_short(part)}" for part in unclear[:5])
    return (
        f"{WHO} This I did not understand, so I have done nothing:\n\n{parts}\n\n"
        f"I can do things like:\n\n{examples(role)}\n\n{CONNECT}"
    )


def not_for_this_role(role: str, intents: Sequence[Intent]) -> str:
    listed = "\n".join(f"- {phrase(intent)}" for intent in intents)
    return (
        f"As {role.capitalize()} I may not do this:\n\n{listed}\n\n"
        "Switch to Actor to have it done, or to Planner to see a plan first."
    )


def examples(role: str) -> str:
    return "\n".join(f"- {example}" for example in _EXAMPLES.get(role, _EXAMPLES["actor"]))


def done(intent: Intent, report: str, outcome: CallOutcome, *, show: bool = False) -> ResultSummary:
    """`report` says in the past tense what was done; it is used only if the result is ok."""
    if outcome.ok:
        return ResultSummary(True, f"{report}{_block(outcome.text) if show else ''}")
    return ResultSummary(False, f"Not done: {phrase(intent)}. {_reason(outcome)}", answered=outcome.status == "denied")


def ran(intent: RunCommandIntent, outcome: CallOutcome) -> ResultSummary:
    code = exit_code(outcome.text)
    ending = f"exit code {code}" if code is not None else outcome.status
    if outcome.status in ("ok", "error"):
        return ResultSummary(
            outcome.ok and code in (None, 0), f"Ran `{intent.command}`: {ending}{_block(outcome.text)}"
        )
    return done(intent, f"Ran `{intent.command}`", outcome)


def exit_code(text: str) -> int | None:
    """Returns the exit code that a command's result names."""
    match = re.search(r"\bexit(?:ed)?(?:\s+with)?(?:[ _](?:code|status))?\W{1,3}(-?\d{1,9})\b", text, re.IGNORECASE)
    return int(match[1]) if match else None


def summary(results: Sequence[ResultSummary], skipped: Sequence[str]) -> str:
    """Summarises what was done, what failed, and what was left undone because of it."""
    if len(results) == 1 and not skipped:
        return results[0].text
    lines = [f"{number}. {result.text}" for number, result in enumerate(results, 1)]
    if skipped:
        lines.append("Left undone:\n" + "\n".join(f"- {step}" for step in skipped))
    failed = sum(not result.ok for result in results)
    head = f"{failed} of {len(results)} steps did not work." if failed else f"All {len(results)} steps are done."
    return "\n\n".join([head if not skipped else f"I stopped before the end. {head}", *lines])


# What a result tells a model to do next begins with one of these. The person who reads the guide's answer is not that model.
_FOR_MODELS = (
    " Do not try ",
    " Only the person can switch ",
    ": read it with read_file first",
    " Read it with read_file",
    " list_directory shows ",
)
_DENIED = "The person denied this call ("


def why_not(text: str) -> str:
    """Returns what a failed call said, without advice for models."""
    return _short(_for_people(text)) or "no reason was given"


def _reason(outcome: CallOutcome) -> str:
    explanation = why_not(outcome.text)
    match outcome.status:
        case "denied" if explanation.startswith(_DENIED):
            reason = explanation.partition(" They said: ")[2]
            return f"You did not allow it: {reason}" if reason else "You did not allow it."
        case "denied":
            return f"You did not allow it: {explanation}"
        case "refused":
            return f"It was refused: {explanation}"
        case "interrupted" | "cancelled":
            return f"It was {outcome.status}: {explanation}"
        case _:
            return f"It failed: {explanation}"


def _for_people(text: str) -> str:
    for beginning in _FOR_MODELS:
        text = text.partition(beginning)[0]
    return text


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 300 else f"{text[:300]}…"


def _block(text: str) -> str:
    """Bounded, and fenced so that nothing in it is taken for the guide's own text."""
    lines = text.strip("\n").splitlines()
    excerpt = "\n".join(lines[:SHOWN_LINES])[:SHOWN_CHARACTERS]
    if not excerpt.strip():
        return " (no output)"
    longest = max((len(run) for run in re.findall(r"`+", excerpt)), default=0)
    fence = "`" * max(3, longest + 1)
    more = "" if excerpt == "\n".join(lines) else "\n(cut; the whole is in the result above)"
    return f":\n\n{fence}\n{excerpt}\n{fence}{more}"
