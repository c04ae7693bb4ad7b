"""Reads what the model says about open steps of its plan: a step counts as explained if the text names it, by id or title, and says why.

What a text says never proves a step: an explained one is shown as claimed.
"""

import re
from collections.abc import Iterable, Sequence

from anycowork.agent.turn_context import TurnContext
from anycowork.domain.messages import MessageType, Speaker
from anycowork.domain.patterns import late_pattern
from anycowork.domain.plan import PlanStep

_WORD = late_pattern(r"[\w'’\-]++")
_COUNTED = frozenset({"step", "steps", "task", "tasks", "number", "no"})  # words before the ids of steps
_BETWEEN = frozenset({"and", "to"})
_NOT_DONE = late_pattern(
    r"\b(?:fail(?:ed|s|ure)?|could(?: no|n['’])t|can(?: ?no|['’])t|unable|impossible|unsuccessful|"
    r"(?:was|were|is|are|has|have|did|does)(?: no|n['’])t (?:yet )?(?:been )?(?:done|finish(?:ed)?|complete(?:d)?|possible|made|work)|"
    r"not (?:yet )?(?:done|finished|completed|possible)|still open|gave up|give up|skipped)\b",
    re.IGNORECASE,
)
_FEWEST_WORDS = 4  # besides the name: fewer give no reason


def open_steps(context: TurnContext, text: str) -> list[PlanStep]:
    """Returns the unfinished steps that the model's text does not account for. No text accounts for a failed check or a denied call."""
    progress = context.progress
    unfinished = progress.unfinished() if progress is not None else []
    if progress is None or not unfinished:
        return []
    refuted = [step for step in unfinished if progress.is_refuted(step)]
    if context.assignment.policy.vouches(text):
        return refuted
    unnamed = {step.id for step in unexplained(unfinished, text)}
    return [step for step in unfinished if step.id in unnamed or step in refuted]


def is_accounted_for(context: TurnContext, steps: Sequence[PlanStep]) -> bool:
    """Whether the model has said in this turn why these steps need nothing more."""
    progress = context.progress
    if progress is None or any(map(progress.is_refuted, steps)):
        return False
    answers = [
        message.content
        for message in context.conversation.history
        if message.turn_id == context.turn.id
        and message.role is Speaker.ASSISTANT
        and message.message_type is not MessageType.TOOL_CALL
    ]
    return bool(answers) and not unexplained(steps, "\n".join(answers))


def unexplained(steps: Iterable[PlanStep], text: str) -> list[PlanStep]:
    """Returns the steps that the text does not name with a reason, or that it says were not done."""
    passages = _passages(text)
    return [step for step in steps if not _is_explained(step, passages)]


def _passages(text: str) -> list[str]:
    """Returns the sentences of the text. A line ends one; so does a sign that a blank follows, except after a lone number."""
    passages: list[str] = []
    for line in text.split("\n"):
        passage_words: list[str] = []
        for word in line.split():
            passage_words.append(word)
            is_number = len(passage_words) == 1 and word.rstrip(".)").isdigit()
            if word[-1] in ".!?;" and not is_number:
                passages.append(" ".join(passage_words))
                passage_words = []
        if passage_words:
            passages.append(" ".join(passage_words))
    return passages


def _is_explained(step: PlanStep, passages: Sequence[str]) -> bool:
    """A name may be a heading: then the passage after it counts with it."""
    for index, passage in enumerate(passages):
        if not _names(step, passage):
            continue
        about = passage if len(_besides(step, passage)) >= _FEWEST_WORDS else " ".join(passages[index : index + 2])
        return len(_besides(step, about)) >= _FEWEST_WORDS and not _NOT_DONE.search(about)
    return False


def _names(step: PlanStep, passage: str) -> bool:
    plain, step_id = _folded(passage), _folded(step.id)
    title = _title(step)
    if title and title in plain:
        return True
    text_words = _WORD.findall(plain)
    if len(step_id) > 1 and not step_id.isdigit():
        return step_id in text_words or (" " in step_id and step_id in plain)
    if plain.lstrip("-*# (").startswith(tuple(f"{step_id}{sign}" for sign in ".:)")):
        return True  # an entry of a list
    return step_id in _counted(text_words)


def _counted(text_words: Sequence[str]) -> set[str]:
    """Returns the ids in "step 2", "steps 2, 3 and 4"."""
    ids: set[str] = set()
    is_listing = False
    for word in text_words:
        if word in _COUNTED:
            is_listing = True
        elif is_listing and (word.isdigit() or len(word) == 1):
            ids.add(word)
        elif word not in _BETWEEN:
            is_listing = False
    return ids


def _besides(step: PlanStep, passage: str) -> list[str]:
    """Returns the words of the passage without those that only name the step."""
    plain = _folded(passage)
    remaining = plain.replace(_title(step), " ") if _title(step) else plain
    names = {_folded(step.id), *_COUNTED, "and"}
    return [word for word in _WORD.findall(remaining) if word not in names and not word.isdigit()]


def _title(step: PlanStep) -> str:
    return _folded(step.action).rstrip(" .:;!")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
